"""Brokers that ask who is there: logins, certificates, rights, and the messages of those that they do not let in."""
import ctypes
import functools
import os
import re

import broker
from world import case as register
from world import equal

case = functools.partial(register, "kafka_security")
PASSWORDS = {"etl": "etl-secret", "guest": "guest-secret", "reader": "reader-secret", "wrong": "wr0ng-secret", "key": "key-secret"}  # of kafka.sh


def listener(protocol):
    return os.environ["KAFKA" + ("" if protocol == "plaintext" else "_" + protocol.upper())]


def tls(file):
    return os.path.join(os.environ["KAFKA_TLS"], file)


def login(mechanism, user="etl", password=None):
    return f', sasl_mechanism: {mechanism}, sasl_username: {user}, sasl_password: "${{{(password or user).upper()}}}"'


def connection(at, protocol=None, options="", ca="ca.pem"):
    """`at`: the listener to go to; `protocol`: how the client talks to it."""
    protocol = protocol or at
    trust = f", ssl_ca_location: {tls(ca)}" if "ssl" in protocol and ca else ""
    return f'brokers: "{listener(at)}", security_protocol: {protocol}{trust}{options}'


def scram_works():
    """Kafka 4 takes the SCRAM of librdkafka from 2.6.1 on."""
    return LIBRDKAFKA.rd_kafka_version() >= 0x020601ff


LIBRDKAFKA = ctypes.CDLL("librdkafka.so.1")
LIBRDKAFKA.rd_kafka_version_str.restype = ctypes.c_char_p
SCRAM, PLAIN = login("SCRAM-SHA-256"), login("PLAIN")


def certificate(key_password="key"):
    return f', ssl_certificate_location: {tls("client.pem")}, ssl_key_location: {tls("client.key")}, ssl_key_password: "${{{key_password.upper()}}}"'


def copy(source, sink, topic, to, source_more=", until: end"):
    """From one topic into another; both sides with `with:` options for their connection."""
    return f"""
pipeline: copy
checkpoint: {{ dir: "${{OUT}}/checkpoints-{to}", interval: 200ms }}
dead_letters: {{ dir: "${{OUT}}/dead-letters" }}
operators:
  - id: in
    use: kafka.source
    with: {{ {source}, topic: "{topic}", group: "{topic}"{source_more} }}
  - id: out
    use: kafka.sink
    input: in
    with: {{ {sink}, topic: "{to}" }}
"""


def environment():
    return {name.upper(): word for name, word in PASSWORDS.items()}


def hidden(*texts):
    for text in texts:
        for word in PASSWORDS.values():
            if word in text:
                raise AssertionError(f"a password is shown: {text[max(0, text.index(word) - 200):text.index(word) + 50]}")


# What differs from run to run.
TRIES = re.compile(r" \(after \d+ms in state \w+(, \d+ identical error\(s\) suppressed)?\)")


def said(text):
    return [TRIES.sub("", line) for line in text]


def problems(w, pipeline):
    """What `validate --connect` says."""
    status, shown = w.validate(pipeline, "--connect", environment=environment())
    hidden(shown)
    found = said(re.findall(r"^pipeline\.yaml:\d+:\d+: error: (.*)$", shown, re.M))
    equal((status, [line for line in shown.splitlines() if line.startswith("[")]), (1 if found else 0, []), f"exit status and log lines, with {shown}")
    return found


def refused(w, connection_of, text, ends=True):
    """By source and sink, at the check and in a run: once, and with no password."""
    a, b, good = w.topic("a"), w.topic("b"), connection("plaintext")
    for pipeline, who in ((copy(connection_of, good, a, b), 'operator "in" (kafka.source): '), (copy(good, connection_of, a, b), 'operator "out" (kafka.sink): ')):
        equal(problems(w, pipeline), [who + text], "validate --connect")
        run = w.start(pipeline, environment=environment())
        if ends:
            run.wait_end(1)
        else:
            run.wait_until(lambda: "broker away" in run.log, "a warning")
            run.kill()
        equal(said(run.messages()), [who + text if ends else f"broker away: {text}; waiting for it"], "the run")
        hidden(run.log)


@case("KS-01", "rows come and go by every way in")
def ks01(w):
    topics = [w.topic(name) for name in "abcd"]
    rows = [f'{{"n":{i},"filler":"{"x" * 200}"}}' for i in range(20_000)]
    broker.produce(topics[0], rows)
    scram = SCRAM if scram_works() else PLAIN
    ways = [(connection("sasl_plaintext", options=scram), connection("sasl_ssl", options=PLAIN)),
            (connection("ssl", options=certificate()), connection("sasl_ssl", options=scram)),
            (connection("sasl_plaintext", options=PLAIN), connection("ssl", options=certificate() + ", properties: { ssl.cipher.suites: ECDHE-ECDSA-AES256-GCM-SHA384 }"))]
    for (source, sink), topic, to in zip(ways, topics, topics[1:]):
        pipeline = copy(source, sink, topic, to)
        equal(w.validate(pipeline, "--connect", environment=environment()), (0, "pipeline.yaml: ok, 2 operators, 2 of them checked outside\n"), "validate")
        run = w.run(pipeline, environment=environment())
        equal(broker.read(to), rows, f"rows in {to}")
        hidden(run.log)


LOGIN = ": check security_protocol, sasl_mechanism, sasl_username and sasl_password against the brokers' listener"
CERTIFICATES = ": check security_protocol, ssl_ca_location and the certificates against the brokers' listener"


@case("KS-02", "a login that is refused is said once, with the way out, and never with the password")
def ks02(w):
    at = f"sasl_plaintext://{listener('sasl_plaintext')}/bootstrap: "
    refused(w, connection("sasl_plaintext", options=login("PLAIN", "etl", "wrong")),
            f"{at}SASL authentication error: Authentication failed: Invalid username or password{LOGIN}")
    refused(w, connection("sasl_plaintext", options=login("SCRAM-SHA-512")),
            f"{at}SASL SCRAM-SHA-512 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN,SCRAM-SHA-256{LOGIN}")
    if not scram_works():
        refused(w, connection("sasl_plaintext", options=SCRAM),
                f"{at}SASL authentication error: Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256{LOGIN}; "
                f"a right password is refused as well where Kafka is 4.0 or newer: librdkafka {LIBRDKAFKA.rd_kafka_version_str().decode()}, which runs here, cannot "
                "log in there by SCRAM. Then use PLAIN over sasl_ssl, or librdkafka 2.6.1 or newer")


@case("KS-03", "certificates: of an authority that is not known, for another name, of a client that has none, with a key that stays shut")
def ks03(w):
    at, ssl = f"sasl_ssl://{listener('sasl_ssl')}/bootstrap: ", f"ssl://{listener('ssl')}/bootstrap: "
    unknown = ("SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be verified, verify that ssl.ca.location "
               f"is correctly configured or root CA certificates are installed (install ca-certificates package){CERTIFICATES}")
    refused(w, connection("sasl_ssl", options=PLAIN, ca="other-ca.pem"), at + unknown)
    refused(w, connection("sasl_ssl", options=PLAIN).replace("127.0.0.1", "localhost"), at.replace("127.0.0.1", "localhost") + unknown)
    refused(w, connection("ssl"), f"{ssl}Receive failed: error:0A000412:SSL routines::sslv3 alert bad certificate: SSL alert number 42{CERTIFICATES}")
    refused(w, connection("ssl", options=certificate("wrong")),
            "librdkafka refuses this configuration: ssl.key.location failed: error:0A080009:SSL routines::PEM lib: check `ssl_key_location` and `ssl_key_password`")


@case("KS-04", "a client that talks otherwise than the listener")
def ks04(w):
    mine = ": check `security_protocol` against the brokers' listener"
    refused(w, connection("sasl_ssl", "plaintext"),
            f"the brokers give no metadata: {listener('sasl_ssl')}/bootstrap: Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol "
            f"configuration (connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request){mine}", ends=False)
    refused(w, connection("plaintext", "ssl"),
            f"ssl://{listener('plaintext')}/bootstrap: SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading{CERTIFICATES}")


@case("KS-05", "rights that are missing end the job and are named")
def ks05(w):
    a, b, good = w.topic("a"), w.topic("b"), connection("plaintext")
    broker.produce(a, ['{"n":1}'])
    guest, reader = (connection("sasl_plaintext", options=login("PLAIN", name)) for name in ("guest", "reader"))
    no_topic = "Broker: Topic authorization failed: this login may not use the topic: grant it (kafka-acls), or use another"

    def fails(pipeline, check, text):
        equal(problems(w, pipeline), check, "validate --connect")
        equal(w.run(pipeline, "--from", "none", code=1, environment=environment()).messages(), [text], "the run")

    source, sink = f'operator "in" (kafka.source): topic {a}: {no_topic}', f'operator "out" (kafka.sink): topic {b}: {no_topic}'
    fails(copy(guest, good, a, b), [source], source)
    fails(copy(good, guest, a, b), [sink], sink)
    # What may be looked at only shows when it is used.
    broker.grant("guest", broker.DESCRIBE, a)
    c = w.topic("c")
    broker.grant("guest", broker.DESCRIBE, b)
    broker.grant("guest", broker.WRITE, c)
    broker.grant("reader", broker.DESCRIBE, b)
    fails(copy(guest, good, a, b), [], f'operator "in" (kafka.source): {a}-0: Fetch from broker 1 failed: {no_topic}')
    fails(copy(good, guest, a, b), [], f'operator "out" (kafka.sink): topic {b}: a message was not delivered: {no_topic}')
    # A login that may write to no topic at all gets no further than its number.
    fails(copy(good, reader, a, b), [],
          f'operator "out" (kafka.sink): the producer gave up: Failed to acquire idempotence PID from broker sasl_plaintext://{listener("sasl_plaintext")}/1: '
          "Broker: Cluster authorization failed: this login lacks a permission: one that writes needs WRITE on its topics, and before Kafka 2.8 IDEMPOTENT_WRITE "
          "on the cluster (or `acks: 1`): grant it (kafka-acls), or use another")
    broker.grant("guest", broker.READ, a)
    fails(copy(guest, good, a, b, ", until: end, start: committed"), [],
          f'operator "in" (kafka.source): the offset of {a}-0 that group {a} has committed is not known: Broker: Group authorization failed: this login may not use '
          "the group: grant it READ on the group, or choose another `group`")
    run = w.run(copy(guest, good, a, b), "--from", "none", environment=environment())
    equal(run.messages(), [f"offsets were not committed to the group {a}, which does not answer: this login may lack READ on it; grant it (kafka-acls), or set "
                           "`commit_offsets: false`"], "without the group")
    broker.grant("guest", broker.READ, a, broker.GROUP)
    equal(w.run(copy(guest, guest, a, c, ", until: end, start: committed"), environment=environment()).code, 0, "with all rights")
    equal((broker.read(b), broker.read(c)), (['{"n":1}'], ['{"n":1}']), "rows")

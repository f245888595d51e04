"""What the cases do to the tests' Kafka broker: topics, offsets and messages, byte for byte.

Administration speaks Kafka's own protocol (https://kafka.apache.org/protocol: the oldest versions that Kafka 4 still knows), because
a JVM for each topic would take longer than most cases. Messages go through kcat.
"""
import os
import socket
import struct
import subprocess
import time

ADDRESS = os.environ.get("KAFKA", "")
LIST_OFFSETS, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 2, 8, 9, 10
CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, CREATE_PARTITIONS = 19, 20, 21, 37
DESCRIBE_ACLS, CREATE_ACLS = 29, 30
TOPIC, GROUP = 2, 3  # kinds of what an ACL is about
READ, WRITE, DESCRIBE = 3, 4, 8
TIMEOUT_MS = 20_000


def _text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _array(items):
    return struct.pack(">i", len(items)) + b"".join(items)


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        size = struct.calcsize(">" + form)
        (value,) = struct.unpack_from(">" + form, self.data, self.at)
        self.at += size
        return value

    def text(self):
        size = self.number("h")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def array(self, item):
        return [item() for _ in range(self.number("i"))]


def _ask(api, version, body):
    host, port = ADDRESS.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=30) as link:
        message = struct.pack(">hhi", api, version, 1) + _text("cases") + body
        link.sendall(struct.pack(">i", len(message)) + message)
        stream = link.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        return _Reader(stream.read(size)[4:])


def _must(code, what):
    if code != 0:
        raise AssertionError(f"{what}: Kafka's error code {code}")


def create(topic, partitions=1, **configuration):
    """`configuration`: the topic's own settings, with _ for the dots."""
    settings = [_text(k.replace("_", ".")) + _text(v) for k, v in configuration.items()]
    body = _array([_text(topic) + struct.pack(">ih", partitions, 1) + _array([]) + _array(settings)])
    answer = _ask(CREATE_TOPICS, 2, body + struct.pack(">ib", TIMEOUT_MS, 0))
    answer.number("i")
    for _, code, why in answer.array(lambda: (answer.text(), answer.number("h"), answer.text())):
        _must(code, f"create topic {topic} ({why})")


def delete(topic):
    answer = _ask(DELETE_TOPICS, 1, _array([_text(topic)]) + struct.pack(">i", TIMEOUT_MS))
    answer.number("i")
    for _, code in answer.array(lambda: (answer.text(), answer.number("h"))):
        _must(code, f"delete topic {topic}")


def add_partitions(topic, total):
    body = _array([_text(topic) + struct.pack(">ii", total, -1)]) + struct.pack(">ib", TIMEOUT_MS, 0)
    answer = _ask(CREATE_PARTITIONS, 0, body)
    answer.number("i")
    for _, code, why in answer.array(lambda: (answer.text(), answer.number("h"), answer.text())):
        _must(code, f"add partitions to {topic} ({why})")
    # The controller has them; a producer asks the broker, which hears of them a little later.
    end = time.monotonic() + TIMEOUT_MS / 1000
    while f"with {total} partitions" not in (seen := _described(topic)):
        if time.monotonic() > end:
            raise AssertionError(f"the partitions of {topic} do not appear: {seen}")
        time.sleep(0.05)


def _described(topic):
    return subprocess.run(["kcat", "-L", "-b", ADDRESS, "-t", topic], capture_output=True, text=True, check=False).stdout


def delete_records(topic, partition, before):
    """What retention does: offsets below `before` are gone."""
    body = _array([_text(topic) + _array([struct.pack(">iq", partition, before)])]) + struct.pack(">i", TIMEOUT_MS)
    answer = _ask(DELETE_RECORDS, 0, body)
    answer.number("i")
    for _, parts in answer.array(lambda: (answer.text(), answer.array(lambda: (answer.number("i"), answer.number("q"), answer.number("h"))))):
        for _, _, code in parts:
            _must(code, f"delete records of {topic}")


def grant(user, operation, name, kind=TOPIC):
    """When this returns, the broker knows it."""
    literal, allow = 3, 3
    acl = _text(f"User:{user}") + _text("*") + struct.pack(">bb", operation, allow)
    answer = _ask(CREATE_ACLS, 1, _array([struct.pack(">b", kind) + _text(name) + struct.pack(">b", literal) + acl]))
    answer.number("i")
    for code, why in answer.array(lambda: (answer.number("h"), answer.text())):
        _must(code, f"grant {user} {operation} on {name} ({why})")
    deadline = time.monotonic() + 30
    while True:
        answer = _ask(DESCRIBE_ACLS, 1, struct.pack(">b", kind) + _text(name) + struct.pack(">b", literal) + acl)
        answer.number("i")
        _must(answer.number("h"), f"grants on {name}")
        answer.text()
        if answer.number("i") == 1:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"{user} did not get {operation} on {name}")
        time.sleep(0.05)


def end_offset(topic, partition=0):
    body = struct.pack(">i", -1) + _array([_text(topic) + _array([struct.pack(">iq", partition, -1)])])
    answer = _ask(LIST_OFFSETS, 1, body)
    (_, ((_, code, _, offset),)), = answer.array(lambda: (answer.text(), answer.array(
        lambda: (answer.number("i"), answer.number("h"), answer.number("q"), answer.number("q")))))
    _must(code, f"end of {topic}-{partition}")
    return offset


def _find_coordinator(group):
    # The first group of a broker's life makes the topic of the offsets; until then there is no coordinator.
    deadline = time.monotonic() + 30
    while _ask(FIND_COORDINATOR, 0, _text(group)).number("h") != 0:
        if time.monotonic() > deadline:
            raise AssertionError("no group coordinator")
        time.sleep(0.1)


def commit(group, topic, offset, partition=0):
    _find_coordinator(group)
    part = struct.pack(">iq", partition, offset) + _text("")
    body = _text(group) + struct.pack(">i", -1) + _text("") + struct.pack(">q", -1) + _array([_text(topic) + _array([part])])
    deadline = time.monotonic() + 30
    while True:
        answer = _ask(OFFSET_COMMIT, 2, body)
        codes = [code for _, parts in answer.array(lambda: (answer.text(), answer.array(lambda: (answer.number("i"), answer.number("h")))))
                 for _, code in parts]
        if codes == [0]:
            return
        if time.monotonic() > deadline:
            raise AssertionError(f"commit to {group}: Kafka's error codes {codes}")
        time.sleep(0.1)


def committed(group, topic, partition=0):
    """-1: nothing is committed."""
    _find_coordinator(group)
    answer = _ask(OFFSET_FETCH, 1, _text(group) + _array([_text(topic) + _array([struct.pack(">i", partition)])]))
    (_, ((_, offset, _, code),)), = answer.array(lambda: (answer.text(), answer.array(
        lambda: (answer.number("i"), answer.number("q"), answer.text(), answer.number("h")))))
    _must(code, f"offsets of {group}")
    return offset


_BETWEEN = b"\x1e\x1f"  # between messages: bytes that no message of the cases has


def produce(topic, records, partition=0, compression="none", key=None, null=False):
    """Appends records (str or bytes) in order, all with the same `key`; with `null`, messages without a value."""
    values = [r.encode() if isinstance(r, str) else r for r in records]
    command = ["kcat", "-P", "-q", "-b", ADDRESS, "-t", topic, "-p", str(partition), "-z", compression, "-D", _BETWEEN.decode(),
               "-X", "topic.partitioner=consistent", "-X", f"message.max.bytes={max(1_000_000, 2 * max(map(len, values), default=0))}"]
    if null:
        command += ["-Z"]
    if key is not None:
        command += ["-K", "\x1d"]
        values = [key.encode() + b"\x1d" + v for v in values]
    done = subprocess.run(command, input=b"".join(v + _BETWEEN for v in values), capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"kcat: {done.stderr.decode(errors='replace')}")


def read(topic, partition=0):
    """The values of a partition, as text."""
    command = ["kcat", "-C", "-q", "-e", "-b", ADDRESS, "-t", topic, "-p", str(partition), "-o", "beginning", "-D", _BETWEEN.decode()]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode().split(_BETWEEN.decode())[:-1]

#!/usr/bin/env python3
"""gate.py TARGET [--basic USER:PASSWORD] [--tls CERTIFICATE KEY]: what may stand between a client and a real Query Server.

Prints the port that it listens on, then forwards every HTTP request to TARGET (host:port). With --basic it asks for a user, with
--tls it speaks TLS. Commands on its standard input change what happens to requests from then on, each answered by a line `ok`:

  lose NAME [N]     the next N (1) requests NAME (CommitRequest, ...) are forwarded, and the client is cut off without an answer
  drop NAME [N]     they are not even forwarded
  refuse NAME TEXT  the next request NAME is not forwarded; the client gets TEXT as Phoenix's error
  login USER:PASSWORD
                    asked for from now on
  limit BYTES       requests with a larger body are answered as nginx does: 413, a page, and the end of the connection
  clock MS          the server's clock, when it is asked for by `cast(now() as bigint)`, is MS ahead
  close             all idle and busy connections of clients are cut
  counts            how many requests of each name have come, as JSON, instead of `ok`

Ends with its standard input.
"""
import base64
import collections
import http.client
import json
import re
import socket
import socketserver
import ssl
import sys
import threading

import avatica


class State:
    lock = threading.Lock()
    lose = collections.Counter()
    drop = collections.Counter()
    refuse = {}
    counts = collections.Counter()
    login = None
    clock = 0
    limit = None
    sockets = set()


def read_request(stream):
    """(headers, body), or None at the end."""
    line = stream.readline()
    if not line:
        return None
    headers = {}
    while True:
        header = stream.readline().strip()
        if not header:
            break
        name, value = header.decode().split(":", 1)
        headers[name.lower()] = value.strip()
    return headers, stream.read(int(headers.get("content-length", 0)))


def taken(counter, name):
    with State.lock:
        if counter[name] > 0:
            counter[name] -= 1
            return True
        return False


def forward(target, body):
    host, port = target.rsplit(":", 1)
    server = http.client.HTTPConnection(host, int(port), timeout=300)
    server.request("POST", "/", body, {"Content-Type": "application/x-google-protobuf"})
    answer = server.getresponse()
    data = answer.read()
    server.close()
    return answer.status, data


# ErrorResponse.error_message is field 2; in a WireMessage name is field 1, wrapped_message field 2.
def error_answer(text):
    def field(number, data):
        assert len(data) < 128
        return bytes([number << 3 | 2, len(data)]) + data
    return field(1, b"org.apache.calcite.avatica.proto.Responses$ErrorResponse") + field(2, field(2, text.encode()))


# A PrepareAndExecuteRequest with another statement; `sql` is its field 2.
def other_sql(body, change):
    wire = avatica.fields(body)
    request = avatica.fields(avatica.first(wire, 2))
    request[2] = [change(request[2][0])]
    inner = b"".join(avatica.number(k, v) if isinstance(v, int) else avatica.chunk(k, v) for k, values in request.items() for v in values)
    return avatica.chunk(1, avatica.first(wire, 1)) + avatica.chunk(2, inner)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with State.lock:
            State.sockets.add(self.connection)
        try:
            while self.one():
                pass
        except (OSError, http.client.HTTPException):
            pass
        finally:
            with State.lock:
                State.sockets.discard(self.connection)

    def one(self):
        request = read_request(self.rfile)
        if request is None:
            return False
        headers, body = request
        if State.limit is not None and len(body) > State.limit:
            self.answer(413, b"<html><head><title>413 Request Entity Too Large</title></head></html>", "Connection: close\r\n")
            return False
        if State.login and headers.get("authorization") != "Basic " + base64.b64encode(State.login.encode()).decode():
            self.answer(401, b"who are you?", "WWW-Authenticate: Basic realm=\"pqs\"\r\n")
            return True
        found = re.search(rb"Requests\$(\w+)", body[:200])
        name = found.group(1).decode() if found else "?"
        with State.lock:
            State.counts[name] += 1
        if taken(State.drop, name):
            return False
        with State.lock:
            refusal = State.refuse.pop(name, None)
        if refusal is not None:
            self.answer(500, error_answer(refusal))
            return True
        if State.clock and b"cast(now() as bigint)" in body:
            body = other_sql(body, lambda sql: sql.replace(b"cast(now() as bigint)", b"cast(now() as bigint) + (%d)" % State.clock))
        try:
            status, data = forward(self.server.target, body)
        except (OSError, http.client.HTTPException):
            self.answer(503, b"the server is away")
            return True
        if taken(State.lose, name):
            return False
        self.answer(status, data)
        return True

    def answer(self, status, data, more=""):
        self.wfile.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(data)}\r\n{more}\r\n".encode() + data)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    tls = None

    def get_request(self):
        connection, address = super().get_request()
        if self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        pass  # a client that does not like the certificate


def main(arguments):
    server = Server(("127.0.0.1", 0), Handler)
    server.target = arguments[0]
    if "--basic" in arguments:
        State.login = arguments[arguments.index("--basic") + 1]
    if "--tls" in arguments:
        at = arguments.index("--tls")
        server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.tls.load_cert_chain(arguments[at + 1], arguments[at + 2])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    for line in sys.stdin:
        words = line.split()
        answer = "ok"
        with State.lock:
            if words[0] in ("lose", "drop"):
                getattr(State, words[0])[words[1]] += int(words[2]) if len(words) > 2 else 1
            elif words[0] == "refuse":
                State.refuse[words[1]] = line.split(maxsplit=2)[2].strip()
            elif words[0] == "login":
                State.login = words[1]
            elif words[0] in ("clock", "limit"):
                setattr(State, words[0], int(words[1]))
            elif words[0] == "close":
                for connection in list(State.sockets):
                    try:
                        connection.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
            elif words[0] == "counts":
                answer = json.dumps(State.counts)
        print(answer, flush=True)


main(sys.argv[1:])

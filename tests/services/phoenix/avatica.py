"""Avatica over HTTP as the Phoenix Query Server speaks it (protobuf), by hand: what tests and benchmarks need, with nothing
but Python itself, and independent of the plugin's own code.

Field numbers: the .proto files of phoenix-queryserver 6.0.0 (Avatica 1.18).
"""
import http.client
import struct
import uuid

PREFIX = "org.apache.calcite.avatica.proto."
REP_NULL, REP_STRING, REP_LONG, REP_BIG_DECIMAL, REP_BOOLEAN, REP_DOUBLE = 24, 21, 13, 26, 8, 15


# ---- protobuf's wire format

def varint(n):
    n &= 2**64 - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def read_varint(data, at):
    """(value, where it ends)"""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """{field: [value, ...]}: ints for varints and fixed sizes, bytes for the rest."""
    out, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<I", data, at)[0], at + 4
        else:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        out.setdefault(tag >> 3, []).append(value)
    return out


def first(message, field, default=b""):
    return message.get(field, [default])[0]


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = read_varint(data, at)
        out.append(value)
    return out


# ---- values

def typed(value):
    """TypedValue of a Python value."""
    if value is None:
        return number(1, REP_NULL) + number(7, 1)
    if isinstance(value, bool):
        return number(1, REP_BOOLEAN) + number(2, int(value))
    if isinstance(value, int):
        return number(1, REP_LONG) + number(4, value << 1 if value >= 0 else (-value << 1) - 1)
    if isinstance(value, float):
        return number(1, REP_DOUBLE) + varint(6 << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, Decimal):
        return number(1, REP_BIG_DECIMAL) + chunk(3, value.text)
    return number(1, REP_STRING) + chunk(3, value)


class Decimal:
    def __init__(self, text):
        self.text = text


def untyped(data):
    message = fields(data)
    rep = first(message, 1, 0)
    if first(message, 7, 0) or rep == REP_NULL:
        return None
    if rep in (0, 8):
        return bool(first(message, 2, 0))
    if rep in (2, 10, 21, 26):
        return first(message, 3).decode()
    if rep in (6, 7, 14, 15):
        return struct.unpack("<d", struct.pack("<Q", first(message, 6, 0)))[0]
    if rep == 20:
        return first(message, 5).hex()
    zigzag = first(message, 4, 0)
    return zigzag >> 1 ^ -(zigzag & 1)


# ---- requests

class Error(Exception):
    """What the server refused: its error_message, or the first exception's first line."""


class Client:
    """One connection of the Query Server over one HTTP connection. Not for several threads."""

    def __init__(self, address, info=None, timeout=120, connection=None):
        host, port = address.split("//")[-1].rstrip("/").rsplit(":", 1)
        self.http = http.client.HTTPConnection(host, int(port), timeout=timeout)
        self.info, self.committing = info or {}, False
        self.open(connection or str(uuid.uuid4()))

    def open(self, connection):
        self.id = connection
        entries = b"".join(chunk(2, chunk(1, k) + chunk(2, v)) for k, v in self.info.items())
        self.call("OpenConnectionRequest", chunk(1, self.id) + entries)
        self.statement = first(self.call("CreateStatementRequest", chunk(1, self.id)), 2, 0)
        if self.committing:
            self.auto_commit(True)

    def call(self, request, message):
        body = chunk(1, PREFIX + "Requests$" + request) + chunk(2, message)
        for attempt in (1, 2):
            try:
                self.http.request("POST", "/", body, {"Content-Type": "application/x-google-protobuf"})
                answer = self.http.getresponse()
                break
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.http.close()  # idle for 60 s, or the server is gone
                if attempt == 2:
                    raise
        wire = fields(answer.read())
        name, inner = first(wire, 1).decode(), fields(first(wire, 2))
        if name.endswith("ErrorResponse"):
            raise Error(first(inner, 2).decode() or first(inner, 1).decode().split("\n")[0])
        return inner

    def execute(self, sql):
        """Update count, or (column labels, rows). A connection that was idle for too long is opened anew."""
        try:
            return self.execute_once(sql)
        except Error as error:
            if "is gone" not in str(error) and "NoSuchConnection" not in str(error):
                raise
        self.open(str(uuid.uuid4()))
        return self.execute_once(sql)

    def execute_once(self, sql):
        answer = self.call("PrepareAndExecuteRequest", chunk(1, self.id) + chunk(2, sql) + number(4, self.statement) + number(5, -1) + number(6, 1000))
        if first(answer, 2, 0):
            raise Error("the statement is gone")
        result = fields(first(answer, 1))
        if first(result, 6, 0) != 2**64 - 1 and 4 not in result:
            return first(result, 6, 0)
        labels = [first(fields(c), 9).decode() for c in fields(first(result, 4)).get(1, [])]
        frame, rows = fields(first(result, 5)), []
        while True:
            for row in frame.get(3, []):
                rows.append([untyped(first(fields(value), 4)) for value in fields(row).get(1, [])])
            if first(frame, 2, 0):
                return labels, rows
            frame = fields(first(self.call("FetchRequest", chunk(1, self.id) + number(2, self.statement) + number(3, len(rows)) + number(5, 1000)), 1))

    def query(self, sql):
        return self.execute(sql)[1]

    def prepare(self, sql):
        answer = self.call("PrepareRequest", chunk(1, self.id) + chunk(2, sql) + number(4, -1))
        return first(fields(first(answer, 1)), 2, 0)

    def execute_batch(self, statement, rows):
        """Update counts, which are none when the server has lost the statement."""
        updates = b"".join(chunk(3, b"".join(chunk(1, typed(v)) for v in row)) for row in rows)
        return packed(first(self.call("ExecuteBatchRequest", chunk(1, self.id) + number(2, statement) + updates), 3))

    def auto_commit(self, on):
        self.committing = on
        self.call("ConnectionSyncRequest", chunk(1, self.id) + chunk(2, number(2, int(on)) + number(7, 1)))

    def commit(self):
        self.call("CommitRequest", chunk(1, self.id))

    def rollback(self):
        self.call("RollbackRequest", chunk(1, self.id))

    def close(self):
        self.call("CloseConnectionRequest", chunk(1, self.id))
        self.http.close()

#!/usr/bin/env python3
"""engine_front.py PORT FOLDER: the part of ClickHouse's HTTP interface that the tests need, on a 26.9 engine (chdb).

Fair for statements, formats, defaults, error texts, partitions and deduplication of a modern server. Not for what the
wire adds: one query at a time, one user (FRONT_USER, FRONT_PASSWORD), statuses from a table of its own.
"""
import base64
import gzip
import http.server
import os
import re
import sys
import tempfile
import threading
import urllib.parse
import uuid
import zlib

from chdb import session

NOT_SETTINGS = {"query", "database", "default_format", "user", "password", "query_id", "session_id", "session_timeout",
                "wait_end_of_query", "buffer_size", "compress", "decompress", "send_progress_in_http_headers"}
BAD_REQUEST = {6, 26, 27, 33, 36, 38, 41, 42, 43, 44, 46, 47, 49, 53, 62, 69, 70, 72, 117, 131, 321, 349, 386, 439, 441, 467, 678}
NOT_FOUND = {16, 47, 60, 73, 81, 115, 218, 359}
FORBIDDEN = {497, 516}
INSERT = re.compile(rb"^\s*insert\s", re.I)
FORMAT = re.compile(rb"\sformat\s+(\w+)\s*;?\s*$", re.I)
READS = re.compile(rb"^\s*(select|show|desc|exists|with|explain)\b", re.I)
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None

engine = session.Session(sys.argv[2])
one_at_a_time = threading.Lock()


def status_of(code):
    return 404 if code in NOT_FOUND else 400 if code in BAD_REQUEST else 403 if code in FORBIDDEN else 500


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        encoding = self.headers.get("Content-Encoding", "")
        if encoding == "gzip":
            return gzip.decompress(data)
        if encoding == "deflate":
            return zlib.decompress(data)
        if encoding:
            raise ValueError(f"Code: 89. DB::Exception: Unknown Content-Encoding of HTTP request: {encoding}. (UNKNOWN_COMPRESSION_METHOD)")
        return data

    def check_user(self, parameters):
        if not os.environ.get("FRONT_USER"):
            return
        basic = self.headers.get("Authorization", "")
        if basic.startswith("Basic "):
            user, password = base64.b64decode(basic[6:]).decode().split(":", 1)
        else:
            user = self.headers.get("X-ClickHouse-User") or parameters.get("user", "default")
            password = self.headers.get("X-ClickHouse-Key") or parameters.get("password", "")
        if (user, password) != (os.environ["FRONT_USER"], os.environ.get("FRONT_PASSWORD", "")):
            raise ValueError(f"Code: 516. DB::Exception: {user}: Authentication failed: password is incorrect, or there is no user "
                             "with such name. (AUTHENTICATION_FAILED)")

    def run(self, parameters, query, data):
        database = parameters.get("database") or self.headers.get("X-ClickHouse-Database") or "default"
        result_format = parameters.get("default_format", "TabSeparated")
        settings = [(k, v) for k, v in parameters.items() if k not in NOT_SETTINGS]
        form = FORMAT.search(query)
        keep = None
        if INSERT.match(query):
            if form and form[1].lower() != b"values":
                # Data behind a statement would be cut at its first empty line.
                keep = tempfile.NamedTemporaryFile(dir=MEMORY)
                keep.write(data)
                keep.flush()
                query = query[:form.start()] + b" FROM INFILE '" + keep.name.encode() + b"' COMPRESSION 'none' FORMAT " + form[1]
            elif data:
                query = query.rstrip() + b" " + data
        elif form:
            result_format = form[1].decode()
            query = query[:form.start()]
        with one_at_a_time:
            engine.query(f"USE `{database}`")
            done = []
            try:
                for name, value in settings:
                    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
                    engine.query(f"SET {name} = '{escaped}'")
                    done.append(name)
                result = engine.query(query, result_format)
                return result.bytes() if result is not None else b""
            finally:
                for name in done:
                    engine.query(f"SET {name} = DEFAULT")

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        parameters = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        query_id = parameters.get("query_id") or str(uuid.uuid4())
        try:
            data = self.body() if self.command == "POST" else b""
            if url.path == "/ping":
                self.answer(200, b"Ok.\n")
                return
            self.check_user(parameters)
            query = parameters.get("query", "").encode()
            if not query:
                query, data = data, b""
            if self.command == "GET" and not READS.match(query):
                raise ValueError("Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)")
            self.answer(200, self.run(parameters, query, data) or b"", X_ClickHouse_Query_Id=query_id)
        except Exception as error:  # whatever the engine throws
            text = str(error)
            found = re.search(r"Code: (\d+)", text)
            code = int(found[1]) if found else 1002
            self.answer(status_of(code), (text + "\n").encode(), X_ClickHouse_Exception_Code=str(code), X_ClickHouse_Query_Id=query_id)

    do_POST = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", int(sys.argv[1])), Front).serve_forever()

"""What the cases do to the tests' ClickHouse servers, and a gate before one that makes answers go wrong."""
import http.client
import http.server
import json
import os
import threading
import urllib.parse

ENGINE = os.environ.get("CLICKHOUSE_ENGINE", "")  # of today, in Asia/Shanghai
UTC, SHANGHAI = os.environ.get("CLICKHOUSE_UTC", ""), os.environ.get("CLICKHOUSE_SHANGHAI", "")  # 18.16


def ask(query, address=None):
    link = http.client.HTTPConnection(address or ENGINE, timeout=60)
    link.request("POST", "/", query.encode())
    answer = link.getresponse()
    text = answer.read().decode()
    if answer.status != 200:
        raise AssertionError(f"{query}: {text}")
    return text


def rows(query, address=None):
    """As lists of texts; NULL is \\N."""
    return [line.split("\t") for line in ask(f"{query} FORMAT TabSeparated", address).splitlines()]


def table(name, columns, address=None, engine="ReplacingMergeTree(ts) ORDER BY id"):
    ask(f"DROP TABLE IF EXISTS {name}", address)
    ask(f"CREATE TABLE {name} ({columns}) ENGINE = {engine}", address)


class Gate:
    """Passes requests on to the engine. `spoil` is asked about each INSERT, and may answer itself (status, exception code), or "cut" the
    connection after the server has done it; else None."""

    def __init__(self, spoil):
        gate = self
        self.inserts = 0
        self.outcomes = []  # of inserts that reached the engine: (bytes, exception code or 0)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                if self.headers.get("Transfer-Encoding") == "chunked":
                    body = b""
                    while size := int(self.rfile.readline().strip() or b"0", 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                query = urllib.parse.unquote_plus(self.path) + body[:200].decode(errors="replace")
                what = None
                if "insert into" in query.lower():
                    gate.inserts += 1
                    what = spoil(gate.inserts)
                if isinstance(what, tuple):
                    text = f"Code: {what[1]}. DB::Exception: spoiled by the gate".encode()
                    self.reply(what[0], text, [("X-ClickHouse-Exception-Code", str(what[1]))])
                    return
                link = http.client.HTTPConnection(ENGINE, timeout=60)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "transfer-encoding", "content-length", "expect")}
                link.request(self.command, self.path, body, headers)
                answer = link.getresponse()
                text = answer.read()
                if "insert into" in query.lower():
                    gate.outcomes.append((len(body), int(answer.getheader("X-ClickHouse-Exception-Code", 0)) if answer.status != 200 else 0))
                if what == "cut":
                    self.close_connection = True
                    self.connection.close()
                    return
                self.reply(answer.status, text, [h for h in answer.getheaders() if h[0].lower().startswith(("x-", "content-type"))])

            do_GET = do_POST

            def reply(self, status, body, headers):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def as_json(value):
    return json.dumps(value, ensure_ascii=False)

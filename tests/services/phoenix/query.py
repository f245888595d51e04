#!/usr/bin/env python3
"""query.py [--json] [--server HOST:PORT] "SQL"...: runs SQL over a Phoenix Query Server and prints what comes back.

Rows are tab-separated with a line of column names first; NULL is \\N, and tab, newline and backslash in values are \\t, \\n, \\\\.
--json: one JSON object a row. The server: $PHOENIX when it is not given.
"""
import json
import os
import sys

import avatica


def text(value):
    if value is None:
        return "\\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main(arguments):
    as_json = "--json" in arguments
    arguments = [a for a in arguments if a != "--json"]
    server = os.environ.get("PHOENIX", "127.0.0.1:8765")
    if "--server" in arguments:
        at = arguments.index("--server")
        server = arguments[at + 1]
        del arguments[at:at + 2]
    if not arguments:
        sys.exit(__doc__)
    client = avatica.Client(server)
    client.auto_commit(True)
    try:
        for sql in arguments:
            result = client.execute(sql.rstrip().rstrip(";"))
            if isinstance(result, int):
                print(f"{result} rows changed", file=sys.stderr)
                continue
            labels, rows = result
            if as_json:
                for row in rows:
                    print(json.dumps(dict(zip(labels, row)), ensure_ascii=False))
            else:
                print("\t".join(labels))
                for row in rows:
                    print("\t".join(map(text, row)))
    except avatica.Error as error:
        sys.exit(f"query.py: {error}")
    finally:
        client.close()


main(sys.argv[1:])

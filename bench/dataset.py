#!/usr/bin/env python3
"""dataset.py MESSAGES: makes, once, the input of both jobs and the oracle's answers, and prints the folder that holds them.

The folder is in SLUICE_CACHE (default ~/.cache/sluice), has topic_db.jsonl, cart_add.jsonl, dim_config.jsonl and what
`oracle.py make` adds, and must not be written to: benchmark and integration tests share it.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import zlib

BENCH = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("SLUICE_CACHE") or pathlib.Path.home() / ".cache" / "sluice")
KINDS = ("topic_db", "cart_add")


def _run(script, *arguments):
    subprocess.run([sys.executable, BENCH / script, *map(str, arguments)], check=True, stdout=sys.stderr)


def _make(folder, messages):
    print(f"making {messages} messages a topic in {folder}", file=sys.stderr, flush=True)
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    shutil.copy(BENCH / "dim_config.jsonl", part)
    for kind in KINDS:
        _run("gen.py", kind, messages, "--out", part / f"{kind}.jsonl")
    _run("oracle.py", "make", part)
    part.rename(folder)


def folder_of(messages):
    """Changed generators or answers are another folder; two processes that want the same one wait for each other."""
    sources = b"".join((BENCH / name).read_bytes() for name in ("gen.py", "oracle.py", "dim_config.jsonl"))
    folder = CACHE / "bench-data" / f"{messages}-{zlib.crc32(sources):08x}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                _make(folder, messages)
    return folder


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    print(folder_of(int(sys.argv[1])))

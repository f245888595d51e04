#!/usr/bin/env python3
"""labels_test.py CONTRIBUTING.md CTEST BUILD: the labels that the table names are those that tests have."""
import json
import re
import subprocess
import sys

contributing, ctest, build = sys.argv[1:]
with open(contributing, encoding="utf-8") as f:
    rows = re.findall(r"^\| (`.*?) \|", f.read(), re.M)
named = {label for row in rows for label in re.findall(r"`(\w+)`", row)}
shown = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
there = {label for test in json.loads(shown)["tests"] for p in test.get("properties", []) if p["name"] == "LABELS" for label in p["value"]}
if named != there:
    sys.exit(f"{contributing}: labels that no test has: {sorted(named - there)}; labels that are not named: {sorted(there - named)}")

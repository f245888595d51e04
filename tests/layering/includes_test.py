#!/usr/bin/env python3
"""includes_test.py: the folders' directions, checked over every #include line (docs/decisions/layers.md)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = {  # core folder → core folders it may include
    "base": set(),
    "data": {"base"},
    "config": {"base"},
    "state": {"base"},
    "checkpoint": {"base", "state"},
    "plugin": {"base", "data", "config"},
    "observe": {"base"},
    "runtime": {"base", "data", "config", "state", "checkpoint", "plugin", "observe"},
    "cli": {"base", "data", "config", "state", "checkpoint", "plugin", "observe", "runtime"},
}
OWNERS = {  # third-party header → the only place that may include it
    "yaml-cpp/": "core/config/",
    "rocksdb/": "core/state/rocksdb/",
    "boost/dll": "core/plugin/",
    "simdjson": "core/data/",
}
problems = []


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if found:
            yield number, found.group(1)


def sources(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in {".h", ".hpp", ".c", ".cpp"})


for path in sources("core"):
    place = path.relative_to(ROOT).as_posix()
    folder = place.split("/")[1]
    for number, name in includes(path):
        target = name.split("/")[0]
        if target in ALLOWED and target != folder and target not in ALLOWED[folder]:
            problems.append(f"{place}:{number}: {folder} must not include {name}")
        for header, owner in OWNERS.items():
            if name.startswith(header) and not place.startswith(owner):
                problems.append(f"{place}:{number}: {name} belongs to {owner}")
for top in ("plugins", "sdk"):
    for path in sources(top):
        place = path.relative_to(ROOT).as_posix()
        for number, name in includes(path):
            if name.startswith(("core/", "../")) or name.split("/")[0] in ALLOWED and "/" in name and (ROOT / "core" / name).exists():
                problems.append(f"{place}:{number}: {top} sees the public SDK only, not {name}")
print("\n".join(problems) or "every include goes the allowed way")
sys.exit(1 if problems else 0)

#!/usr/bin/env python3
"""operator_examples.py SLUICE FOLDER: `sluice validate` accepts every example of every operator's page, those that the author wrote
and the one that is made from the options."""
import json
import os
import pathlib
import re
import subprocess
import sys

SLUICE, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER.mkdir(parents=True, exist_ok=True)


def describe(*arguments):
    return subprocess.run([SLUICE, "describe", *arguments], check=True, capture_output=True, text=True).stdout


def pipeline(example, sinks):
    """The example in a whole file: a source for each input that it does not bring, a sink behind what it gives."""
    used = re.findall(r"^  (?:input|broadcast): (\S+)$", example, re.M)
    own = dict(re.findall(r"^- id: (\S+)\n  use: (\S+)$", example, re.M))
    sources = sorted({name for name in used} - set(own))
    text = "pipeline: example\noperators:\n"
    text += "".join(f"  - id: {name}\n    use: file.source\n    with: {{ path: rows.jsonl }}\n"
                    "    event_time: { field: ts, format: epoch_ms }\n" for name in sources)
    text += re.sub(r"^(?=.)", "  ", example, flags=re.M)
    for name, use in own.items():
        if use not in sinks and name not in used:
            text += f"  - id: {name}_rows\n    use: console.sink\n    input: {name}\n"
    return text


operators = json.loads(describe("--all", "--format", "json"))
sinks = {op["type"] for op in operators if op["kind"] == "sink"}
problems, count = [], 0
for operator in operators:
    page = describe(operator["type"], "--format", "markdown")
    examples = re.findall(r"^```yaml\n(- id: .*?)^```$", page, re.M | re.S)
    if not examples:
        problems.append(f"{operator['type']}: its page has no example")
    for number, example in enumerate(examples, 1):
        count += 1
        file = FOLDER / f"{operator['type']}-{number}.yaml"
        file.write_text(pipeline(example, sinks), encoding="utf-8")
        env = dict(os.environ, **{name: "text" for name in re.findall(r"\$\{(\w+)\}", example)})
        done = subprocess.run([SLUICE, "validate", file], env=env, capture_output=True, text=True)
        if done.returncode != 0 or "…" in example:
            problems.append(f"{operator['type']}, example {number}:\n{done.stdout}{done.stderr}{example}")
print("\n".join(problems) or f"{count} examples of {len(operators)} operators are valid")
sys.exit(1 if problems else 0)

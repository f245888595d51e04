"""What a user reads who has made a mistake in a pipeline file."""
import functools
import json

from world import case as register
from world import contains, equal

case = functools.partial(register, "ux")


def problems(w, pipeline, environment=None):
    """(place, message, suggestion or hint) for each problem, from the JSON output, after a look at the exit status."""
    code, out = w.validate(pipeline, "--format", "json", environment=environment)
    equal(code, 2, f"exit status of validate; it said {out}")
    found = json.loads(out)[0]["problems"]
    return [(f"{p['line']}:{p['column']}", p["message"], p["suggestion"] or p["hint"]) for p in found]


MISSPELT = """pipeline: shop
operators:
  - id: carts
    use: kafka.source
    with: { brokers: "localhost:9092", topic: carts, start: earlyest }
    event_time: { field: ts, format: epoch_s, out_of_orderess: 2s }
  - id: more
    use: kafka.sorce
    with: { brokers: "localhost:9092", topic: more }
  - id: columns
    use: column_pruner
    input: [carts, more]
    with: { columns: [id], key_fields: id }
  - id: out
    use: file.sink
    input: columns
    with: { dir: ./out }
"""


@case("UX-01", "every misspelt word is named, with its place and what was meant, in one go")
def ux01(w):
    equal(problems(w, MISSPELT), [
        ("5:61", '"start" of kafka.source must be earliest, latest, committed, timestamp or offsets, not "earlyest"', "earliest"),
        ("6:47", 'unknown option "out_of_orderess" of event_time', "out_of_order"),
        ("8:10", 'unknown operator "kafka.sorce"', "kafka.source"),
        ("13:28", 'unknown option "key_fields" of column_pruner', "key_field")], "problems")
    run = w.run(MISSPELT, code=2)
    contains(run.log, '8:10: error: unknown operator "kafka.sorce"; did you mean "kafka.source"?', "      use: kafka.sorce\n           ^\n")


@case("UX-02", "a block that is indented too far is found where it is")
def ux02(w):
    code, out = w.validate("""pipeline:
  name: p
  operators:
    - { id: a, use: file.source, with: { path: x } }
    - { id: b, use: console.sink, input: a }
""")
    equal(code, 2, "exit status")
    contains(out, 'pipeline.yaml:3:3: error: required block "operators" is missing at top level; there is one at pipeline.operators (pipeline.yaml:3:3)',
             'hint: the indentation is probably wrong: write pipeline: NAME, and "operators:" in column 1', "pipeline.yaml: 1 error")
    equal(problems(w, """pipeline: p
operators:
  - id: a
    use: file.source
    path: x
  - { id: b, use: console.sink, input: a }
"""), [("5:5", 'unknown key "path" of operator "a"; it belongs under "with"', "the indentation is probably wrong")], "an option beside `use`")


VARIABLES = """# ${NOT_DEFINED} in a comment
pipeline: variables
operators:
  - id: carts
    use: file.source
    with:
      path: ${ROWS:-rows.jsonl}   # ${NEITHER_THIS}
      max_line: ${SIZE}
  - id: out
    use: console.sink
    input: carts
    with:
      prefix: ${TEXT}
      limit: "${LIMIT}"
  - id: literal
    use: console.sink
    input: carts
    with: { prefix: "$${KEEP} " }
"""


@case("UX-03", "variables are values, never YAML; comments are left alone; secrets are not shown")
def ux03(w):
    given = {"TEXT": 'p@ss: "#{x}", a\nb ', "SIZE": "1MiB", "LIMIT": "3306"}
    w.lines("rows.jsonl", '{"n":1}')
    w.run(VARIABLES, environment=given)
    equal(sorted(w.path("run-1.out").read_text().split("\n")), sorted('p@ss: "#{x}", a\nb {"n":1}\n${KEEP} {"n":1}\n'.split("\n")), "standard output")
    equal(problems(w, VARIABLES, {"TEXT": "x", "LIMIT": "1"}), [("8:17", "environment variable SIZE is not set", "set it, or give a default: ${SIZE:-value}")], "undefined")
    # A secret is in no output and in no checkpoint, also when the server cannot be reached.
    secret = """pipeline: secrets
checkpoint: { dir: "${OUT}/checkpoints", interval: 100ms }
operators:
  - id: carts
    use: kafka.source
    with: { brokers: "127.0.0.1:1", topic: carts, security_protocol: sasl_plaintext, sasl_mechanism: PLAIN, sasl_username: reader, sasl_password: "${SECRET}" }
  - { id: out, use: console.sink, input: carts }
"""
    word = "tr0ub4dor&3"
    code, out = w.validate(secret, "--plan", environment={"SECRET": word})
    equal(code, 0, f"exit status of validate; it said {out}")
    run = w.start(secret, "--log-level", "trace", environment={"SECRET": word})
    run.wait_until(lambda: "127.0.0.1:1" in json.dumps(run.progress()), "the broker to be missed")
    shown = out + json.dumps(run.progress())
    run.kill()
    shown += run.log + "".join(p.read_bytes().decode("latin-1") for p in w.path("checkpoints").rglob("*") if p.is_file())
    if word in shown:
        raise AssertionError(f"the secret is shown: {shown[max(0, shown.index(word) - 200):shown.index(word) + 50]}")
    code, out = w.validate(secret.replace("sasl_mechanism: PLAIN", "sasl_mechanism: PLAYN"), environment={"SECRET": word})
    if word in out:
        raise AssertionError(f"the secret is shown: {out}")


@case("UX-04", "with files that include others each problem is in its own file, at its own line")
def ux04(w):
    w.write("common/kafka.yaml", """operators:
  - id: carts
    use: kafka.source
    with:
      brokers: localhost:9092
      topic: carts
\tgroup: shop
""")
    w.write("common/sink.yaml", """operators:
  - id: out
    use: console.sink
    inptu: carts
  - { id: shared, use: console.sink, input: carts }
""")
    code, out = w.validate("""pipeline: main
include: [common/kafka.yaml, common/sink.yaml]
operators:
  - { id: shared, use: console.sink, input: carts }
""", "--format", "json")
    equal(code, 2, f"exit status of validate; it said {out}")
    found = json.loads(out)[0]["problems"]
    equal([(p["file"], f"{p['line']}:{p['column']}", p["suggestion"]) for p in found],
          [("common/kafka.yaml", "7:1", ""), ("common/sink.yaml", "4:5", "input"), ("common/sink.yaml", "5:11", "")], "places")
    contains(found[0]["message"], "tab")
    equal([p["message"] for p in found[1:]], ['unknown key "inptu" of operator "out"', 'the id "shared" is used twice; first at pipeline.yaml:4:11'], "messages")
    equal([(note["file"], note["line"]) for note in found[2]["notes"]], [("pipeline.yaml", 4)], "the other place")


TESTED = """pipeline: tested
operators:
  - { id: rows, use: file.source, with: { path: none.jsonl } }
  - { id: ids, use: column_pruner, input: rows, with: { columns: [id] } }
  - { id: out, use: console.sink, input: ids }
tests:
  - name: t1
    input: [ {"id":1} ]
    expct: [ {"id":2} ]
  - name: t2
    input: []
    expect: []
  - name: t3
"""


@case("UX-05", "a pipeline test that asserts nothing, or something else than was meant, is invalid and does not pass")
def ux05(w):
    w.write("tested.yaml", TESTED)
    code, out = w.command("test", "tested.yaml")
    equal(code, 2, f"exit status of test; it said {out}")
    contains(out, 'tested.yaml:9:5: error: unknown key "expct" of test "t1"; did you mean "expect"?',
             'tested.yaml:13:5: error: test "t3" has no assertion: it expects nothing', "ok      t2\n",
             "tested.yaml: 3 tests, 1 passed, 0 failed, 2 invalid\n")
    w.write("tested.yaml", TESTED.replace("expct", "expect").replace("  - name: t3\n", ""))
    code, out = w.command("test", "tested.yaml")
    equal(code, 1, f"exit status of test; it said {out}")
    equal(out, """FAILED  t1
  tested.yaml:9:13: out: expected 1 rows, found 1
    - {"id":2}   (tested.yaml:9:15)
    + {"id":1}
ok      t2
tested.yaml: 2 tests, 1 passed, 1 failed, 0 invalid
""", "what it printed")


@case("UX-06", "mistakes in the graph are said in the words of the file, at the reference that is wrong")
def ux06(w):
    text = """pipeline: graph
operators:
  - { id: src, use: file.source, with: { path: x } }
  - { id: dedup, use: column_pruner, input: filter1, with: { columns: [a] } }
  - { id: c1, use: column_pruner, input: c2, with: { columns: [a] } }
  - { id: c2, use: column_pruner, input: c1, with: { columns: [a] } }
  - { id: out, use: console.sink, input: src }
  - { id: after, use: console.sink, input: out }
  - { id: src, use: file.source, with: { path: y } }
"""
    equal(problems(w, text), [
        ("4:11", 'nobody reads the output of operator "dedup"; it must lead to a sink', ""),
        ("4:45", 'operator "dedup" reads from "filter1", which is not defined; defined: src, dedup, c1, c2, out, after', ""),
        ("5:42", "operators form a cycle: c1 → c2 → c1", ""),
        ("8:44", 'operator "after" reads from "out", which is a sink (console.sink) and gives nothing to read', ""),
        ("9:11", 'the id "src" is used twice; first at 3:11', "")], "problems")

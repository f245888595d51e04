#!/usr/bin/env python3
"""Cost of both jobs from a real Kafka broker: Sluice, tuned Flink, and librdkafka that reads the same topic and does nothing.

  bench/run.py [--messages N] [--jobs dim,dws] [--parallelism 1,2] [--sides raw,sluice,peer] [--peer-mode MODE]

Prints one JSON object per line:
  {"job","parallelism","records","sluice":{"cpu_s_per_million","records_per_s","peak_mb","first_output_s"},"peer":{...},"raw":{...}}
and on stderr a table of ratios, and for each job and parallelism whether the bars of BARS are met: they are measured, a run that misses
one is no failure. A run whose output is not the oracle's does not count: null, and exit code 1.

Whole runs are measured, from launch to exit: CPU (user + system) and peak memory as the kernel accounts them to the process,
records per second of wall time, first output = the time at which the broker appended the first output record. The peer's
start-up costs seconds, so the table also says what is left without it: less the CPU of a run on 1,000 messages.

The peer's modes: `course` as the course writes the jobs, `tuned` (default) and `peek` (job DIM only) as an expert would.

BENCH_N, BENCH_PARALLELISM, BENCH_JOBS, BENCH_SIDES, BENCH_PEER_MODE in the environment are the options' defaults. Data is made
once and kept in SLUICE_CACHE (default ~/.cache/sluice); 5,000,000 messages a topic take 5 GB there, and as much again for the
broker while it runs.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import broker as kafka
import dataset
import peer as flink

# This process stays small (data is made, dumped and compared by child processes): Linux counts the memory of the process that
# starts a child towards the child's peak.
BENCH = dataset.BENCH
ROOT = BENCH.parent
CONFIG = BENCH / "dim_config.jsonl"
INPUTS = {"dim": ("topic_db", "id"), "dws": ("cart_add", "user_id")}  # job: kind of data, what its partitions are chosen by
PARTITIONS = 2
START_UP_MESSAGES = 1_000
MEASURES = ("cpu_s_per_million", "records_per_s", "peak_mb", "first_output_s")
BARS = {"of_peer_cpu": 1 / 3, "peak_mb": 200, "first_output_s": 1}  # at most; the peer is the tuned one


def say(text):
    print(text, file=sys.stderr, flush=True)


class DoesNotCount(Exception):
    pass


def measured(command, log, **more):
    """Runs a command to its end: (launched at, wall seconds, CPU seconds, peak MB)."""
    with open(log, "wb") as out:
        launched = time.time()
        child = subprocess.Popen([str(c) for c in command], stdout=out, stderr=subprocess.STDOUT, **more)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:  # interrupted: nothing outlives the benchmark
            os.kill(child.pid, signal.SIGKILL)
            raise
        wall = time.time() - launched
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        tail = pathlib.Path(log).read_text(errors="replace")[-2000:]
        raise DoesNotCount(f"{command[0]} ended with {child.returncode}:\n{tail}")
    return launched, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Bench:
    def __init__(self, options, broker, folder):
        self.options = options
        self.broker = broker
        self.folder = folder
        self.tools = pathlib.Path(options.build) / "bench"
        self.sluice = pathlib.Path(options.build) / "bin" / "sluice"
        self.peer = flink.Peer(dataset.CACHE) if "peer" in options.sides else None
        self.runs = 0

    def load(self, job, data, topic):
        kind, partition_by = INPUTS[job]
        self.broker.create_topic(topic, PARTITIONS)
        done = subprocess.run([self.tools / "kload", self.broker.address, topic, data / f"{kind}.jsonl", partition_by,
                               str(PARTITIONS)], check=True, stdout=subprocess.PIPE, text=True).stdout
        say(f"{topic}: {done.strip()}")

    def raw(self, topic, records):
        log = self.folder / "kdrain.json"
        launched, wall, cpu, peak = measured([self.tools / "kdrain", self.broker.address, topic], log)
        drained = json.loads(log.read_text())
        if drained["records"] != records:
            raise DoesNotCount(f"kdrain read {drained['records']} of {records} records")
        return self.measures(records, wall, cpu, peak, drained["first_message_ms"] / 1000 - launched)

    def job(self, side, job, parallelism, data, topic, records):
        """One run of Sluice or of the peer, compared with the oracle."""
        self.runs += 1
        folder = self.folder / f"{side}-{job}-{self.runs}"
        folder.mkdir()
        out_topic = f"{job}_out_{self.runs}"
        self.broker.create_topic(out_topic, 1)
        start = self.start_sluice if side == "sluice" else self.start_peer
        launched, wall, cpu, peak = start(job, parallelism, topic, out_topic, folder)
        self.compare(job, data, out_topic, folder)
        first = self.broker.first_append_s(out_topic)
        self.broker.delete_topic(out_topic)
        shutil.rmtree(folder)
        return self.measures(records, wall, cpu, peak, first - launched)

    def start_sluice(self, job, parallelism, topic, out_topic, folder):
        variables = {"KAFKA": self.broker.address, "TOPIC": topic, "OUT_TOPIC": out_topic, "PARALLELISM": str(parallelism),
                     "STATE_DIR": str(folder), "CONFIG": str(CONFIG)}
        return measured([self.sluice, "run", BENCH / f"{job}.yaml"], folder / "log", env={**os.environ, **variables}, cwd=ROOT)

    def start_peer(self, job, parallelism, topic, out_topic, folder):
        mode = flink.mode_of(job, self.options.peer_mode)
        command = self.peer.command(job, mode, self.broker.address, topic, out_topic, parallelism, CONFIG, folder)
        return measured(command, folder / "log")

    def compare(self, job, data, out_topic, folder):
        dump = folder / "output.jsonl"
        self.broker.dump(out_topic, dump)
        with open(dump, "rb") as lines:
            command = [sys.executable, BENCH / "oracle.py", f"check-{job}", data]
            checked = subprocess.run(command, stdin=lines, stdout=subprocess.PIPE, text=True)
        if checked.returncode != 0:
            raise DoesNotCount(checked.stdout.strip() or "the oracle failed")

    @staticmethod
    def measures(records, wall, cpu, peak, first):
        return dict(zip(MEASURES, (round(cpu * 1e6 / records, 3), round(records / wall), round(peak, 1), round(first, 2))))

    def attempt(self, what, run, *arguments):
        try:
            result = run(*arguments)
        except DoesNotCount as error:
            say(f"{what}: DOES NOT COUNT: {error}")
            return None
        say(f"{what}: {json.dumps(result)}")
        return result


def table(lines, start_up):
    """What each side costs beside the others."""
    rows = [("job", "p", "side", "CPU s/M", "less start", "of peer", "records/s", "peak MB", "first s")]
    for line in lines:
        peer_cpu = (line.get("peer") or {}).get("cpu_s_per_million")
        for side in ("raw", "sluice", "peer"):
            result = line.get(side)
            if not result:
                continue
            cpu = result["cpu_s_per_million"]
            less = cpu - start_up.get((side, line["job"]), 0) * 1e6 / line["records"]
            rows.append((line["job"], str(line["parallelism"]), side, f"{cpu:.2f}", f"{less:.2f}",
                         f"{cpu / peer_cpu:.1%}" if peer_cpu else "", f"{result['records_per_s']:,}", f"{result['peak_mb']:.0f}",
                         f"{result['first_output_s']:.2f}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows)


def bars(line, peer_mode):
    """Sentences on how one run of Sluice stands to the bars."""
    name, ours, peer = f"{line['job']} p={line['parallelism']}", line.get("sluice"), line.get("peer")
    if not ours:
        return []
    values = {measure: ours[measure] for measure in ("peak_mb", "first_output_s")}
    if peer and peer_mode == "tuned":
        values["of_peer_cpu"] = ours["cpu_s_per_million"] / peer["cpu_s_per_million"]
    words = {"of_peer_cpu": "CPU per record {:.1%} of tuned Flink's (bar: {:.1%})", "peak_mb": "peak memory {:.0f} MB (bar: {} MB)",
             "first_output_s": "first output after {:.2f} s (bar: {} s)"}
    return [f"{name}: {words[bar].format(values[bar], most)}: {'met' if values[bar] <= most else 'MISSED'}" if bar in values else
            f"{name}: CPU beside tuned Flink's was not measured" for bar, most in BARS.items()]


def start_up_cpu(bench, jobs, sides):
    """{(side, job): CPU seconds of a run on few messages}"""
    if not sides:
        return {}
    data, cpu = dataset.folder_of(START_UP_MESSAGES), {}
    for job in jobs:
        topic = f"{INPUTS[job][0]}_start"
        bench.load(job, data, topic)
        for side in sides:
            result = bench.attempt(f"{job} {side} start-up", bench.job, side, job, 1, data, topic, START_UP_MESSAGES)
            if result:
                cpu[side, job] = result["cpu_s_per_million"] * START_UP_MESSAGES / 1e6
    return cpu


def run_all(options, bench):
    data, lines, complete = dataset.folder_of(options.messages), [], True
    running = [side for side in ("sluice", "peer") if side in options.sides]
    start_up = start_up_cpu(bench, options.jobs, running)
    for job in options.jobs:
        topic = INPUTS[job][0]
        bench.load(job, data, topic)
        raw = bench.attempt(f"{job} raw", bench.raw, topic, options.messages) if "raw" in options.sides else None
        for parallelism in options.parallelism:
            line = {"job": job, "parallelism": parallelism, "records": options.messages}
            for side in running:
                what = f"{job} {side} p={parallelism}"
                line[side] = bench.attempt(what, bench.job, side, job, parallelism, data, topic, options.messages)
            if "raw" in options.sides:
                line["raw"] = raw
            complete = complete and all(line[side] for side in options.sides)
            lines.append(line)
            print(json.dumps(line), flush=True)
        bench.broker.delete_topic(topic)
    say(table(lines, start_up))
    for line in lines:
        for sentence in bars(line, options.peer_mode):
            say(sentence)
    return 0 if complete else 1


def parse_options():
    environment = os.environ.get
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--messages", type=int, default=int(environment("BENCH_N", "5000000")))
    p.add_argument("--jobs", default=environment("BENCH_JOBS", "dim,dws"))
    p.add_argument("--parallelism", default=environment("BENCH_PARALLELISM", "1,2"))
    p.add_argument("--sides", default=environment("BENCH_SIDES", "raw,sluice,peer"))
    p.add_argument("--peer-mode", choices=("course", "tuned", "peek"), default=environment("BENCH_PEER_MODE", "tuned"))
    p.add_argument("--build", default=ROOT / "build" / "release", help="build tree with bin/sluice and bench/")
    options = p.parse_args()
    options.jobs = options.jobs.split(",")
    options.sides = options.sides.split(",")
    options.parallelism = [int(n) for n in options.parallelism.split(",")]
    if not set(options.jobs) <= set(INPUTS) or not set(options.sides) <= {"raw", "sluice", "peer"}:
        p.error("unknown job or side")
    return options


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the broker is stopped
    dataset.CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-run-", dir=dataset.CACHE) as folder:
        broker = kafka.Broker(pathlib.Path(folder) / "kafka")
        try:
            return run_all(options, Bench(options, broker, pathlib.Path(folder)))
        finally:
            broker.close()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""failpoint_test.py FOLDER [JOB...]: each job ends at every failpoint that the program has, at its first and at a later passing; the next
run goes on from the newest complete checkpoint, and both sinks hold exactly the oracle's rows. A failpoint that is not passed fails."""
import concurrent.futures
import subprocess
import sys

import jobs

MESSAGES = 20_000
KILLED = 137
IN_THE_MIDDLE = 5  # so many kills of each job at least come when some messages have been read, but not all


def crash(job, failpoint):
    # Without an end: however slow checkpoints are here, the input cannot be over before the failpoint is passed.
    process = job.start(2, batch_rows=4, interval="30ms", failpoint=failpoint, until="none")
    try:
        code = process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        jobs.kill(process)
        raise AssertionError(f"{job.name}: {failpoint} is never passed\n{job.log()[-3000:]}") from None
    if code != KILLED:
        raise AssertionError(f"{job.name}: {failpoint}: exit code {code}\n{job.log()[-3000:]}")


def passings(name):
    """A first one, and one that is a checkpoint or more later: a task or a file comes many times in each."""
    if name == "checkpoint.in_cleanup":
        return (1,)
    if name.startswith("recovery."):
        return (1, 2)
    return (1, 40) if name == "checkpoint.in_files" else (1, 12) if name.startswith("task.") else (1, 3)


def prepare(job, name):
    """What must have happened for the next start to pass `name`, and how often it can."""
    job.clean()
    if name == "checkpoint.in_cleanup":  # a checkpoint that was cut off
        crash(job, "checkpoint.before_manifest:3")
        return 1
    if not name.startswith("recovery."):
        return 1000
    for number in range(2, 12):  # one that holds rows for a sink that has not got them; in which they are is a matter of speed
        job.clean()
        crash(job, f"checkpoint.complete:{number}")
        checkpoint = job.newest_checkpoint()
        if sum(checkpoint.spooled_rows) > 0:
            return len(checkpoint.spooled_rows)
    raise AssertionError(f"{job.name}: no checkpoint holds rows for a sink\n{job.log()[-3000:]}")


def trial(job, failpoint):
    """Says how many messages had been read where the job went on."""
    crash(job, failpoint)
    newest = job.newest_checkpoint()
    job.run(2)
    try:
        if job.restored()[-1] != (newest and newest.number):
            raise AssertionError(f"restored {job.restored()[-1]}, not {newest and newest.number}")
        job.check()
    except AssertionError as error:
        raise AssertionError(f"{job.name}: {failpoint}: {error}\n{job.log()[-3000:]}") from error
    return newest.messages(job.source) if newest else 0


def run(job, names):
    in_the_middle = 0
    for name in names:
        for passing in passings(name):
            if passing > prepare(job, name):
                continue
            messages = trial(job, f"{name}:{passing}")
            in_the_middle += 0 < messages < MESSAGES
            print(f"{job.name}: {name}:{passing}: killed, went on behind {messages} messages, equal", flush=True)
    if in_the_middle < IN_THE_MIDDLE:
        raise AssertionError(f"{job.name}: only {in_the_middle} kills came in the middle of the messages")


def main(folder, *only):
    names = subprocess.run([jobs.SLUICE, "failpoints"], check=True, capture_output=True, text=True).stdout.split()
    assert len(names) >= 10, names
    all_jobs = [jobs.Job(name, MESSAGES, 4, f"{folder}/{name}") for name in only or ("dws", "dim")]
    with concurrent.futures.ThreadPoolExecutor() as pool:  # side by side: they wait more than they compute
        for job in [pool.submit(run, job, names) for job in all_jobs]:
            job.result()


main(*sys.argv[1:])

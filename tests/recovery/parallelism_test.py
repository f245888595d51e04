#!/usr/bin/env python3
"""parallelism_test.py FOLDER [JOB...]: both jobs over 100,000 messages a topic give exactly the oracle's rows with 1, 2 and 4 lanes,
and after a stop and after a kill in the middle with 2 lanes and a restart with 3 that restores a full state."""
import sys

import jobs

MESSAGES, PARTS, BEFORE = 100_000, 10, 8  # in 8 parts of 10 the messages that are there before the end comes
LARGE_STATE = {"dim": ("configured", 10), "dws": ("first_today", 70_000)}  # entries of an operator: all rules; about as many users as messages


def interrupt(job, end):
    """Says what the run with other lanes went on from."""
    job.take_empty_topic()
    job.feed(0, BEFORE, of=PARTS)
    process = job.start(2, batch_rows=16, until="none")
    job.wait_for_checkpoint(process, MESSAGES * BEFORE // PARTS)
    job.feed(BEFORE, PARTS, of=PARTS)  # met in the middle of these
    end(process)
    newest = job.newest_checkpoint()
    job.run_to_the_end_of_what_was_fed(3)
    if newest.number < 2 or job.restored()[1] != newest.number:
        raise AssertionError(f"{job.name}: restored {job.restored()}, not {newest.number}\n{job.log()[-2000:]}")
    operator, least = LARGE_STATE[job.name]
    if newest.entries(operator) < least:
        raise AssertionError(f"{job.name}: {newest.entries(operator)} entries of {operator} in the checkpoint, not {least}")
    job.check()
    job.drop_topic()
    return f"checkpoint {newest.number}: {newest.messages(job.source)} messages, {newest.entries(operator)} entries of {operator}"


for name in sys.argv[2:] or ("dim", "dws"):
    job = jobs.Job(name, MESSAGES, 4, f"{sys.argv[1]}/{name}")
    for lanes in (1, 2, 4):
        job.clean()
        job.run(lanes, interval="1s", batch_rows=1024)
        job.check()
        print(f"{name}: {lanes} lanes equal the oracle", flush=True)
    for end in (jobs.stop, jobs.kill):
        job.clean()
        restored = interrupt(job, end)
        print(f"{name}: 2 lanes, {end.__name__}, 3 lanes equal the oracle ({restored})", flush=True)

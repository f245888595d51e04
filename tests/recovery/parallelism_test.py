#!/usr/bin/env python3
"""parallelism_test.py FOLDER: both jobs over 100,000 messages a topic give exactly the oracle's rows with 1, 2 and 4 lanes,
and after a stop and after a kill in the middle with 2 lanes and a restart with 3, the state being full."""
import sys

import jobs

folder = sys.argv[1]
for name in sys.argv[2:] or ("dim", "dws"):
    job = jobs.Job(name, 100_000, 4, f"{folder}/{name}")
    for lanes in (1, 2, 4):
        job.clean()
        job.run(lanes, interval="1s", batch_rows=1024)
        job.check()
        print(f"{name}: {lanes} lanes equal the oracle", flush=True)
    for end in (jobs.stop, jobs.kill):
        job.clean()
        process = job.start(2, batch_rows=16)
        jobs.wait_for(lambda: job.rows_so_far() > 1000 or process.poll() is not None, "rows in the sink")
        if process.poll() is not None:
            raise AssertionError(f"{name}: it ended before it could be interrupted\n{job.log()[-2000:]}")
        end(process)
        job.run(3)
        job.check()
        print(f"{name}: 2 lanes, {end.__name__}, 3 lanes equal the oracle", flush=True)

#!/usr/bin/env python3
"""kill_test.py FOLDER TRIALS [SEED]: kill -9 at random moments of each job, restart, compare every sink with the oracle."""
import random
import sys
import time

import jobs

folder, trials = sys.argv[1], int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(2**32)
print(f"seed {seed}", flush=True)
random.seed(seed)
for name in sys.argv[4:] or ("dim", "dws"):
    job = jobs.Job(name, 100_000, 4, f"{folder}/{name}")
    job.clean()
    begin = time.monotonic()
    job.run(2, batch_rows=64)
    job.check()
    length = time.monotonic() - begin
    print(f"{name}: undisturbed in {length:.2f} s, equals the oracle", flush=True)
    kills = 0
    while kills < trials:
        job.clean()
        moments = []
        for _ in range(random.randint(1, 3)):
            process = job.start(random.choice((1, 2, 2, 3)), batch_rows=64)
            moments.append(round(random.uniform(0, length), 3))
            time.sleep(moments[-1])
            if process.poll() is not None:
                if process.returncode != 0:
                    raise AssertionError(f"{name}: exit code {process.returncode}\n{job.log()[-3000:]}")
                length = max(moments[-1] * 0.9, 0.1)  # the first run was slower than the job is: later moments hit nothing
                continue
            jobs.kill(process)
            kills += 1
        job.run(2)
        try:
            job.check()
        except AssertionError as error:
            raise AssertionError(f"{name}: seed {seed}, killed after {moments} s: {error}\n{job.log()[-3000:]}") from error
        print(f"{name}: killed after {moments} s: equal", flush=True)

#!/usr/bin/env python3
"""kill_test.py FOLDER KILLS [SEED [JOB...]]: kill -9 at random moments of each job while its topic is being filled, restart, compare every
sink with the oracle.

A kill counts when the next run goes on from a checkpoint, the newest complete one at that moment; in half of them at least must be
messages. New ones come during each life.
"""
import concurrent.futures
import random
import sys
import threading
import time

import jobs

MESSAGES, PARTS = 100_000, 20


def trial(job, dice):
    """Gives (moment, the checkpoint that the next run went on from or None) of each kill."""
    job.clean()
    job.take_empty_topic()
    lives = dice.randint(1, 3)
    kills = []
    try:
        for life in range(lives):
            process = job.start(dice.choice((1, 2, 2, 3)), batch_rows=64, until="none")
            feeder = threading.Thread(target=job.feed, args=(PARTS * life // (lives + 1), PARTS * (life + 1) // (lives + 1), PARTS))
            feeder.start()
            try:
                early = dice.random() < 0.2
                if not early:
                    job.wait_for_checkpoint(process, 0)
                moment = round(dice.uniform(0, 0.5), 3)
                time.sleep(moment)
                kills.append((f"{moment} s after its {'start' if early else 'first checkpoint'}", None))
                if process.poll() is not None:
                    raise AssertionError(f"exit code {process.returncode}")
                jobs.kill(process)
                kills[-1] = (kills[-1][0], job.newest_checkpoint())
            finally:
                feeder.join()
        job.feed(PARTS * lives // (lives + 1), PARTS, PARTS)
        job.run_to_the_end_of_what_was_fed(2)
        went_on = jobs.went_on_from([newest for _, newest in kills], job.restored())
        job.check()
    except AssertionError as error:
        raise AssertionError(f"killed {', '.join(moment for moment, _ in kills)}: {error}\n{job.log()[-3000:]}") from error
    finally:
        job.drop_topic()
    return [(moment, checkpoint) for (moment, _), checkpoint in zip(kills, went_on)]


def run(job, wanted, seed):
    dice = random.Random(f"{seed} {job.name}")
    counted = behind_messages = attempts = 0
    while counted < wanted or behind_messages * 2 < wanted:
        attempts += 1
        if attempts > wanted:
            raise AssertionError(f"{job.name}, seed {seed}: only {counted} kills after which it went on from a checkpoint, {behind_messages} of them behind messages")
        try:
            kills = trial(job, dice)
        except AssertionError as error:
            raise AssertionError(f"{job.name}, seed {seed}: {error}") from error
        said = []
        for moment, checkpoint in kills:
            if checkpoint is None:
                said.append(f"{moment} (not counted)")
                continue
            messages = checkpoint.messages(job.source)
            counted += 1
            behind_messages += checkpoint.number > 1 and messages > 0
            said.append(f"{moment} (went on from checkpoint {checkpoint.number}, behind {messages} messages)")
        print(f"{job.name}: killed {', '.join(said)}: equal", flush=True)
    print(f"{job.name}: {counted} kills, after {behind_messages} of which it went on behind messages", flush=True)


def main(folder, kills, seed=None, *only):
    seed = int(seed) if seed else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", flush=True)
    all_jobs = [jobs.Job(name, MESSAGES, 4, f"{folder}/{name}") for name in only or ("dim", "dws")]
    with concurrent.futures.ThreadPoolExecutor() as pool:  # side by side: they wait more than they compute
        for job in [pool.submit(run, job, int(kills), seed) for job in all_jobs]:
            job.result()


main(*sys.argv[1:])

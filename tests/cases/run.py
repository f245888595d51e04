#!/usr/bin/env python3
"""run.py FOLDER AREA... [ID...]: runs the cases of areas, a few side by side, or only those that are named.

Exit status 1: a case failed."""
import concurrent.futures
import importlib
import sys
import time
import traceback

import world

SIDE_BY_SIDE = 4  # most cases wait more than they compute


def run(case, folder):
    place = world.World(case.id, folder)
    started = time.monotonic()
    result, problem = "ok", None
    try:
        case.function(place)
        if case.fails_because:
            problem = f"it holds now: take `fails_because` away ({case.fails_because})"
    except Exception:  # noqa: BLE001 - whatever goes wrong is the result of this case
        if case.fails_because:
            result = f"OPEN ({case.fails_because})"
        else:
            problem = traceback.format_exc()
    finally:
        place.close()
    if problem:
        result = "FAILED"
    print(f"{case.id} {result} {time.monotonic() - started:.1f} s  {case.title}", flush=True)
    return case.id, result, problem


def main(folder, *names):
    areas = [n for n in names if "-" not in n]
    only = {n for n in names if "-" in n}
    for area in areas:
        importlib.import_module(f"{area}_cases")
    chosen = [c for area in areas for c in world.CASES[area] if not only or c.id in only]
    if not chosen or (only and only - {c.id for c in chosen}):
        print("no such case:", *names, file=sys.stderr)
        return 64
    with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        results = list(pool.map(lambda c: run(c, folder), [c for c in chosen if not c.alone]))
    results += [run(c, folder) for c in chosen if c.alone]
    failed = [(case_id, problem) for case_id, _, problem in results if problem]
    for case_id, problem in failed:
        print(f"\n==== {case_id}\n{problem}", flush=True)
    print(f"{sum(result == 'ok' for _, result, _ in results)} of {len(results)} cases hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

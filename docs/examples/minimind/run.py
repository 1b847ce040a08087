#!/usr/bin/env python3
"""Trains a small language model in six precisions and in a documented loop, and plants fourteen faults.

    docs/examples/minimind/run.py [--out build/minimind] [--only NAME ...] [--quick]

Each training and each fault has its folder in --out with what every command said, and with the
commands; results.json sums up, and has the rows of the page's tables (docs/measured.json). The
status is 1 where a fault was not named, or is still there after its mend. Some minutes on two
cores."""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def use_environment() -> None:
    """Runs itself again in the checkout's environment, where this Python has no PyTorch."""
    try:
        import torch  # noqa: F401
        return
    except ImportError:
        if os.environ.get("MPOPT_VENV"):
            raise
    printed = subprocess.run([ROOT / "scripts/setup", "--print"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    folders = dict(line.removeprefix("export ").split("=", 1) for line in printed.split("\n")
                   if "=" in line)
    python = Path(folders["MPOPT_VENV"].strip("'\"")) / "bin/python"
    os.environ["MPOPT_VENV"] = str(python.parent.parent)
    os.execv(python, [str(python), *sys.argv])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build/minimind", metavar="FOLDER")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of trainings and faults")
    parser.add_argument("--quick", action="store_true",
                        help="20 steps of each training: for a test")
    parser.add_argument("--jobs", type=int, default=2, help="at a time; default: %(default)s")
    options = parser.parse_args()

    import judging
    import text
    from faults import FAULTS
    from steps import Failed, TRAININGS

    names = {*TRAININGS, *(fault.name for fault in FAULTS)}
    if unknown := set(options.only or ()) - names:
        parser.error(f"--only: no {min(unknown)}; there are {', '.join(sorted(names))}")
    begin = time.monotonic()
    text.load(options.out / "data")

    def wanted(name: str) -> bool:
        return not options.only or name in options.only

    jobs = [(training.title, judging.judge_training,
             training if not options.quick else dataclasses.replace(training, steps=20))
            for training in TRAININGS.values() if wanted(training.name)]
    jobs += [(fault.title, judging.judge_fault, fault) for fault in FAULTS if wanted(fault.name)]
    # The slow ones, in FP16, first.
    jobs.sort(key=lambda job: "fp16" not in getattr(job[2], "training", job[2]).name)
    rows, status = {}, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(work, what, options.out): (title, what)
                   for title, work, what in jobs}
        for future in concurrent.futures.as_completed(futures):
            title, what = futures[future]
            try:
                rows[what.name] = row = future.result()
            except Failed as error:
                print(f"{title}: {error}", file=sys.stderr)
                status = 1
                continue
            missing = row.get("missing", [])
            print(f"{time.monotonic() - begin:5.0f} s  {title}: "
                  f"{'; '.join(missing) if missing else 'as expected'}", flush=True)
            status = 1 if missing else status
    seconds = time.monotonic() - begin
    trainings = [rows[name] for name in TRAININGS if name in rows]
    faults = [rows[fault.name] for fault in FAULTS if fault.name in rows]
    results = {"seconds": round(seconds), "trainings": trainings, "faults": faults,
               "tables": {"minimind-trainings": judging.table_of_trainings(trainings),
                          "minimind-faults": judging.table_of_faults(faults)}}
    (options.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(f"{seconds / 60:.1f} minutes; {options.out / 'results.json'}")
    return status


if __name__ == "__main__":
    use_environment()
    sys.exit(main())

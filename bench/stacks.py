#!/usr/bin/env python3
"""Expected errors and gradients of stacks of equal blocks against PyTorch.

    bench/stacks.py [--binary MPOPT] [--layers 12 24] [--only NAME ...] [--group GROUP ...]
                    [--jobs N] [--json FILE] [--cache DIR]
    bench/stacks.py --compare BEFORE.json AFTER.json
    bench/stacks.py --list

The stacks are those of test/python/support/stack_table.py: decoders, encoders, images, sound,
experts, state, norms elsewhere. Each is exported by torch.export as it was initialised, at each
number of layers, and at the least one with other weights (`scaled`, `outlier`), where its row
says so. What is measured is in stack_measure.py. Prints a row a stack, then counts of each group;
one that cannot be exported is named with the reason and left out. `--cache` keeps programs and
truths, which do not depend on mpopt: a second run takes a tenth of the time. Needs torch and
transformers. Exits with 1 unless all together are as good as they should be
(stack_measure.Score.is_good).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("MPOPT_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "test/python/support"))

import stack_measure  # noqa: E402
import stack_table  # noqa: E402
import torch  # noqa: E402
from stack_measure import Error, Measured, Score  # noqa: E402


class Job(NamedTuple):
    name: str
    layers: int
    variant: str
    binary: Path
    cache: Path | None


class Skipped(NamedTuple):
    job: Job
    why: str


def list_jobs(options: argparse.Namespace) -> Iterator[Job]:
    for stack in stack_table.all_stacks().values():
        if (options.only and stack.name not in options.only) or (options.group and stack.group not in options.group):
            continue
        for layers in options.layers:
            variants = ("plain", *stack.variants) if layers == min(options.layers) else ("plain",)
            for variant in variants:
                yield Job(stack.name, layers, variant, options.binary, options.cache)


def run(job: Job) -> Measured | Skipped:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    stack = stack_table.all_stacks()[job.name]
    try:
        return stack_measure.measure(stack, job.layers, job.variant, job.binary, job.cache)
    except Exception as error:  # whatever the exporter throws
        lines = str(error).strip().splitlines()
        return Skipped(job, f"{type(error).__name__}: {lines[0] if lines else ''}")


def describe_error(precision: str, error: Error) -> str:
    said = "unknown" if error.said is None else error.said if isinstance(error.said, str) else f"{error.said:.2%}"
    alarm = " FAILS" if error.fails else ""
    return f"{precision.removeprefix('autocast-')} {error.true:.2%} said {said}{alarm}"


def describe(row: Measured) -> str:
    errors = "; ".join(describe_error(*item) for item in row.errors.items())
    worst = max(row.gradients.items(), key=lambda item: abs(item[1]), default=("", 0.0))
    messages = "".join(f"\n    {message.splitlines()[0]}" for message in row.messages)
    return (f"{row.name:20} {row.layers:2} {row.variant:7}: {errors}; gradients within 4x "
            f"{row.near_gradients}/{len(row.gradients)}, worst 2^{worst[1]:.1f} {worst[0]} "
            f"({row.seconds:.1f} s){messages}")


def by_group(rows: list[Measured]) -> Iterator[tuple[str, list[Measured]]]:
    ordered = sorted(rows, key=lambda row: row.group)
    for group, members in groupby(ordered, key=lambda row: row.group):
        yield group, list(members)
    yield "all", rows


def measure_all(options: argparse.Namespace) -> list[Measured]:
    jobs, rows = list(list_jobs(options)), []
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done in pool.map(run, jobs):
            if isinstance(done, Skipped):
                print(f"{done.job.name:20} {done.job.layers:2} {done.job.variant:7}: left out: {done.why}", flush=True)
                continue
            print(describe(done), flush=True)
            rows.append(done)
    return rows


def load(path: Path) -> dict[tuple[str, int, str], Measured]:
    rows = [stack_measure.from_json(row) for row in json.loads(path.read_text())["stacks"]]
    return {(row.name, row.layers, row.variant): row for row in rows}


def changes(before: Measured, after: Measured) -> bool:
    """True if a row is judged in another way."""
    def summary(row: Measured) -> list:
        return [row.near_gradients, *((e.is_near, e.is_false_alarm, e.said is None) for e in row.errors.values())]
    return summary(before) != summary(after)


def compare(before_file: Path, after_file: Path) -> Score:
    """For the stacks that both files have: the verdicts of each on those that changed, and counts."""
    before, after = load(before_file), load(after_file)
    both = [key for key in before if key in after]
    for key in both:
        if changes(before[key], after[key]):
            print(f"before {describe(before[key])}\nafter  {describe(after[key])}")
    groups = zip(by_group([before[key] for key in both]), by_group([after[key] for key in both]), strict=True)
    for (group, old), (_, new) in groups:
        print(f"\n{group}: {len(old)} stacks\n  before {Score.of(old)}\n  after  {Score.of(new)}")
    return Score.of(after[key] for key in both)


def write_json(path: Path, rows: list[Measured]) -> None:
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps({"stacks": [row.to_json() for row in rows]}, indent=1))
    os.replace(partial, path)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=BUILD / "bin/mpopt")
    parser.add_argument("--layers", type=int, nargs="+", default=[12, 24])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--group", nargs="+")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    unknown = set(options.only or ()) - set(stack_table.all_stacks())
    if unknown:
        parser.error(f"no stack is called {', '.join(sorted(unknown))}")
    if not (options.compare or options.list or os.access(options.binary, os.X_OK)):
        parser.error(f"{options.binary} cannot be run")
    return options


def main() -> int:
    options = parse()
    if options.list:
        for stack in stack_table.all_stacks().values():
            print(f"{stack.group:16} {stack.name:20} {' '.join(('plain', *stack.variants))}")
        return 0
    if options.compare:
        return 0 if compare(*options.compare).is_good else 1
    if options.cache:
        options.cache.mkdir(parents=True, exist_ok=True)
    rows = measure_all(options)
    for group, members in by_group(rows):
        print(f"{group}: {Score.of(members)}")
    if options.json:
        write_json(options.json, rows)
    return 0 if rows and Score.of(rows).is_good else 1


if __name__ == "__main__":
    sys.exit(main())

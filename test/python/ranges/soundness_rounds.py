"""The rounds of test_soundness.py: which cases there are, and how often they are
tried. conftest.py starts them beside the other tests."""

import concurrent.futures
import importlib
import multiprocessing
import os
import pathlib

import soundness

# Each round builds every case REPEATS times and evaluates it on SAMPLES inputs.
# Fewer rounds do not reach what test_every_op_is_tried asks for.
ROUNDS = int(os.environ.get("MPOPT_SOUNDNESS_ROUNDS", "7"))
REPEATS, SAMPLES = 16, 18
# The files of soundness_cases: one an op family of the dialect, and those that need several
# (`classic`, `legacy`: ops that become others).
SEVERAL = ("classic", "gradients", "legacy", "networks", "relations")
LISTS = {file.stem: importlib.import_module(f"soundness_cases.{file.stem}").CASES
         for file in sorted(pathlib.Path(__file__).with_name("soundness_cases").glob("*.py"))}


def run_round(cases, format, seed):
    return LISTS[cases].check(seed, soundness.FORMATS[format], repeats(cases), SAMPLES)


def repeats(cases):
    """Networks are large, and what they are made of is tried elsewhere."""
    return {"networks": 2, "relations": 4}.get(cases, REPEATS)


def names_of(cases):
    """The names of the cases of a file, which are those of ops."""
    return {*LISTS[cases].onnx, *LISTS[cases].ir}


def wanted(items):
    """The parameters of all rounds that the selected tests look at."""
    if any(item.name == "test_every_op_is_tried" for item in items):
        return [(cases, format, seed) for seed in range(ROUNDS) for cases in LISTS
                for format in soundness.FORMATS]
    return [tuple(item.callspec.params[key] for key in ("cases", "format", "seed"))
            for item in items if getattr(item, "originalname", "") == "test_bounds_hold"]


def start(params):
    """Workers of low priority, so that tests with a time limit keep theirs."""
    pool = concurrent.futures.ProcessPoolExecutor(
        os.cpu_count(), multiprocessing.get_context("fork"), os.nice, (5,))
    return pool, {param: pool.submit(run_round, *param) for param in params}

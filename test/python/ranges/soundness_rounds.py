"""The rounds of test_soundness.py: which cases there are, and how often they are
tried. conftest.py starts them beside the other tests."""

import concurrent.futures
import multiprocessing
import os

import soundness
import soundness_cases
import soundness_composites
import soundness_edges
import soundness_facts
import soundness_ir
import soundness_ir_cases
import soundness_ir_layers
import soundness_more_cases
import soundness_networks
import soundness_relations
import soundness_rows

# Each round builds every case REPEATS times and evaluates it on SAMPLES inputs.
# Fewer rounds do not reach what test_every_op_is_tried asks for.
ROUNDS = int(os.environ.get("MPOPT_SOUNDNESS_ROUNDS", "14"))
REPEATS, SAMPLES = 8, 18
LISTS = {
    # elementwise ops, data movement, linear ops and pools
    "primitives": soundness_cases,
    # normalisations, softmax and recurrent cells
    "rows": soundness_rows,
    # values that occur several times in a sum or quotient
    "relations": soundness_relations,
    # reductions, resampling, signals, lists, quantisation and losses
    "composites": soundness_composites,
    # the other ONNX and com.microsoft ops
    "more": soundness_more_cases,
    # whole numbers, masks, nothing at all
    "facts": soundness_facts,
    "edges": soundness_edges,
    # small networks, for what ops say to each other
    "networks": soundness_networks,
    # ops of other frameworks: references in NumPy
    "functions": soundness_ir_cases,
    "layers": soundness_ir_layers,
}
IN_NUMPY = ("functions", "layers")


def run_round(cases, format, seed):
    module, format = LISTS[cases], soundness.FORMATS[format]
    if cases in IN_NUMPY:
        return soundness_ir.check_round(module.CASES, seed, format, REPEATS, SAMPLES)
    return soundness.check_round(module.CASES, seed, format, repeats(cases), SAMPLES,
                                 getattr(module, "OPSET", 20))


def repeats(cases):
    """Networks are large, and what they are made of is tried elsewhere."""
    return {"networks": 1, "relations": 2}.get(cases, REPEATS)


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

"""Buggy and fixed one-screen graphs in FP32, FP16 and BF16, each judged by its truth.

The table is checked first: what it says is what a run in the dtype shows."""

import json
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import numpy
import onnx
import pytest
from defect_patterns import (GRAPHS, PRECISION, STORED, TABLE, Truth, build, draw, observe,
                             read_truths, rounded)
from tool import MPOPT

TRUTHS = list(read_truths())
RUNS = sorted({(truth.case, truth.dtype) for truth in TRUTHS})
ORDER = ("possible", "likely", "certain")
# Findings that are about a result that becomes Inf, NaN or a wrong number. A share that
# flushes to zero (MP204) is not one, nor is a remark on a constant.
DEFECTS = {"MP201", "MP205", "MP206", "MP207", "MP208", "MP209", "MP210", "MP213"}


def check(case: str, dtype: str, folder) -> list[dict]:
    pattern = build(case)
    file = folder / f"{case}-{dtype}.onnx"
    onnx.save(pattern.model, file)
    command = [MPOPT, "--check", file, "--precision", PRECISION[dtype], "--format", "json",
               "--min-certainty", "possible", "--fail-on", "never"]
    for name, (lo, hi) in pattern.boxes.items():
        command += ["--input", f"{name}={lo!r}:{hi!r}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["findings"]


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patterns")
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(RUNS, pool.map(lambda run: check(*run, folder), RUNS)))


@pytest.fixture(scope="module")
def observed():
    return {(case, dtype): observe(build(case), dtype, seed=7)
            for case, dtype in RUNS if case != "added-and-taken-off"}


def test_table_is_complete():
    told = defaultdict(set)
    for truth in TRUTHS:
        told[truth.case].add(truth.dtype)
        assert truth.certainty in (*ORDER, "clean"), f"{TABLE.name}: {truth}"
        assert truth.reason
    assert set(told) == set(GRAPHS)
    assert all(dtypes == set(PRECISION) for dtypes in told.values())


@pytest.mark.parametrize("truth", [t for t in TRUTHS if t.case != "added-and-taken-off"],
                         ids=lambda t: f"{t.case}-{t.dtype}-{t.tensor}")
def test_truth_is_what_a_run_shows(truth: Truth, observed):
    seen = observed[truth.case, truth.dtype]
    names = set(seen.share) if truth.tensor == "*" else set(truth.tensor.split())
    if not truth.bug:
        assert not names & seen.seen, truth.reason
        return
    broken = names & seen.seen
    assert broken, "no run breaks there"
    share = max(seen.share[name] for name in broken)
    if truth.certainty == "certain":
        assert share > 0.999
    elif truth.certainty == "likely":
        assert 0.5 <= share
    else:
        assert share < 0.5


@pytest.mark.parametrize("dtype", PRECISION)
def test_lost_addend_is_lost(dtype: str):
    import onnxruntime
    pattern = build("added-and-taken-off")
    session = onnxruntime.InferenceSession(rounded(pattern.model, dtype).SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    feeds = draw(pattern, dtype, numpy.random.default_rng(7), "uniform")
    result = session.run(["y"], feeds)[0]
    error = numpy.abs(result - feeds["x"]).max() / numpy.abs(feeds["x"]).max()
    assert error < 0.01 if dtype == "f32" else error > 0.9
    assert STORED[dtype]


@pytest.mark.parametrize("truth", TRUTHS, ids=lambda t: f"{t.case}-{t.dtype}-{t.tensor}")
def test_verdict(truth: Truth, findings):
    found = findings[truth.case, truth.dtype]
    if not truth.bug:
        wrong = [f for f in found if f["severity"] == "error" and f["rule"] in DEFECTS
                 and (truth.tensor == "*" or f["tensor"] == truth.tensor)]
        assert not wrong, f"{truth.reason}, yet {describe(wrong)}"
        return
    tensors = truth.tensor.split()
    right = [f for f in found if f["rule"] in truth.rules and f["tensor"] in tensors]
    assert right, f"{truth.reason}, yet only {describe(found)}"
    surest = max(ORDER.index(f["certainty"]) for f in right)
    assert surest >= ORDER.index(truth.certainty), describe(right)
    if truth.certainty != "certain":
        assert surest < ORDER.index("certain"), describe(right)


def test_what_follows_has_a_root(findings):
    followers = 0
    for run, found in findings.items():
        roots = {f["fingerprint"] for f in found if "root" not in f}
        assert len({f["fingerprint"] for f in found}) == len(found), run
        for finding in found:
            if "root" in finding:
                followers += 1
                assert finding["root"] in roots, f"{run}: {describe([finding])}"
    assert followers > 20


def describe(found: list[dict]) -> str:
    return "; ".join(f"{f['rule']} {f['certainty']} on {f['tensor']}: {f['message']}"
                     for f in found) or "nothing"

"""Every value that ONNX Runtime computes lies in the bounds that mpopt states."""

import concurrent.futures
import multiprocessing
import os
import pathlib

import numpy
import pytest
import soundness
import soundness_cases
import soundness_composites
import soundness_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPOPT = pathlib.Path(os.environ.get("MPOPT_BUILD", ROOT / "build")) / "bin" / "mpopt"
# Each round builds every case REPEATS times and evaluates it SAMPLES times.
ROUNDS = int(os.environ.get("MPOPT_SOUNDNESS_ROUNDS", "10"))
REPEATS, SAMPLES = 10, 20
LISTS = {
    # elementwise ops, data movement, linear ops and pools
    "primitives": soundness_cases.CASES,
    # normalisations, softmax and recurrent cells
    "rows": soundness_rows.CASES,
    # reductions, resampling, signals, lists, quantisation and losses
    "composites": soundness_composites.CASES,
}


def run_round(cases, format, seed):
    return soundness.check_round(MPOPT, LISTS[cases], seed, soundness.FORMATS[format],
                                 REPEATS, SAMPLES)


@pytest.fixture(scope="module")
def rounds(request):
    """Rounds by their parameters, those that were selected, on all cores."""
    wanted = {tuple(item.callspec.params[key] for key in ("cases", "format", "seed"))
              for item in request.session.items
              if getattr(item, "originalname", "") == "test_bounds_hold"}
    with concurrent.futures.ProcessPoolExecutor(
            os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        yield {params: pool.submit(run_round, *params) for params in wanted}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("format", soundness.FORMATS)
@pytest.mark.parametrize("cases", LISTS)
def test_bounds_hold(rounds, cases, format, seed):
    result = rounds[cases, format, seed].result()
    assert not result.complaints, "\n".join(result.complaints.values())
    assert result.compared > SAMPLES * REPEATS * len(LISTS[cases])


def test_a_value_outside_is_seen():
    said = {"lo": -1, "hi": 1, "nan": False, "posinf": False, "neginf": False,
            "min_nonzero": 0.5}
    for values, word in (([1.5], "computed"), ([0.25], "min_nonzero"),
                         ([numpy.nan], "nan"), ([numpy.inf], "posinf")):
        array = numpy.array(values, numpy.float32)
        assert word in soundness.outside("t", array, array, said)
    inside = numpy.array([0.5, -1, 0], numpy.float32)
    assert soundness.outside("t", inside, inside, said) is None

"""Every value that ONNX Runtime computes lies in the bounds that mpopt states."""

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
ROUNDS = int(os.environ.get("MPOPT_SOUNDNESS_ROUNDS", "12"))
LISTS = {
    # elementwise ops, data movement, linear ops and pools
    "primitives": soundness_cases.CASES,
    # normalisations, softmax and recurrent cells
    "rows": soundness_rows.CASES,
    # reductions, resampling, signals, lists, quantisation and losses
    "composites": soundness_composites.CASES,
}


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("cases", LISTS)
def test_bounds_hold(cases, precision, seed, tmp_path):
    complaints, compared = soundness.check_round(MPOPT, LISTS[cases], seed,
                                                 precision == "fp16", tmp_path)
    assert not complaints, "\n".join(complaints)
    assert compared > 10 * len(LISTS[cases])


def test_a_value_outside_is_seen():
    said = {"lo": -1, "hi": 1, "nan": False, "posinf": False, "neginf": False,
            "min_nonzero": 0.5}
    for values, word in (([1.5], "computed"), ([0.25], "min_nonzero"),
                         ([numpy.nan], "nan"), ([numpy.inf], "posinf")):
        array = numpy.array(values, numpy.float32)
        assert word in soundness.outside("t", array, array, said)
    inside = numpy.array([0.5, -1, 0], numpy.float32)
    assert soundness.outside("t", inside, inside, said) is None

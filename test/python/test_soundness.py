"""Every value that ONNX Runtime computes lies in the bounds that mpopt states."""

import os
import pathlib

import numpy
import pytest
import soundness
from soundness_cases import CASES

ROOT = pathlib.Path(__file__).resolve().parents[2]
MPOPT = ROOT / "build" / "bin" / "mpopt"
ROUNDS = int(os.environ.get("MPOPT_SOUNDNESS_ROUNDS", "12"))


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_bounds_hold(seed, precision, tmp_path):
    complaints, compared = soundness.check_round(MPOPT, CASES, seed, precision == "fp16",
                                                 tmp_path)
    assert not complaints, "\n".join(complaints)
    assert compared > 10 * len(CASES)


def test_a_value_outside_is_seen():
    said = {"lo": -1, "hi": 1, "nan": False, "posinf": False, "neginf": False,
            "min_nonzero": 0.5}
    for values, word in (([1.5], "computed"), ([0.25], "min_nonzero"),
                         ([numpy.nan], "nan"), ([numpy.inf], "posinf")):
        array = numpy.array(values, numpy.float32)
        assert word in soundness.outside("t", array, array, said)
    inside = numpy.array([0.5, -1, 0], numpy.float32)
    assert soundness.outside("t", inside, inside, said) is None

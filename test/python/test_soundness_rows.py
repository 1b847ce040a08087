"""Normalisations, softmax and recurrent cells stay in the bounds that mpopt states."""

import os
import pathlib

import pytest
import soundness
from soundness_rows import CASES

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

"""Where values leave their format between what a run recorded: in a cast."""

import math
from collections.abc import Iterable

#: The largest numbers of formats of 16 and 8 bits.
LARGEST = {"f16": 65504.0, "bf16": 3.3895e38, "f8E4M3FN": 448.0, "f8E5M2": 57344.0,
           "f8E4M3FNUZ": 240.0, "f8E5M2FNUZ": 57344.0}


def find_cast(dtype: str, before: tuple[str, str, float] | None,
              parameters: Iterable[tuple[str, str, float]]) -> str:
    """The cast that gave a module Inf whose output in `dtype` is not finite: of a parameter, or of
    the output of the module `before` it, each as name, dtype and largest magnitude. Empty if none
    of them was finite and too large."""
    largest = LARGEST.get(dtype, math.inf)
    for name, own, most in parameters:
        if own != dtype and largest < most < math.inf:
            return f"its parameter '{name}' reaches {most:.3g} in {own}, which a cast to {dtype} makes Inf"
    if before is not None and before[1] != dtype and largest < before[2] < math.inf:
        return f"'{before[0]}' before it reaches {before[2]:.3g} in {before[1]}, which a cast to {dtype} makes Inf"
    return ""

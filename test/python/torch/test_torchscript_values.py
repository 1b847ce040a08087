# test_torchscript_values.py - Values of aten ops within the ranges that mpopt says
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
The expressions of torchscript_op_cases.py with inputs that hold one number each,
so that the ranges of results are narrow: a lowering that mixes up operands,
factors or axes gives other numbers. What PyTorch computes must lie inside, up to
the rounding of the narrowest dtype that takes part.
"""

import pathlib
import re
import tempfile

import pytest

import test_torchscript_ops as ops  # noqa: E402
import torchscript_op_cases as cases  # noqa: E402
from tool import MPOPT, read_ranges

ROUNDING = {"f": 2e-5, "d": 2e-5, "h": 4e-3, "b": 3e-2}


def dump_ranges(text, used):
    """The ranges of the results in order; nothing for one without a range."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model.mlir").write_text(text)
        options = []
        for value in used:
            number = float(cases.number_of(value))
            options += ["--input", f"{value}={number}:{number}"]
        ranges = read_ranges(folder / "model.mlir", "--precision", "auto", *options)["tensors"]
    results = re.search(r"func\.func @main\(.*\) -> \((.*)\) \{", text)[1]
    names = re.findall(r'mp\.name = "((?:[^"\\]|\\.)*)"', results)
    return [ranges.get(name) for name in names]


def outside(result, said, rounding):
    """What of the result is not in the range, or nothing."""
    values = result.double() if result.dtype != ops.torch.bool else result.long()
    values = values.double().flatten()
    finite = values[ops.torch.isfinite(values)]
    low, high = float(said["lo"]), float(said["hi"])
    if finite.numel():
        least, most = finite.min().item(), finite.max().item()
        slack = rounding * max(abs(least), abs(most), 1e-3)
        if least < low - slack or most > high + slack:
            return f"[{least}, {most}] is not in [{low}, {high}]"
    for flag, found in [("nan", values.isnan()), ("posinf", values.isposinf()),
                        ("neginf", values.isneginf())]:
        if found.any() and not said[flag]:
            return f"{flag} is not admitted"
    return None


def check(family):
    """How many results were compared, and the complaints."""
    compared, complaints = 0, []
    legal = list(filter(ops.is_legal, dict.fromkeys(family())))
    for start in range(0, len(legal), ops.CHUNK):
        for module, used, chunk, results in ops.compile_all(
                legal[start:start + ops.CHUNK], []):
            text, message = ops.import_text(module, used)
            assert text is not None, message
            ranges = dump_ranges(text, used)
            assert len(ranges) == len(chunk)
            for expression, result, said in zip(chunk, results, ranges):
                if said is None or not result.numel():
                    continue
                compared += 1
                inputs = re.findall(r"\b[fhbd](?=[0-9A-Za-z]+\b)", expression)
                if "float16" in expression or "half" in expression:
                    inputs.append("h")
                if "bfloat16" in expression:
                    inputs.append("b")
                rounding = max((ROUNDING[x] for x in inputs), default=2e-5)
                problem = outside(result, said, rounding)
                if problem:
                    complaints.append(f"{expression}: {problem}")
    return compared, complaints


@pytest.mark.skipif(
    ops.torch is None or not ops.IMPORTER.exists() or not MPOPT.exists(),
    reason="a family of aten ops not checked: no torch or no mpopt here")
@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda f: f.__name__)
def test_values_are_in_ranges(family):
    compared, complaints = check(family)
    assert compared > 20
    assert not complaints, "\n".join(complaints[:20])

# test_torchscript_ops.py - Types of imported aten ops against eager PyTorch
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Every expression of torchscript_op_cases.py is one of many results of a scripted
function, which PyTorch runs and mpopt imports. Dtypes must be equal, and static
shapes too; a result that mpopt leaves unknown is not an error but may not become
more common. As a program, the file lists what differs (arguments: families).
"""

import functools
import os
import re
import sys
import tempfile
import warnings

import pytest

import torchscript_op_cases as cases  # noqa: E402
from tool import BIN

try:
    import torch
    import torch.nn.functional as F  # noqa: F401: of the expressions
    import torchscript_import
except ImportError:
    torch = None

IMPORTER = BIN / "mpopt-import-torchscript"
CHUNK = 400

# Expressions whose results may stay without a type, by family: what mp has no
# op for, or only in a form that says less than PyTorch knows.
UNKNOWN_SHARE = 0.02


@functools.cache
def values():
    return {name: torch.full(shape, cases.number_of(name),
                             dtype=getattr(torch, dtype))
            for name, (dtype, shape) in cases.INPUTS.items()}


def is_legal(expression):
    """Whether PyTorch has a kernel for it."""
    try:
        result = eval(expression, {"torch": torch, "F": F, **values()})
    except Exception:
        return False
    return isinstance(result, torch.Tensor)


def define(expressions):
    """A module whose forward gives a list of all of them."""
    used = sorted({name for expression in expressions
                   for name in re.findall(r"[A-Za-z_]\w*", expression)
                   if name in cases.INPUTS})
    module = torch.jit.script(type("Ops", (torch.nn.Module,), {})())
    arguments = "".join(f", {name}: Tensor" for name in used)
    # Names are looked up in torch's own frame, which has `torch` only.
    body = ",\n".join(re.sub(r"\bF\.", "torch.nn.functional.", expression)
                      for expression in expressions)
    module.define(f"def forward(self{arguments}) -> List[Tensor]:\n"
                  f"  return [\n{body}\n  ]\n")
    return module, used


def compile_all(expressions, refused):
    """(module, names of inputs, expressions, results) of what TorchScript takes."""
    try:
        module, used = define(expressions)
        results = module(*(values()[name].clone() for name in used))
        yield module, used, expressions, results
    except Exception:
        if len(expressions) == 1:
            refused += expressions
            return
        middle = len(expressions) // 2
        yield from compile_all(expressions[:middle], refused)
        yield from compile_all(expressions[middle:], refused)


def import_text(module, used, dims_known=True):
    """The imported IR, or nothing and the importer's message."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ops.pt")
        module.save(path)
        shapes = []
        for name in used:
            dtype, shape = cases.INPUTS[name]
            dims = "x".join(str(dim) if dims_known else "?"
                            for dim in shape) or "scalar"
            shapes.append(f"{name}={dims}:{cases.MLIR[dtype]}")
        return torchscript_import.read_text(path, shapes)


def result_types(text):
    line = re.search(r"^    return (?:%\S+, )*%\S+ : (.*) loc\(", text, re.M)
    return (re.findall(r"tensor<[^>]*(?:<[^>]*>)?[^>]*>", line[1])
            if line else [])


def expected_type(tensor):
    dtype = str(tensor.dtype).removeprefix("torch.")
    dims = "".join(f"{dim}x" for dim in tensor.shape)
    return f"tensor<{dims}{cases.MLIR.get(dtype, dtype)}>"


class Outcome:
    def __init__(self):
        self.equal = 0
        self.unknown, self.open, self.wrong, self.refused = [], [], [], []

    @property
    def count(self):
        return self.equal + len(self.unknown) + len(self.open) + len(self.wrong)


def compare(expressions, outcome, dims_known=True):
    for module, used, chunk, results in compile_all(expressions,
                                                    outcome.refused):
        text, message = import_text(module, used, dims_known)
        if text is None and len(chunk) > 1:
            middle = len(chunk) // 2
            compare(chunk[:middle], outcome, dims_known)
            compare(chunk[middle:], outcome, dims_known)
            continue
        types = result_types(text) if text else []
        if len(types) != len(chunk):
            outcome.wrong.append((chunk[0], f"{len(chunk)} results",
                                  message or f"{len(types)} types"))
            continue
        for expression, result, found in zip(chunk, results, types):
            wanted = expected_type(result)
            if found == wanted:
                outcome.equal += 1
            elif "!mp.unknown" in found:
                outcome.unknown.append(expression)
            elif fits(found, wanted):
                outcome.open.append((expression, wanted, found))
            else:
                outcome.wrong.append((expression, wanted, found))


def fits(found, wanted):
    """Whether the type only leaves dims open."""
    split = [text[7:-1].split("x") for text in (found, wanted)]
    if split[0][0] == "*":
        return split[0][-1] == split[1][-1]
    return len(split[0]) == len(split[1]) and all(
        have in ("?", want) for have, want in zip(*split))


@functools.cache
def check(family, dims_known=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        legal = list(filter(is_legal, dict.fromkeys(family())))
        outcome = Outcome()
        for start in range(0, len(legal), CHUNK):
            compare(legal[start:start + CHUNK], outcome, dims_known)
    return outcome


needs_torch = pytest.mark.skipif(
    torch is None or not IMPORTER.exists(),
    reason=f"{sum(len(set(f())) for f in cases.FAMILIES)} expressions of aten "
    "ops not checked: no torch here")


@needs_torch
@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda f: f.__name__)
def test_types_equal_eager(family):
    outcome = check(family)
    assert outcome.count > 50 or family is cases.attention
    assert not outcome.wrong, "\n".join(map(str, outcome.wrong[:20]))


@needs_torch
@pytest.mark.parametrize("family", cases.FAMILIES, ids=lambda f: f.__name__)
def test_open_dims_contradict_nothing(family):
    """With the ranks of the inputs only."""
    if family is cases.binary:
        return  # slow, and elementwise like the others
    outcome = check(family, dims_known=False)
    assert not outcome.wrong, "\n".join(map(str, outcome.wrong[:20]))


@needs_torch
def test_few_are_unknown():
    outcomes = [check(family) for family in cases.FAMILIES]
    unknown = [expression for outcome in outcomes
               for expression in outcome.unknown]
    total = sum(outcome.count for outcome in outcomes)
    assert total > 4500
    assert len(unknown) <= UNKNOWN_SHARE * total, "\n".join(unknown[:50])


def main(names):
    for family in cases.FAMILIES:
        if names and family.__name__ not in names:
            continue
        outcome = check(family)
        print(f"{family.__name__}: {outcome.count} expressions, "
              f"{outcome.equal} equal, {len(outcome.open)} with open dims, "
              f"{len(outcome.unknown)} unknown, {len(outcome.wrong)} wrong; "
              f"{len(outcome.refused)} not compiled by TorchScript")
        for kind, entries in [("wrong", outcome.wrong), ("open", outcome.open)]:
            for expression, wanted, found in entries:
                print(f"  {kind}: {expression}: {wanted}, not {found}")
        for expression in outcome.unknown:
            print(f"  unknown: {expression}")
        for expression in outcome.refused:
            print(f"  not compiled: {expression}")


if __name__ == "__main__":
    main(sys.argv[1:])

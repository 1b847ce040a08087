"""CUDA autocast on one-op TorchScript archives, against what PyTorch was seen to do.

The dtypes of Inputs/pytorch_autocast_observed.json are of the first sample of each
OpInfo of PyTorch; here the same sample is traced (on the CPU, without autocast),
saved and imported, and the precision transform must give its results the dtypes
that CUDA autocast gave. Those that autocast changes are compared; with
MPOPT_EVERY_OP=1 in the environment (some minutes) all.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
import unittest
import warnings
from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torchscript_import  # noqa: E402

if not torchscript_import.TOOL.exists():
    pytest.skip("this build has no mpopt-import-torchscript", allow_module_level=True)

HERE = Path(__file__).resolve().parent
OPT = torchscript_import.TOOL.parent / "mpopt-opt"
OBSERVED = json.loads((HERE / "Inputs/pytorch_autocast_observed.json").read_text())["ops"]
PASS = "--mp-apply-precision=mode=autocast-fp16 policy=pytorch-cuda-2.14"
MLIR = {str(dtype).removeprefix("torch."): name
        for dtype, name in torchscript_import.DTYPES.items()}
MLIR |= {"complex32": "complex<f16>", "complex128": "complex<f64>"}

CHUNK = 40
EVERY = bool(os.environ.get("MPOPT_EVERY_OP"))

#: Why an op that autocast changes is not compared.
CHUNKED = "a trace has its parts, autocast saw a function of its own"
LEFT_OUT = {"nn.functional.linear_cross_entropy|chunked": CHUNKED,
            "nn.functional.linear_cross_entropy|chunked_none": CHUNKED,
            "native_group_norm": "mp has the statistics in FP32"}


def op_infos() -> dict:
    # Of its helper module PyTorch's list of samples needs a base class only.
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name + (f"|{op.variant_test_name}" if op.variant_test_name else ""): op
            for op in op_db}


def as_list(value) -> list:
    return value if isinstance(value, list) else [value]


def tensors_in(value) -> list:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value)
            if isinstance(leaf, torch.Tensor)]


class OneOp:
    """An op with its sample: tensors are inputs, the rest is as it is."""

    def __init__(self, name: str, key: str, op):
        self.case = name, key
        dtype = getattr(torch, key.split("/")[1])
        sample = next(iter(op.sample_inputs("cpu", dtype, requires_grad=False)))
        self.op = op.op
        self.leaves, self.spec = torch.utils._pytree.tree_flatten(
            ((sample.input, *sample.args), sample.kwargs))
        self.inputs = [leaf for leaf in self.leaves if isinstance(leaf, torch.Tensor)]
        results = self(*[value.clone() for value in self.inputs])
        self.results = len(results)
        self.off = [str(value.dtype).removeprefix("torch.") for value in results]

    def __call__(self, *inputs) -> list:
        left = list(inputs)
        leaves = [left.pop(0) if isinstance(leaf, torch.Tensor) else leaf
                  for leaf in self.leaves]
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, self.spec)
        return tensors_in(self.op(*args, **kwargs))

    def is_supported(self) -> bool:
        return self.results > 0 and all(
            value.dtype in torchscript_import.DTYPES and value.layout == torch.strided
            for value in self.inputs)


class Ops(torch.nn.Module):
    """Several, beside one another: LibTorch's start costs more than they do."""

    def __init__(self, ops: list[OneOp]):
        super().__init__()
        self.ops = ops

    def forward(self, *inputs):
        left, results = list(inputs), []
        for op in self.ops:
            results += op(*left[:len(op.inputs)])
            del left[:len(op.inputs)]
        return tuple(results)


def result_dtypes(text: str) -> list[str]:
    done = subprocess.run([OPT, PASS, "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    [line] = re.findall(r"^\s*func\.func @main\(.*\) -> (.*) \{$", done.stdout, re.M)
    return re.findall(r"tensor<(?:\*x|(?:[\d?]+x)*)(complex<\w+>|!mp\.unknown|\w+)>", line)


def judge(ops: list[OneOp], path: Path, dtypes: dict, reasons: dict) -> None:
    """The dtypes of the results of each op; one that spoils its archive is found by
    halves."""
    inputs = tuple(value for op in ops for value in op.inputs)
    found = None
    try:
        with torch.no_grad():
            torch.jit.trace(Ops(ops), inputs, check_trace=False).save(str(path))
        graph = torch.jit.load(str(path)).inlined_graph
        names = [re.sub(r"\.\d+$", "", value.debugName())
                 for value in graph.inputs()][1:]
        shapes = [torchscript_import.shape_option(name, value)
                  for name, value in zip(names, inputs)]
        text, _ = torchscript_import.read_text(path, shapes)
        found = result_dtypes(text) if text and len(names) == len(inputs) else None
    except Exception:  # whatever tracing an op throws
        found = None
    if found is not None and len(found) == sum(op.results for op in ops):
        for op in ops:
            dtypes[op.case] = found[:op.results]
            del found[:op.results]
    elif len(ops) > 1:
        middle = len(ops) // 2
        judge(ops[:middle], path, dtypes, reasons)
        judge(ops[middle:], path, dtypes, reasons)
    else:
        reasons[ops[0].case] = "not traced, or not imported"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    path = tmp_path_factory.mktemp("ops") / "ops.pt"
    dtypes, reasons, ops = {}, {}, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        infos = op_infos()
        for name, entry in OBSERVED.items():
            for key in entry:
                if not key.startswith("cuda/") or not (EVERY or changed(name, key)):
                    continue
                try:
                    op = OneOp(name, key, infos[name])
                except KeyError:
                    reasons[name, key] = "no sample of that name"
                except Exception:  # whatever a kernel throws
                    reasons[name, key] = "no kernel on the CPU"
                else:
                    if op.is_supported() and op.off == as_list(entry[key][0]):
                        ops.append(op)
                    elif op.is_supported():
                        reasons[name, key] = "another sample than the observed one"
                    else:
                        reasons[name, key] = "inputs or results that mp has not"
        for start in range(0, len(ops), CHUNK):
            judge(ops[start:start + CHUNK], path, dtypes, reasons)
    return dtypes, reasons


def expected(name: str, key: str) -> list[str]:
    return [MLIR.get(dtype, dtype) for dtype in as_list(OBSERVED[name][key][1])]


def changed(name: str, key: str) -> bool:
    off, on = OBSERVED[name][key]
    return off != on


def test_dtypes_under_cuda_autocast(outcome):
    dtypes, reasons = outcome
    wrong, compared, unknown = [], 0, Counter()
    for (name, key), found in dtypes.items():
        wanted = expected(name, key)
        if name in LEFT_OUT:
            unknown[LEFT_OUT[name]] += 1
            continue
        pairs = list(zip(found, wanted))
        if any(have == "!mp.unknown" for have, _ in pairs) or not pairs:
            unknown["a dtype that is unknown"] += 1
            continue
        compared += 1
        if any(have != want for have, want in pairs):
            wrong.append(f"{name} {key}: PyTorch {wanted}, mpopt {found}")
    left = Counter(reasons.values())
    left.update(unknown)
    print(f"\nCUDA fp16: {compared} results of single ops compared, "
          f"{sum(changed(*case) for case in dtypes)} of those imported are changed by "
          f"autocast, {len(wrong)} mismatches; left out: "
          + ", ".join(f"{count} {reason}" for reason, count in left.most_common()))
    for reason in left:
        names = sorted({name for (name, _), why in reasons.items() if why == reason})
        if len(names) < 40:
            print(f"  {reason}: {', '.join(names)}")
    assert not wrong, "\n".join(wrong)
    assert compared > (700 if EVERY else 90)

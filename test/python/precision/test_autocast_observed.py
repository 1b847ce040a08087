"""Autocast against what PyTorch was seen to do.

Each observed op that has an mp op is built in mp, the precision transform runs
over all of them at once, and the dtypes of the results are compared. Every entry
whose dtype autocast changes must be compared or be named below with a reason.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from autocast_ops import SNIPPETS
from tool import BIN

HERE = Path(__file__).resolve().parent
OPT = BIN / "mpopt-opt"
OBSERVED = json.loads((HERE / "Inputs/pytorch_autocast_observed.json").read_text())["ops"]

MLIR = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
        "int64": "i64", "int32": "i32", "bool": "i1",
        # mp writes complex results as real and imaginary parts, as ONNX does.
        "complex64": "f32", "complex32": "f16", "complex128": "f64"}
MODES = {"cuda": "mode=autocast-fp16 policy=pytorch-cuda-2.14",
         "cpu": "mode=autocast-bf16 policy=pytorch-cpu-2.14"}

# Changed by autocast, and not comparable with one mp op.
DECOMPOSED = "several mp ops in a file"
OTHER = "no such mp op"
LEFT_OUT = {
    **dict.fromkeys(
        ["addmv", "addbmm", "baddbmm", "addr", "trapz", "trapezoid",
         "cumulative_trapezoid", "trace", "nn.functional.linear_cross_entropy",
         "nn.functional.multilabel_soft_margin_loss",
         "nn.functional.triplet_margin_with_distance_loss",
         "nn.functional.pairwise_distance",
         "nn.functional.multi_head_attention_forward", "linalg.vecdot"], DECOMPOSED),
    "mv": "mp.matmul is aten::matmul, which CPU autocast lists, unlike mv",
    "tensordot": "mp.einsum is aten::einsum, which CUDA autocast lists otherwise",
    "native_layer_norm": "mp.layer_norm is aten::layer_norm on the CPU",
    "native_group_norm": "mp.group_norm is aten::group_norm",
    "_upsample_bilinear2d_aa": "mp.resize without antialiasing is tested",
    "nn.functional.pad|replicate_negative": "negative pads are a slice",
    "nn.functional.max_unpool1d|grad": "same op as max_unpool1d",
    "nn.functional.max_unpool2d|grad": "same op as max_unpool2d",
    "nn.functional.max_unpool3d|grad": "same op as max_unpool3d",
    "linalg.norm|subgradients_at_zero": "same op as linalg.norm",
    "nn.functional.fractional_max_pool2d": OTHER,
    "nn.functional.fractional_max_pool3d": OTHER,
}
# Families of which mp has nothing: matrix decompositions and the like.
NO_FAMILY = re.compile(
    r"linalg\.|cholesky|geqrf|lu$|lu_solve|ormqr|orgqr|triangular_solve|svd|pca_|pinverse|"
    r"polar$|quantile|nanquantile|stft|view_as_complex|fft\.(hfft|ihfft)")


def get_reason(name: str) -> str:
    if name in LEFT_OUT:
        return LEFT_OUT[name]
    if NO_FAMILY.search(name):
        return OTHER
    return ""


def get_types(text: str) -> dict[str, list[str]]:
    """The dtypes that each function returns."""
    types = {}
    for line in text.splitlines():
        if match := re.match(r"\s*func\.func @(\w+)\(.*\) -> (.*) \{$", line):
            types[match[1]] = re.findall(r"(bf16|f\d+|u?i\d+)>", match[2])
    return types


def run(text: str, mode: str, path: Path) -> dict[str, list[str]]:
    path.write_text(text)
    done = subprocess.run([OPT, f"--mp-apply-precision={mode}", path],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return get_types(done.stdout)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_dtypes_under_autocast(device: str, tmp_path: Path) -> None:
    functions, expected, left_out, forgotten = [], {}, Counter(), []
    for name, entry in OBSERVED.items():
        for key, dtypes in entry.items():
            if not key.startswith(device):
                continue
            off, on = dtypes
            snippet = SNIPPETS.get(name)
            if snippet and device not in snippet.except_on:
                function = f"f{len(functions)}"
                functions.append(snippet.get_text(function, MLIR[key.split("/")[1]]))
                results = on if isinstance(on, list) else [on]
                expected[function] = (name, key, off != on, [MLIR.get(d, d) for d in results])
            elif off != on:
                reason = get_reason(name)
                left_out[reason] += 1
                if not reason:
                    forgotten.append(name)
    assert not forgotten, f"neither compared nor named with a reason: {forgotten}"

    actual = run("".join(functions), MODES[device], tmp_path / f"{device}.mlir")
    wrong = []
    for function, (name, key, _, dtypes) in expected.items():
        results = actual[function]
        # Where mp has fewer results (optional ones left out) the first count.
        if results != dtypes[:len(results)]:
            wrong.append(f"{name} {key}: PyTorch {dtypes}, mp {results}")
    changed = sum(entry[2] for entry in expected.values())
    print(f"\n{device}: {len(expected)} entries compared, {changed} of them changed by "
          f"autocast; changed ones left out: "
          + (", ".join(f"{count} ({reason})" for reason, count in left_out.items() if count)
             or "none"))
    assert not wrong, "\n".join(wrong)
    assert changed > 0

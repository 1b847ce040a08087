"""mpopt's types against the ONNX library's own inference, on every model at
hand: each value for which ONNX infers a type has an equal or a finer one in the
imported IR, none that contradicts it, and nothing that ONNX knows is unknown.

Values are found by their names in the locations of `mpopt --emit-mlir`."""

import os
import pathlib
import re

import onnx
import pytest
from tool import SHARED, run_mpopt

MODELS = SHARED / "onnx"
EXTRA = os.environ.get("MPOPT_MODELS", "")

ELEMENT = {
    1: "f32", 2: "ui8", 3: "i8", 4: "ui16", 5: "i16", 6: "i32", 7: "i64",
    8: "!mp.string", 9: "i1", 10: "f16", 11: "f64", 12: "ui32", 13: "ui64",
    14: "complex<f32>", 15: "complex<f64>", 16: "bf16", 17: "f8E4M3FN",
    18: "f8E4M3FNUZ", 19: "f8E5M2", 20: "f8E5M2FNUZ", 21: "ui4", 22: "i4",
    23: "f4E2M1FN", 24: "f8E8M0FNU", 25: "ui2", 26: "i2",
}


def find_models():
    models = sorted(MODELS.glob("*.onnx")) if MODELS.is_dir() else []
    for pattern in filter(None, EXTRA.split(":")):
        models += sorted(pathlib.Path("/").glob(pattern.lstrip("/")))
    return models


def split_top(text):
    """Splits at commas outside brackets and strings."""
    parts, depth, quoted, start = [], 0, False, 0
    for index, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif char in "<([{":
            depth += 1
        elif char in ">)]}" and not text[index - 1] == "-":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return parts


def read_types(ir):
    """Value name -> types of the results that carry it in the main graph."""
    names = {}
    origin = re.compile(
        r'^(#loc\d*) = loc\(fused<#mp\.origin<"((?:[^"\\]|\\.)*)", '
        r'"((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)", \[(.*)\]>>\[', re.M)
    for match in origin.finditer(ir):
        names[match[1]] = (match[4], [n[1:-1] for n in split_top(match[5])])
    types, open_ops = {}, []
    for line in ir.splitlines():
        line = line.strip()
        location = re.search(r" loc\((#loc\d*)\)$", line)
        if line.endswith("{"):
            # An op with regions: its location follows the last of them.
            if not line.startswith("}"):
                open_ops.append(result_types(line[:-1]))
            continue
        if line.startswith("}"):
            kinds = open_ops.pop() if open_ops else []
            if location:
                kinds = result_types(line[:location.start()]) or kinds
        elif line.startswith("%") and location:
            kinds = result_types(line[:location.start()])
        else:
            continue
        if location and location[1] in names:
            for value, kind in zip(names[location[1]][1], kinds):
                if value:
                    types.setdefault(value, []).append(kind)
    return types


def result_types(op):
    """The types behind the last ` : ` of an op, or behind its `->`."""
    start = op.rfind(" : ")
    if start < 0:
        return []
    results = op[start + 3:].strip()
    if "->" in results:
        results = results[results.rindex("->") + 2:].strip()
    if results.startswith("("):
        results = results[1:results.rindex(")")]
    return split_top(results)


def parse_tensor(kind):
    """Element type and dims (None: unknown rank; -1: unknown dim)."""
    match = re.fullmatch(r"tensor<(.*)>", kind)
    if not match:
        return None
    text, dims = match[1], []
    if text.startswith("*x"):
        return text[2:], None
    while part := re.match(r"(\d+|\?)x", text):
        dims.append(-1 if part[1] == "?" else int(part[1]))
        text = text[part.end():]
    return text, dims


def compare(name, proto, kind):
    """What ONNX knows better, or otherwise; None if nothing."""
    parsed = parse_tensor(kind)
    if parsed is None:
        return f"{name}: a tensor in ONNX, {kind} here"
    element, dims = parsed
    expected = ELEMENT.get(proto.elem_type)
    if expected and element != expected:
        return f"{name}: {expected} in ONNX, {kind} here"
    if not proto.HasField("shape"):
        return None
    shape = [d.dim_value if d.HasField("dim_value") else -1
             for d in proto.shape.dim]
    if dims is None or len(dims) != len(shape):
        return f"{name}: {shape} in ONNX, {kind} here"
    for ours, theirs in zip(dims, shape):
        if theirs >= 0 and ours != theirs:
            return f"{name}: {shape} in ONNX, {kind} here"
    return None


def test_models_are_there():
    """In CI a missing folder is a failure, not a skip."""
    if not find_models():
        assert not os.environ.get("CI"), f"no models in {MODELS}"
        pytest.skip(f"no models in {MODELS}")


@pytest.mark.parametrize("path", find_models(), ids=lambda path: path.stem)
def test_agreement(path):
    run = run_mpopt("--emit-mlir", path, timeout=600)
    assert run.returncode == 0, run.stderr
    ours = read_types(run.stdout)
    model = onnx.load(path, load_external_data=False)
    # What the file itself declares is not inference, and may be stale.
    del model.graph.value_info[:]
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    stale = set(re.findall(r"'([^']*)' is declared as", run.stderr))
    problems, compared = [], 0
    for info in inferred.graph.value_info:
        if not info.type.HasField("tensor_type") or info.name in stale:
            continue
        kinds = ours.get(info.name)
        if kinds is None:
            problems.append(f"{info.name}: not in the IR")
            continue
        compared += 1
        reasons = [compare(info.name, info.type.tensor_type, kind)
                   for kind in kinds]
        if all(reasons):
            problems.append(reasons[0])
    print(f"{path.name}: {compared} values compared")
    assert not problems, "\n".join(problems[:50])
    assert compared or not inferred.graph.value_info

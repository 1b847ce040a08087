"""Models nested deeper than anyone's: no stack may overflow."""

import os
import random
import subprocess
import zipfile

import pytest
from onnx import helper

from bad_input import (GIGABYTE, MLP, SECONDS, check, graph, model, node, peak_memory,
                       refused, run)
from tool import BIN


def field(number, payload):
    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])
    return varint(number << 3 | 2) + varint(len(payload)) + payload


@pytest.mark.parametrize("wrap", [
    lambda inner: field(1, field(5, field(6, inner))),    # graph attributes
    lambda inner: field(1, field(5, field(11, inner))),   # lists of them
], ids=["graph", "graphs"])
def test_deep_messages(wrap, tmp_path):
    inner = b""
    for _ in range(2000):
        inner = wrap(inner)
    check(tmp_path, b"\x08\x08" + field(7, inner))


def test_deep_type(tmp_path):
    proto = field(1, b"\x08\x01")
    for _ in range(2000):
        proto = field(4, field(1, proto))  # sequence(sequence(...))
    check(tmp_path, b"\x08\x08" + field(7, field(11, field(1, b"x") +
                                                  field(2, proto))))


def nested_ifs(depth):
    """`If` in `If`, put together by hand: Python's protobuf stops at 100."""
    leaf = graph([node("Relu", ["x"], ["t"])], [], ["t"]).SerializeToString()
    inner = leaf
    for level in range(depth):
        branches = b"".join(
            field(5, field(1, name) + b"\xa0\x01\x05" + field(6, branch))
            for name, branch in [(b"then_branch", inner), (b"else_branch", leaf)])
        call = field(1, b"c") + field(2, b"t") + field(4, b"If") + branches
        inner = field(1, call) + field(2, b"g") + graph(
            [], [], ["t"]).SerializeToString()
    inputs = b"".join(
        field(11, helper.make_tensor_value_info(name, kind, dims)
              .SerializeToString()) for name, kind, dims in [("x", 1, [2]),
                                                             ("c", 9, [])])
    return b"\x08\x08" + field(7, inner + inputs) + field(8, b"\x10\x11")


@pytest.mark.parametrize("precision", ["as-is", "fp16", "autocast-bf16"])
def test_deep_if_within_limits(precision, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(nested_ifs(60))
    done = run("--check", path, "--precision", precision)
    assert done.returncode == 0, done.stderr
    bytecode = tmp_path / "model.mlirbc"
    assert run("--emit-mlir", path, "-o", bytecode).returncode == 0
    assert run("--check", bytecode, "--precision", precision).returncode == 0


def test_deep_if(tmp_path):
    check(tmp_path, nested_ifs(2000), "nested more than")


@pytest.mark.parametrize("text", [
    "graph { " + "node { attribute { g { " * 2000 + "} } } " * 2000 + " }",
    "graph { " + "node { attribute { g { " * 2000,
    '<ir_version: 8, opset_import: ["" : 17]> g () => () '
    + "{ y = If (c) <then_branch = g () => () " * 2000,
    '<ir_version: 8, opset_import: ["" : 17]> g (' + "seq(" * 300000,
    "module " + "{ module " * 2000 + "}" * 2000,
    "func.func @f(%a: " + "tuple<" * 300000,
    "module attributes {a = " + "[" * 300000,
    "module attributes {a = " + "-" * 300000,
    "func.func @f() { %0 = \"mp.opaque\"() {a = dense<" + "[" * 3000,
    "func.func @f(" + "(" * 300000,
    "func.func private @f(%a: " + "() -> " * 300000,
    "module {} loc(" + "fused[" * 300000,
    "module {} loc(" + 'callsite("a" at ' * 300000,
    "#a = affine_map<(d0) -> (" + "-" * 300000,
    "#a = affine_map<(d0) -> (d0" + " + d0" * 300000,
    "func.func @f(%a: " + "!mp.sequence<" * 300000,
    "module attributes {a = " + "#mp.idiom<" * 300000,
], ids=range(17))
def test_deep_text(text, tmp_path):
    check(tmp_path, text.encode())


@pytest.mark.parametrize("depth", [2000, 20000])
def test_deep_bytecode(depth, tmp_path):
    """Bytecode has no brackets to count before it is read."""
    text = tmp_path / "deep.mlir"
    text.write_text("module {\n" * depth + "}\n" * depth)
    bytecode = tmp_path / "model"
    subprocess.run(["bash", "-c", 'ulimit -s unlimited && exec "$@"', "bash",
                    BIN / "mpopt-opt", "--emit-bytecode", text, "-o",
                    bytecode], check=True, timeout=10 * SECONDS)
    data = bytecode.read_bytes()
    bytecode.unlink()
    text.unlink()
    check(tmp_path, data, "nested more than")


def test_damaged_bytecode(tmp_path):
    path = tmp_path / "model.mlirbc"
    source = tmp_path / "model.onnx"
    source.write_bytes(MLP.SerializeToString())
    assert run("--emit-mlir", source, "-o", path).returncode == 0
    data = path.read_bytes()
    for size in range(4, len(data), max(1, len(data) // 24)):
        path.write_bytes(data[:size])
        refused(run("--check", path))
    for seed in range(40):
        rng = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(4, len(data))] = rng.randrange(256)
        path.write_bytes(damaged)
        done = run("--check", path)
        if done.returncode not in (0, 1):
            refused(done)
    # Counts that MLIR's reader believes.
    for at in range(4, len(data), max(1, len(data) // 40)):
        path.write_bytes(data[:at] + b"\0" + b"\x7f" * 8 + data[at + 9:])
        done = run("--check", path)
        if done.returncode not in (0, 1):
            refused(done)


def test_recursive_functions(tmp_path):
    def function(name, *calls):
        return helper.make_function(
            "local", name, ["u"], ["v"],
            [helper.make_node(call, ["u"], ["v"], domain="local")
             for call in calls],
            [helper.make_opsetid("local", 1)])
    call = helper.make_node("F", ["x"], ["y"], domain="local")
    check(tmp_path, model([call], ["x"], ["y"], functions=[function("F", "F")]))
    check(tmp_path, model([call], ["x"], ["y"],
                          functions=[function("F", "G"), function("G", "H"),
                                     function("H", "F")]))


def test_functions_blow_up(tmp_path):
    """2^40 nodes out of 80."""
    functions = []
    for level in range(40):
        op, domain = (f"F{level + 1}", "local") if level < 39 else ("Relu", "")
        functions.append(helper.make_function(
            "local", f"F{level}", ["u"], ["v"],
            [helper.make_node(op, ["u"], ["t"], domain=domain),
             helper.make_node(op, ["t"], ["v"], domain=domain)],
            [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)]))
    path = tmp_path / "model.onnx"
    path.write_bytes(model([helper.make_node("F0", ["x"], ["y"],
                                             domain="local")],
                           ["x"], ["y"], functions=functions))
    peak, done = peak_memory("--check", path)
    refused(done, "expand")
    assert peak < 2 * GIGABYTE


def test_deep_function_calls(tmp_path):
    functions = [helper.make_function(
        "local", f"F{level}", ["u"], ["v"],
        [helper.make_node(f"F{level + 1}" if level < 2999 else "Relu", ["u"],
                          ["v"], domain="local" if level < 2999 else "")],
        [helper.make_opsetid("local", 1), helper.make_opsetid("", 17)])
        for level in range(3000)]
    path = tmp_path / "model.onnx"
    path.write_bytes(model([helper.make_node("F0", ["x"], ["y"],
                                             domain="local")],
                           ["x"], ["y"], functions=functions))
    done = run("--check", path)
    if done.returncode not in (0, 1):
        refused(done)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000], ids=["list", "object"])
@pytest.mark.parametrize("place", ["onnx", "torchscript", "target", "policy"])
def test_deep_json(place, text, tmp_path):
    """What undoes probes, and tables of a user's own."""
    path = tmp_path / "file"
    path.write_bytes(MLP.SerializeToString())
    arguments = ["--strip", path, "-o", tmp_path / "out"]
    if place == "onnx":
        entry = field(1, b"mpopt.undo") + field(2, text.encode())
        path.write_bytes(MLP.SerializeToString() + field(14, entry))
    elif place == "torchscript":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("m/constants.pkl", b"")
            archive.writestr("m/extra/mpopt_undo.json", text)
    else:
        table = tmp_path / "table.json"
        table.write_text(text)
        arguments = ["--check", path, f"--{place}", table]
    before = sorted(os.listdir(tmp_path))
    error = refused(run(*arguments))
    assert len(error.splitlines()) == 1 and ("nested too deep" in error or "damaged" in error)
    assert sorted(os.listdir(tmp_path)) == before

"""Models with names that no exporter writes: long ones, and ones with control
characters. Neither may cost memory, or write lines of their own into a report."""

import json
import os
import re
import subprocess
import sys

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, parser

from bad_input import GIGABYTE, peak_memory, refused, run
from tool import BUILD, ROOT


import mpopt

LIBRARY = BUILD / "lib" / "libmpopt_record.so"
RECORD = ROOT / "test" / "Tools" / "mpopt" / "Inputs" / "record.py"


def chain(count, first, last):
    names = [first, *(f"v{i}" for i in range(count - 1)), last]
    return [helper.make_node("Exp", [names[i]], [names[i + 1]]) for i in range(count)]


def info(name, kind=TensorProto.FLOAT, dims=(2,)):
    return helper.make_tensor_value_info(name, kind, dims)


def with_body(node, branch="then_branch", count=300):
    """An If whose first branch has `count` nodes, named by the path of that body."""
    body = helper.make_graph(chain(count, "x", "b"), "b", [], [info("b")])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [], [info("e")])
    call = helper.make_node("If", ["c"], ["y"], name=node, then_branch=body,
                            else_branch=other)
    graph = helper.make_graph([call], "g", [info("x"), info("c", TensorProto.BOOL, [])],
                              [info("y")])
    return model(graph)


def model(graph, domains=()):
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(name, 1) for name in domains)]
    return helper.make_model(graph, ir_version=9, opset_imports=opsets)


# --- Long names ---


def nested(length):
    """Bodies that are short each and long together."""
    inner = helper.make_graph(chain(2, "x", "b"), "b", [], [info("b")])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "e", [], [info("e")])
    for level in range(4):
        call = helper.make_node("If", ["c"], [f"y{level}"], name="n" * (length // 4),
                                then_branch=inner, else_branch=other)
        inner = helper.make_graph([call], "b", [], [info(f"y{level}")])
    return model(helper.make_graph(
        [call], "g", [info("x"), info("c", TensorProto.BOOL, [])], [info("y3")]))


LONG = {
    "body": lambda length: with_body("n" * length),
    "nested": nested,
    "node": lambda length: model(helper.make_graph(
        [helper.make_node("Exp", ["x"], ["y"], name="n" * length)], "g", [info("x")],
        [info("y")])),
    "value": lambda length: model(helper.make_graph(
        [helper.make_node("Exp", ["x"], ["n" * length])], "g", [info("x")],
        [info("n" * length)])),
    "input": lambda length: model(helper.make_graph(
        [helper.make_node("Exp", ["n" * length], ["y"])], "g", [info("n" * length)],
        [info("y")])),
    "type": lambda length: model(helper.make_graph(
        [helper.make_node("N" * length, ["x"], ["y"], domain="d")], "g", [info("x")],
        [info("y")]), domains=["d"]),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_names(kind, tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "out"
    onnx.save(LONG[kind](100_000), path)
    for arguments in (["--check", path, "--precision", "fp16", "-o", out],
                      ["--instrument", path, "--probe", "all", "-o", out]):
        peak, done = peak_memory(*arguments)
        refused(done, "MPI405")
        assert len(done.stderr) < 1000 and peak < GIGABYTE // 4
    assert os.listdir(tmp_path) == ["m.onnx"]
    # What is long for a person is no trouble.
    onnx.save(LONG[kind](2000), path)
    done = run("--instrument", path, "--probe", "all", "-o", out)
    assert done.returncode == 0, done.stderr


def test_long_names_in_mlir(tmp_path):
    """Ops may share a location, and so a name."""
    path = tmp_path / "m.mlir"
    ops = "".join(f"%{i + 1} = mp.exp %{i} : (tensor<2xf32>) -> tensor<2xf32> loc(#where)\n"
                  for i in range(300))
    path.write_text(f"""#where = loc(fused<#mp.origin<"{"n" * 100_000}", "Exp", "">>[unknown])
func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {{
{ops}return %300 : tensor<2xf32> }}""")
    refused(run("--check", path), "MPI405")


# --- Control characters ---

EVIL = "a\x1b[31m\nmpopt: error: b\r\t\x07\x7f\u0085\u2028\u202e"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\ufffe]")


def spell(data):
    """Protobuf takes valid UTF-8 only; a file may hold anything."""
    return data.replace(b"Q" * len(EVIL.encode() + b"\xff"), EVIL.encode() + b"\xff")


@pytest.fixture
def evil(tmp_path):
    """Everything that has a name, in a graph with findings."""
    name = "Q" * len(EVIL.encode() + b"\xff")
    graph = helper.make_graph(
        [helper.make_node("Exp", [name], ["v" + name], name="e" + name),
         helper.make_node("F" + name, ["v" + name], ["w" + name], domain="d"),
         helper.make_node("Mul", ["v" + name, "v" + name], ["y" + name], name="m" + name,
                          doc_string=f'File "{name}.py", line 12, in f')],
        "g", [info(name)], [info("y" + name), info("w" + name)])
    path = tmp_path / "m.onnx"
    path.write_bytes(spell(model(graph, domains=["d"]).SerializeToString()))
    return path


def plain(done, statuses=(0, 1)):
    """The lines of the streams; nothing but text is in them."""
    assert done.returncode in statuses, done.stderr
    out, error = done.stdout.decode(), done.stderr.decode()
    assert not CONTROL.search(out + error), (out, error)
    lines = error.splitlines()
    assert all(line.startswith(("mpopt: warning: ", "mpopt: error: ")) for line in lines)
    assert sum(line.startswith("mpopt: error: ") for line in lines) == (done.returncode == 2)
    assert not any("mpopt: error: b" in line[:20] for line in out.splitlines())
    return out


@pytest.mark.parametrize("options", [[], ["--safe-input"], ["--precision", "fp16"]])
def test_text_report(options, evil):
    out = plain(run("--check", evil, "--min-certainty", "possible", *options))
    assert r"a\x1b[31m\nmpopt: error: b\r\t\x07\x7f\u0085\u2028\u202e" in out


def test_other_actions(evil, tmp_path):
    plain(run("--emit-mlir", evil))
    plain(run("--instrument", evil, "--probe", "all", "-o", tmp_path / f"p{EVIL}"))
    plain(run("--instrument", evil, "--probe", "all", "-o", tmp_path / "p"))
    record = tmp_path / "r.mprec"
    subprocess.run([sys.executable, RECORD, LIBRARY, tmp_path / "p.probes.json", record,
                    "0:f32:1,2,3,900", "1:f32:1,2,3,inf", b"runtime=r\x1b[31m\n\xff\r"],
                   check=True)
    out = plain(run("--confirm", record, "--ledger", tmp_path / "p.probes.json"))
    assert r"(r\x1b[31m\n" in out and r"a\x1b[31m\nmpopt: error: b" in out
    json.loads(run("--confirm", record, "--ledger", tmp_path / "p.probes.json", "--format",
                   "json").stdout)


@pytest.mark.parametrize("arguments", [
    ["--check", f"none{EVIL}"], ["--check", b"none\xff\xfe"], ["--select", EVIL],
    ["--policy", EVIL], ["--dim", EVIL], ["--input", EVIL], ["--set", EVIL], [EVIL],
    ["-o", f"none/{EVIL}"], ["--input-shape", f"{EVIL}=1x2"], [f"--{EVIL}"],
    ["--keep-fp32", f"none/{EVIL}"], ["--explain", EVIL]], ids=ascii)
def test_errors(arguments, evil):
    if arguments[0] not in ("--check", "--explain"):
        arguments = ["--check", evil, *arguments]
    plain(run(*arguments), statuses=(2,))


def test_importer_errors(tmp_path):
    graph = helper.make_graph([helper.make_node("Exp", ["no\x1b\n"], ["y"], name="e\u2028")],
                              "g", [info("x")], [info("y")])
    path = tmp_path / "m.onnx"
    path.write_bytes(model(graph).SerializeToString())
    plain(run("--check", path), statuses=(2,))


def test_patterns_of_names(tmp_path):
    """A list for autocast has a line for each op, and matches its name."""
    name = "a\nb\r\x1b\u2028.c"
    graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"], name=name)], "g",
                              [info("x")], [info("y")])
    path, keep = tmp_path / "m.onnx", tmp_path / "k.autocast.txt"
    onnx.save(model(graph), path)
    run("--check", path, "--precision", "fp16", "--input", "x=0:100", "--keep-fp32", keep)
    [pattern] = keep.read_text().splitlines()
    assert re.match(pattern, name) and not re.match(pattern, name + "x")


def test_from_python(evil, tmp_path):
    with pytest.raises(mpopt.Error) as raised:
        mpopt.check(os.fsdecode(os.fsencode(tmp_path) + b"/none\xff"))
    assert len(str(raised.value).splitlines()) == 1
    assert mpopt.check(evil, precision="fp16").findings


# --- Names that probes have ---


def probes_by_hand(kind):
    relu = helper.make_node("Relu", ["x"], ["y"])
    nodes, options = [relu], {}
    if kind == "function":
        options["functions"] = [helper.make_function(
            "mpopt", "Probe", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])],
            [helper.make_opsetid("", 17)])]
    elif kind == "op":
        nodes.append(helper.make_node("Probe", ["x"], [], domain="mpopt"))
    elif kind == "node":
        relu.name = "mpopt.probe.3"
    elif kind == "value":
        nodes = [helper.make_node("Relu", ["x"], ["mpopt.probe.0.counts"]),
                 helper.make_node("Exp", ["mpopt.probe.0.counts"], ["y"])]
    elif kind == "constant":
        options["initializer"] = [helper.make_tensor("mpopt.float.1", TensorProto.FLOAT, [1], [1])]
    elif kind == "body":
        body = helper.make_graph([helper.make_node("Probe", ["x"], [], domain="mpopt"),
                                  helper.make_node("Neg", ["x"], ["b"])], "b", [], [info("b")])
        nodes = [helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)]
    functions = options.pop("functions", [])
    inputs = [info("x"), info("c", TensorProto.BOOL, [])]
    made = model(helper.make_graph(nodes, "g", inputs, [info("y")], **options), ["mpopt"])
    made.functions.extend(functions)
    return made


@pytest.mark.parametrize("options", [["--probe-with", "op"], ["--probe-with", "outputs"]])
@pytest.mark.parametrize("kind", ["function", "op", "node", "value", "constant", "body"])
def test_names_of_probes(kind, options, tmp_path):
    """With probes, no runtime would load it."""
    path = tmp_path / "m.onnx"
    path.write_bytes(probes_by_hand(kind).SerializeToString())
    refused(run("--instrument", path, "-o", tmp_path / "out", "--probe", "all", *options),
            "mpopt")
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.parametrize("how", ["op", "outputs"])
def test_lost_metadata(how, tmp_path):
    """What a tool leaves of a probed model."""
    path, probed, again = (tmp_path / name for name in ("m.onnx", "probed", "again"))
    onnx.save(model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g",
                                      [info("x")], [info("y")]), ["mpopt"]), path)
    options = ["--probe", "all", "--probe-with", how]
    assert run("--instrument", path, "-o", probed, *options).returncode == 0
    left = onnx.load(probed)
    del left.metadata_props[:]
    onnx.save(left, probed)
    refused(run("--instrument", probed, "-o", again, *options), "has probes")


def test_a_name_that_is_the_path_of_another(tmp_path):
    """Neither has a probe, rather than one that stands for both."""
    parsed = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[N] x, bool c) => (float[N] y, float[N] w) {
      y = If (c) <then_branch = one () => (float[N] t) { t = Exp (x) },
                  else_branch = two () => (float[N] u) { u = Neg (x) }>
      other = Abs (x)
      w = Log (other)
    }""")
    nodes = parsed.graph.node
    nodes[0].name, path = "if", "if/then_branch/t"
    nodes[1].output[0] = nodes[2].input[0] = path
    onnx.save(parsed, tmp_path / "m.onnx")
    probed = mpopt.instrument(tmp_path / "m.onnx", tmp_path / "p.onnx", probe="all",
                              precision="fp16")
    assert path not in [probe.tensor for probe in probed.probes]
    assert "same path" in probed.unprobed[path]
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.run(None, {"x": numpy.array([12, 1], numpy.float32), "c": numpy.array(True)})
    session.recorder.close()
    verdict = mpopt.confirm(session.recorder.path, probed.ledger)
    # Each by its own operand or result; the logarithm's by what is in front of its operand.
    assert sorted((finding.op.name, finding.observed.raw["tensor"]) for finding in verdict.findings
                  if finding.op.name != "if") == [("Exp_0", "x"), ("Log_2", "w"), ("Log_2", "x")]

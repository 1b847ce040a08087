"""Ops of a project's own: entries of mpopt.toml, and `mpopt.try_op`, which writes them."""

import json

import numpy as np
import pytest
from onnx import TensorProto, checker, helper, numpy_helper, save
from tool import run_mpopt

#: An entry that is right everywhere, of an op that gives numbers as a normalisation does.
FLASH = {"range": "-8:8", "mean": 0, "std": 1, "slope": 1.0, "dtypes": ["f32", "f16"],
         "accumulator": "f32"}


def entry(name="com.acme::FlashThing", **facts):
    return f'[ops."{name}"]\n' + "\n".join(f"{key} = {json.dumps(value)}" for key, value in facts.items())


def model(path, inputs=("a",), op_type="FlashThing", last=True):
    """A product, the op, and a product behind it."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array((rng.normal(size=(64, 64)) / 8).astype(np.float32), name)
               for name in ("w", "v")]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="first"),
             helper.make_node(op_type, list(inputs), ["b" if last else "y"], name="flash", domain="com.acme")]
    if last:
        nodes.append(helper.make_node("MatMul", ["b", "v"], ["y"], name="last"))
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])], weights)
    made = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)])
    checker.check_model(made)
    save(made, str(path))
    return path


def check(path, *options):
    done = run_mpopt("--check", path, "--format", "json", *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def project(tmp_path):
    def make(settings="", **more):
        (tmp_path / "mpopt.toml").write_text(settings)
        return model(tmp_path / "m.onnx", **more)
    return make


def test_unknown_becomes_a_verdict(project):
    status, before = check(project(), "--precision", "fp16")
    assert "next: state in mpopt.toml what com.acme::FlashThing does" in run_mpopt(
        "--check", project(), "--precision", "fp16").stdout
    assert "FlashThing" in before["effects"][0]["unknown"] and before["effects"][0]["expected_error"] is None
    status, after = check(project(entry(**FLASH)), "--precision", "fp16")
    # Three roundings and two products in FP16, as any such chain.
    assert status == 0 and 1e-4 < after["effects"][0]["expected_error"] < 5e-3
    assert after["coverage"]["modelled"] == after["coverage"]["ops"] == 3
    assert check(project(entry(**FLASH), last=False), "--precision", "fp16")[0] == 0


@pytest.mark.parametrize("dtypes, precision, fails", [
    (["f16"], "as-is", True), (["f16"], "fp16", False), (["f32"], "as-is", False), (["f32"], "fp16", True),
    (["f32", "f16"], "as-is", False), (["f32", "f16"], "fp16", False), ([], "as-is", True), ([], "fp16", True),
    (["f32"], "autocast-fp16", True), (["f16"], "autocast-fp16", False), (["f32", "f16"], "bf16", True)])
def test_planted(project, dtypes, precision, fails):
    status, report = check(project(entry(**{**FLASH, "dtypes": dtypes})), "--precision", precision)
    found = [finding["rule"] for finding in report["findings"] if finding["severity"] == "error"]
    assert (status == 1, "MP110" in found) == (fails, fails)
    # A wrong result is not close to the right one.
    error = report["effects"][0]["expected_error"] if precision != "as-is" else None
    assert error is None or (error > 0.5 if fails else error < 0.02), error


def test_keep_list_repairs(project, tmp_path):
    path = project(entry(**{**FLASH, "dtypes": ["f32"]}))
    check(path, "--precision", "fp16", "--keep-fp32", tmp_path / "keep.txt")
    assert "flash" in [kept["name"] for kept in json.loads((tmp_path / "keep.txt").read_text())["ops"]]


def test_facts_count(project):
    def error(**facts):
        return check(project(entry(**{**FLASH, **facts})), "--precision", "fp16")[1]["effects"][0]["expected_error"]

    plain = error()
    assert error(accumulator="f16", terms=4096) > 3 * plain
    # The operand of the op is off by as much, and its error grows by the slope.
    assert error(slope=10) > 3 * plain
    status, report = check(project(entry(**{**FLASH, "range": "-1e6:1e6", "mean": 0, "std": 3e5})),
                           "--precision", "fp16")
    assert status == 1 and report["findings"][0]["rule"] == "MP201"


def test_training_step(project):
    done = run_mpopt("--check", project(entry(**FLASH)), "--train", "--loss", "mse", "--precision",
                     "autocast-fp16", "--format", "json")
    report = json.loads(done.stdout)
    rms = {row["parameter"]: row["likely"]["rms"] for row in report["training"]["gradients"]}
    assert "not modelled" not in done.stderr and rms["w"] > 0
    # A slope of 1 leaves the gradient's size, which a product with v passes on.
    assert 0.2 < rms["w"] / rms["v"] < 5


@pytest.mark.parametrize("facts, message", [
    ({"range": None}, "'range' is missing"), ({"range": "8"}, "is not LO:HI"), ({"range": "0:inf"}, "is not finite"),
    ({"slope": -1}, "no such number"), ({"slope": [1, 2]}, "1 operands and 2 slopes"), ({"dtypes": ["fp16"]}, "no dtype"),
    ({"like": 3}, "no operand 3"), ({"bounds": 1}, "there is no 'bounds'"), ({"mean": None}, "go together"),
    ({"mean": 9}, "outside of the range"), ({"shape": [4, 2.5]}, "no such number"), ({"shape": [4, 3]}, "do not fit")])
def test_bad_entries(project, facts, message):
    stated = {key: value for key, value in {**FLASH, **facts}.items() if value is not None}
    done = run_mpopt("--check", project(entry(**stated)), "--precision", "fp16")
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_option(project):
    path = project()
    status, report = check(path, "--precision", "fp16", "--op",
                           "com.acme::FlashThing=range=-8:8;slope=1;dtypes=f32,f16")
    assert status == 0 and report["effects"][0]["expected_error"] < 5e-3
    assert run_mpopt("--check", path, "--op", "x").returncode == 2
    # An entry of an op that the model does not have changes nothing.
    assert check(path, "--op", "other=range=0:1;slope=0;dtypes=f32")[0] == 0

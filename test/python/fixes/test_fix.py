"""mpopt --fix writes tried fixes into the constants of a file."""

import mpopt
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

EPSILON, RAISED = np.float32(1e-10), 2.0**-14
JUDGED = ("--precision", "fp16", "--input", "x=-50:50", "--input", "x~0,15")


def model_with(epsilon, initializer=None):
    """1 / (softmax(x) + epsilon)"""
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=1), helper.make_node("Add", ["s", "eps"], ["a"], "add"),
             helper.make_node("Reciprocal", ["a"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 16]) for name in "xy")
    graph = helper.make_graph([epsilon] * (epsilon is not None) + nodes, "g", [x], [y], initializer or [])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def as_attribute():
    return model_with(helper.make_node("Constant", [], ["eps"], value_float=float(EPSILON)))


def as_tensor():
    return model_with(helper.make_node("Constant", [], ["eps"], value=numpy_helper.from_array(EPSILON)))


def as_raw():
    return model_with(None, [numpy_helper.from_array(np.array([EPSILON, 0, 1], np.float32)[:1], "eps")])


def as_floats():
    return model_with(None, [helper.make_tensor("eps", TensorProto.FLOAT, [1], [float(EPSILON)])])


def epsilon_of(path):
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "Constant":
            value = helper.get_attribute_value(node.attribute[0])
            return float(numpy_helper.to_array(value)) if isinstance(value, TensorProto) else value
    return float(numpy_helper.to_array(model.graph.initializer[0])[0])


@pytest.mark.parametrize("make", [as_attribute, as_tensor, as_raw, as_floats])
def test_raises_an_epsilon(tmp_path, make):
    path, out, again = tmp_path / "m.onnx", tmp_path / "out.onnx", tmp_path / "again.onnx"
    onnx.save(make(), path)
    run = run_mpopt("--fix", path, "-o", out, *JUDGED)
    assert run.stdout.startswith("eps: 1e-10 -> 6.10352e-05\n  MP203 at add: raise the epsilon")
    assert run.returncode == 1  # a probability is 0 still
    assert epsilon_of(out) == RAISED
    onnx.checker.check_model(out, full_check=True)
    before, after = path.read_bytes(), out.read_bytes()
    if make is not as_floats:  # their numbers become raw bytes
        assert len(before) == len(after) and sum(a != b for a, b in zip(before, after, strict=True)) <= 4
    run = run_mpopt("--fix", out, "-o", again, *JUDGED)
    assert "nothing to fix" in run.stdout
    assert again.read_bytes() == after


def test_status_is_that_of_the_result(tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(as_raw(), path)
    assert run_mpopt("--fix", path, "-o", out, *JUDGED, "--select", "MP203").returncode == 0
    assert run_mpopt("--check", path, *JUDGED, "--select", "MP203").returncode == 1


def test_dry_run_writes_nothing(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(as_raw(), path)
    run = run_mpopt("--fix", path, "--dry-run", *JUDGED)
    assert run.returncode == 0 and run.stdout.startswith("eps: 1e-10 -> 6.10352e-05\n")
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


def test_weights_in_other_files_go_along(tmp_path):
    """To OUT.data, from which the result is read; the source's file stays."""
    path, out = tmp_path / "m.onnx", tmp_path / "there" / "out.onnx"
    out.parent.mkdir()
    model = as_raw()
    large = np.arange(64, dtype=np.float32) / 64
    model.graph.initializer.append(numpy_helper.from_array(np.tile(large, 16).reshape(64, 16), "w"))
    model.graph.node.insert(0, helper.make_node("MatMul", ["x", "w"], ["z"]))
    model.graph.node[1].input[0] = "z"
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 64
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    weights = (tmp_path / "w.bin").read_bytes()
    run = run_mpopt("--fix", path, "-o", out, *JUDGED)
    assert "eps: 1e-10 -> 6.10352e-05" in run.stdout
    assert (tmp_path / "w.bin").read_bytes() == weights
    onnx.checker.check_model(str(out), full_check=True)
    loaded = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(out).graph.initializer}
    assert loaded["eps"] == RAISED and (loaded["w"][:, 0] == np.tile(large, 16).reshape(64, 16)[:, 0]).all()
    assert sorted(file.name for file in out.parent.iterdir()) == ["out.onnx", "out.onnx.data"]


@pytest.mark.parametrize("words,text", [
    (["m.onnx"], "--fix needs -o OUT"),
    (["text.mlir", "-o", "out.onnx"], "--fix takes ONNX files"),
    (["m.onnx", "-o", "m.onnx"], "would overwrite the model"),
])
def test_refuses(tmp_path, words, text):
    onnx.save(as_raw(), tmp_path / "m.onnx")
    (tmp_path / "text.mlir").write_text("func.func @main() { return }\n")
    run = run_mpopt("--fix", *words, *JUDGED, cwd=tmp_path)
    assert run.returncode == 2 and text in run.stderr and len(run.stderr.splitlines()) == 1
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("most, status", [("0.02", 1), ("1e-9", 2)])
def test_verified(tmp_path, most, status):
    """Run beside the model. The fix leaves a finding behind."""
    onnx.save(as_raw(), tmp_path / "m.onnx")
    np.savez(tmp_path / "feeds.npz", x=np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 4, 16))
    done = run_mpopt("--fix", tmp_path / "m.onnx", "-o", tmp_path / "out.onnx", *JUDGED, "--unsafe-fixes",
                     "--verify", tmp_path / "feeds.npz", "--max-error", most)
    assert done.returncode == status, done.stdout + done.stderr
    assert (tmp_path / "out.onnx").exists() == (status == 1)
    assert ("measured 0.1" if status == 1 else "run beside the source, output 'y' is off by 0.1") in done.stdout + done.stderr


def test_verified_in_python(tmp_path):
    """Raised, the epsilon is larger than softmax's small results: the reciprocals of those are others."""
    inputs = {"x": [(-50, 50), mpopt.Normal(0, 15)]}
    np.savez(tmp_path / "near.npz", x=np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 4, 16))
    fixed = mpopt.fix(as_raw(), inputs=inputs, unsafe=True, verify=tmp_path / "near.npz")
    assert fixed.changes
    assert not any("measured" in line for line in fixed.changes)
    with pytest.raises(mpopt.Error, match="output 'y' is off by 100"):
        mpopt.fix(as_raw(), inputs=inputs, unsafe=True, verify=2)

"""Models that are damaged or make no sense."""

import random

import pytest
from google.protobuf import text_format
from onnx import TensorProto, helper

import small_models
from bad_input import GIGABYTE, check, model, node, peak_memory, refused, run


# --- Bytes ---


@pytest.mark.parametrize("name", sorted(small_models.models()))
def test_truncated(name, tmp_path):
    data = small_models.models()[name].SerializeToString()
    model = tmp_path / "model.onnx"
    # A cut between two fields of the message may leave a whole model.
    for size in sorted({len(data) * step // 24 for step in range(24)}):
        model.write_bytes(data[:size])
        done = run("--check", model)
        if done.returncode not in (0, 1):
            refused(done)
    text = text_format.MessageToString(small_models.models()[name]).encode()
    for size in [len(text) * step // 6 for step in range(1, 6)]:
        model.write_bytes(text[:size])
        refused(run("--check", model))


@pytest.mark.parametrize("seed", range(10))
def test_random_bytes(seed, tmp_path):
    data = random.Random(seed).randbytes(1 << (seed + 4))
    check(tmp_path, data)
    # Past the first field, which says what the file is.
    check(tmp_path, b"\x08\x08\x3a" + data)


def test_lfs_pointer(tmp_path):
    check(tmp_path, b"version https://git-lfs.github.com/spec/v1\noid "
          b"sha256:00\nsize 1\n", "Git LFS pointer")


def test_empty(tmp_path):
    check(tmp_path, b"", "the file is empty")


def test_folder(tmp_path):
    refused(run("--check", tmp_path), "holds no model")


# --- Graphs ---


def test_cycle(tmp_path):
    check(tmp_path, model([node("Add", ["x", "b"], ["a"]),
                           node("Relu", ["a"], ["b"])], ["x"], ["b"]))


def test_unsorted_is_sorted(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model([node("Relu", ["a"], ["b"]),
                            node("Neg", ["x"], ["a"])], ["x"], ["b"]))
    done = run("--check", path)
    assert done.returncode == 0, done.stderr
    assert b"mpopt: warning: " in done.stderr and b"order" in done.stderr


def test_duplicate_names(tmp_path):
    check(tmp_path, model([node("Relu", ["x"], ["a"]),
                           node("Neg", ["x"], ["a"])], ["x"], ["a"]), "'a'")


@pytest.mark.parametrize("dims", [[1 << 60], [1 << 60, 1 << 60], [-5],
                                  [1 << 32, 1 << 32], [-(1 << 63)]])
def test_dims_of_initializer(dims, tmp_path):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims,
                         raw_data=b"\0\0\0\0")
    check(tmp_path, model([node("Add", ["x", "w"], ["y"])], ["x"], ["y"],
                          initializer=[weight]), "'w'")


@pytest.mark.parametrize("dims", [[1 << 60], [1 << 60, 1 << 60], [0, 1 << 62],
                                  [1 << 32, 1 << 32]])
def test_dims_of_input(dims, tmp_path):
    """No memory for what is only described: judged, or refused in a line."""
    proto = helper.make_model(
        helper.make_graph(
            [node("Flatten", ["x"], ["f"]), node("Size", ["x"], ["n"]),
             node("Shape", ["x"], ["s"]),
             node("ReduceSum", ["x"], ["y"], keepdims=0),
             node("MatMul", ["f", "f"], ["m"]),
             node("ConstantOfShape", ["s"], ["z"]),
             node("Expand", ["y", "s"], ["e"]), node("Tile", ["x", "s"], ["t"]),
             node("Concat", ["x", "x"], ["c"], axis=0)], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])]),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    peak, done = peak_memory("--check", path)
    assert peak < GIGABYTE
    if done.returncode not in (0, 1):
        refused(done)


def test_huge_shape_constants(tmp_path):
    """Shapes, paddings and ranges from constants are not carried out."""
    def constant(name, values):
        return TensorProto(name=name, data_type=TensorProto.INT64,
                           dims=[len(values)], int64_data=values)
    weights = [constant("big", [1 << 62]), constant("two", [1 << 40, 1 << 40]),
               TensorProto(name="from", data_type=7, int64_data=[0]),
               TensorProto(name="to", data_type=7, int64_data=[1 << 62]),
               TensorProto(name="by", data_type=7, int64_data=[1]),
               constant("pads", [1 << 62, 1 << 62])]
    path = tmp_path / "model.onnx"
    for op, inputs in [("ConstantOfShape", ["big"]), ("ConstantOfShape", ["two"]),
                       ("Range", ["from", "to", "by"]), ("Expand", ["x", "two"]),
                       ("Tile", ["x", "big"]), ("Reshape", ["x", "two"]),
                       ("Pad", ["x", "pads"]), ("OneHot", ["big", "to", "two"]),
                       ("Resize", ["x", "", "", "big"])]:
        nodes = [node(op, inputs, ["a"]), node("Shape", ["a"], ["s"]),
                 node("ConstantOfShape", ["s"], ["y"])]
        path.write_bytes(model(nodes, ["x"], [], initializer=weights))
        peak, done = peak_memory("--check", path)
        assert peak < GIGABYTE, op
        if done.returncode not in (0, 1):
            refused(done)

"""Writes a model with payloads above and below the importer's limit; with
--check, compares the bytes that the imported IR refers to."""

import re
import sys

import numpy
from onnx import TensorProto, helper, numpy_helper


def tensor(name, array, field=None):
    if field is None:
        return numpy_helper.from_array(array, name)
    result = TensorProto(name=name, dims=array.shape)
    result.data_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    getattr(result, field).extend(array.tolist())
    return result


floats = numpy.arange(2000, dtype=numpy.float32)
doubles = numpy.arange(2000, dtype=numpy.float64)


def write(path):
    then = helper.make_graph(
        [helper.make_node("Constant", [], ["t"], value=tensor("v", -floats))],
        "then", [], [helper.make_tensor_value_info("t", 1, [2000])])
    other = helper.make_graph([], "else", [],
                              [helper.make_tensor_value_info("raw", 1, [2000])])
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=then,
                          else_branch=other)],
        "g", [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
        [helper.make_tensor_value_info("y", 1, [2000])],
        [tensor("raw", floats), tensor("packed", floats, "float_data"),
         tensor("doubles", doubles, "double_data"),
         tensor("ints", numpy.full(1000, 7, numpy.int64)),
         tensor("small", numpy.ones(2, numpy.float32))])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as file:
        file.write(model.SerializeToString())


def check(path, ir):
    with open(path, "rb") as file:
        model = file.read()
    found = []
    pattern = r'file\("[^"]*", (\d+):(\d+)\) : tensor<2000x(f\d\d)>'
    with open(ir) as file:
        for offset, length, dtype in re.findall(pattern, file.read()):
            data = model[int(offset):int(offset) + int(length)]
            found.append(numpy.frombuffer(data, "<" + dtype[0] +
                                          str(int(dtype[1:]) // 8)))
    expected = [floats, floats, doubles, -floats]
    assert len(found) == len(expected), len(found)
    for got, want in zip(found, expected):
        assert (got == want).all()


if len(sys.argv) > 2:
    check(sys.argv[1], sys.argv[3])
else:
    write(sys.argv[1])

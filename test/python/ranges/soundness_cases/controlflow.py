"""Cases of test_soundness.py: branches, loops and scans."""

import numpy as np
from onnx import TensorProto, helper
from soundness_family import Cases
from soundness_operands import value_info

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def branches(draw):
    shape = draw.any_shape()
    x, y, c = draw.box(shape), draw.box(shape), draw.box((), 0, 1, dtype=bool)
    then = helper.make_graph([helper.make_node("Relu", [x], [draw.name("t")])], "then", [], [])
    other = helper.make_graph([helper.make_node("Neg", [y], [draw.name("e")])], "else", [], [])
    for graph in (then, other):
        graph.output.append(value_info(graph.node[0].output[0], TensorProto.FLOAT, shape))
    draw.node("If", c, then_branch=then, else_branch=other)


@onnx_case
def loops(draw):
    trips, x = draw.integer(1, 4), draw.box((3,), scale=draw.choice([0.5, 3]))
    by = draw.weights((3,), 1.5)
    i, keep, v, w, s, k = (draw.name(hint) for hint in ("i", "keep", "v", "w", "s", "k"))
    body = helper.make_graph(
        [helper.make_node("Mul", [v, by], [w]), helper.make_node("Add", [w, x], [s]),
         helper.make_node("Identity", [keep], [k])], "body",
        [value_info(i, TensorProto.INT64, []), value_info(keep, TensorProto.BOOL, []),
         value_info(v, TensorProto.FLOAT, [3])],
        [value_info(k, TensorProto.BOOL, []), value_info(s, TensorProto.FLOAT, [3]),
         value_info(w, TensorProto.FLOAT, [3])])
    draw.node("Loop", draw.constant(np.int64(trips)), draw.constant(np.bool_(True)), x,
              body=body, outputs=2)


@onnx_case
def loop_without_condition(draw):
    """ONNX Runtime ends it when the body yields false all the same."""
    i, keep, v, s, top, k, c = (draw.name(hint) for hint in "ikvstac")
    limit = helper.make_tensor("limit", TensorProto.FLOAT, [], [draw.choice([-2.0, 1.0, 9.0])])
    body = helper.make_graph(
        [helper.make_node("Softplus", [v], [s]),
         helper.make_node("ReduceMax", [s], [top], keepdims=0),
         helper.make_node("Constant", [], [c], value=limit),
         helper.make_node("Less", [top, c], [k])], "body",
        [value_info(i, TensorProto.INT64, []), value_info(keep, TensorProto.BOOL, []),
         value_info(v, TensorProto.FLOAT, [3])],
        [value_info(k, TensorProto.BOOL, []), value_info(s, TensorProto.FLOAT, [3])])
    draw.node("Loop", draw.constant(np.int64(4)), "", draw.box((3,), 1, 2), body=body)


@onnx_case
def scans(draw):
    x = draw.box((draw.integer(1, 5), 3), scale=draw.choice([0.5, 3]))
    start = draw.box((3,), scale=1)
    v, row, s, t = (draw.name(hint) for hint in ("v", "row", "s", "t"))
    body = helper.make_graph(
        [helper.make_node("Add", [v, row], [s]), helper.make_node("Relu", [s], [t])], "body",
        [value_info(v, TensorProto.FLOAT, [3]), value_info(row, TensorProto.FLOAT, [3])],
        [value_info(s, TensorProto.FLOAT, [3]), value_info(t, TensorProto.FLOAT, [3])])
    draw.node("Scan", start, x, body=body, num_scan_inputs=1, outputs=2)

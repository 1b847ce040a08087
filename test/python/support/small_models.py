"""Small ONNX models that between them hold every kind of thing a file can hold:
subgraphs, functions, sparse, packed and external tensors, sequences."""

import numpy
from onnx import TensorProto, helper, numpy_helper, parser

_TEXTS = {
    "mlp": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N, 4] x) => (float[N, 2] y)
          <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {0.5, -1}> {
          a = MatMul (x, w)
          c = Add (a, b)
          d = Relu (c)
          y = Softmax <axis = -1> (d)
        }""",
    "control": """
        <ir_version: 9, opset_import: ["" : 17]>
        g (bool c, float[4] x, int64 n) => (float[4] y, float[4] z) {
          y = If (c) <
            then_branch = g1 () => (float[4] t) { t = Relu (x) },
            else_branch = g2 () => (float[4] e) { e = Neg (x) }>
          z = Loop (n, "", x) <
            body = b (int64 i, bool ci, float[4] v) => (bool co, float[4] w) {
              w = Add (v, x)
              co = Identity (ci)
            }>
        }""",
    "function": """
        <ir_version: 9, opset_import: ["" : 18, "local" : 1]>
        g (float16[N] x) => (float16[N] y) {
          a = local.F <alpha = 2.0> (x)
          y = local.F <alpha = 3.0> (a)
        }
        <domain: "local", opset_import: ["" : 18]>
        F <alpha> (u) => (v) {
          t = LeakyRelu <alpha: float = @alpha> (u)
          v = Cast <to = 10> (t)
        }""",
    "shapes": """
        <ir_version: 8, opset_import: ["" : 17, "com.acme" : 1]>
        g (float[N, 3, 8] x) => (y) <int64[1] zero = {0}, int64[1] m = {-1}> {
          s = Shape (x)
          n = Gather <axis = 0> (s, zero)
          t = Concat <axis = 0> (n, m)
          r = Reshape (x, t)
          u = Unsqueeze (r, zero)
          k = com.acme.Mystery <mode = "a", list = [1, 2]> (u, "", x)
          y = LayerNormalization <axis = -1> (k, x)
        }""",
}


def _tensors():
    nodes = [helper.make_node("Constant", [], ["c"],
                              value=numpy_helper.from_array(
                                  numpy.ones((2, 2), numpy.float16)))]
    weights = [
        numpy_helper.from_array(numpy.zeros(2000, numpy.float32), "large"),
        helper.make_tensor("packed", TensorProto.FLOAT, [3], [1, 2, 3]),
        helper.make_tensor("bf16", TensorProto.BFLOAT16, [2], [1, 2]),
        helper.make_tensor("i4", TensorProto.INT4, [3], [1, -2, 3]),
        helper.make_tensor("text", TensorProto.STRING, [2], [b"a", b"b"]),
    ]
    external = TensorProto(name="gone", data_type=1, dims=[4],
                           data_location=TensorProto.EXTERNAL)
    external.external_data.add(key="location", value="gone.bin")
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sparse", TensorProto.FLOAT, [1], [1]),
        helper.make_tensor("i", TensorProto.INT64, [1], [2]), [4])
    graph = helper.make_graph(
        nodes, "g", [], [helper.make_tensor_value_info("c", 10, [2, 2])],
        weights + [external], sparse_initializer=[sparse])
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def models():
    """Name -> ModelProto."""
    result = {name: parser.parse_model(text) for name, text in _TEXTS.items()}
    result["tensors"] = _tensors()
    return result


def texts():
    """Name -> ONNX text syntax."""
    return dict(_TEXTS)

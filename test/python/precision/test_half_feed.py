"""mpopt.half.feed_of gives arrays of the types that a session wants, scalars too."""

import numpy as np
import onnxruntime
from onnx import parser

from mpopt import half


def test_scalars():
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
      g (float16[2] x, float n, int64 k) => (float16[2] y, float m, int64 j) {
        y = Neg(x)
        m = Neg(n)
        j = Neg(k)
    }""")
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    arrays = {"x": np.float32([[1, 1e6]]), "n": np.float32([2]), "k": np.int64([3])}
    y, m, j = session.run(None, half.feed_of(session, arrays, 0))
    assert y.dtype == np.float16 and y.tolist() == [-1, -65504]
    assert float(m) == -2 and int(j) == -3

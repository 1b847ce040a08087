"""Runs a probed model in its runtime: run_with_faults.py MODEL X.npy STEPS [unregistered]

X goes to the model's one input in each step; 0 steps: for ever. The outputs of the last
step go to X.npy.out.npy. `unregistered` leaves the op library out.
"""

import itertools
import sys

import numpy

model, file, steps = sys.argv[1:4]
unregistered = "unregistered" in sys.argv
x = numpy.load(file)

if model.endswith(".onnx"):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    if not unregistered:
        import mpopt

        options.register_custom_ops_library(str(mpopt.op_library()))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def step():
        return session.run(None, {"x": x})[0]
else:
    import torch

    if not unregistered:
        import mpopt  # noqa: F401: registers the ops
    module = torch.jit.load(model)

    def step():
        with torch.no_grad():
            return module(torch.from_numpy(x)).numpy()

for _ in range(int(steps)) if int(steps) else itertools.count():
    y = step()
numpy.save(f"{file}.out", y)

"""Runs a probed model: run_probed.py LIBRARY MODEL FEEDS.npz TIMES [kill|keep]

LIBRARY "-" registers none. Feeds are multiplied by 1, 2, 3 ... from run to run;
the last run's outputs go to FEEDS.npz.out.npz. `kill` ends the process by signal
9 after the runs, `keep` leaves the session to the interpreter's end. Runs with
every onnxruntime since 1.17, without onnx.
"""

import os
import signal
import sys
import time

import numpy as np
import onnxruntime

library, model, feeds, times = sys.argv[1:5]
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
if library != "-":
    options.register_custom_ops_library(library)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
arrays = dict(np.load(feeds))
for run in range(int(times)):
    outputs = session.run(None, {name: np.asarray(array * (run + 1), array.dtype)
                                 for name, array in arrays.items()})
names = [output.name for output in session.get_outputs()]
np.savez(feeds + ".out.npz", **dict(zip(names, outputs)))
print(onnxruntime.__version__)
sys.stdout.flush()
if "kill" in sys.argv:
    time.sleep(0.05)
    session.run(None, arrays)
    os.kill(os.getpid(), signal.SIGKILL)

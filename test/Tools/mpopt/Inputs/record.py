"""record.py LIBRARY LEDGER OUT WORD...: writes a record file as probes would.

A word is a call of a probe, `ID:DTYPE:VALUES` (`1:f32:1,-2.5,nan`; a matrix of two
columns where there are four values or more, else a vector), a gradient of its tensor
(`grad:1:f32:1`), `step=N`, or `runtime=NAME`: who recorded. DTYPE is f32, f64 or i64."""

import ctypes
import hashlib
import os
import struct
import sys


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p),
                ("channel_axis", ctypes.c_int32), ("reserved", ctypes.c_uint32)]


runtime = os.environ.get("MPOPT_SANITIZER_RUNTIME")
if runtime and os.environ.get("LD_PRELOAD") != runtime:
    os.execve(sys.executable, [sys.executable, *sys.argv], {
        **os.environ, "LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"})

FORMATS = {"f32": (1, "f", float), "i64": (7, "q", int), "f64": (11, "d", float)}

library, ledger, out, *words = sys.argv[1:]
record = ctypes.CDLL(library)
record.mpopt_recorder_open.restype = ctypes.c_void_p
with open(ledger, "rb") as file:
    digest = hashlib.sha256(file.read()).digest()
names = [word.removeprefix("runtime=") for word in words if word.startswith("runtime=")]
runtime = os.fsencode(names[0] if names else "record.py")
recorder = ctypes.c_void_p(record.mpopt_recorder_open(out.encode(), digest, runtime))
for word in words:
    if word.startswith("runtime="):
        continue
    if word.startswith("step="):
        record.mpopt_recorder_set_step(recorder, ctypes.c_uint64(int(word[5:])))
        continue
    *kind, probe, dtype, text = word.split(":")
    number, letter, read = FORMATS[dtype]
    values = [read(value) for value in text.split(",") if value]
    shape = [len(values) // 2, 2] if len(values) >= 4 else [len(values)]
    dims = (ctypes.c_int64 * len(shape))(*shape)
    data = struct.pack(f"{len(values)}{letter}", *values)
    tensor = Tensor(data, number, len(shape), dims, None, -1, 0)
    record.mpopt_recorder_observe(recorder, ctypes.c_uint32(int(probe)), ctypes.c_uint32(len(kind)),
                                  ctypes.byref(tensor), None)
sys.exit(record.mpopt_recorder_close(recorder))

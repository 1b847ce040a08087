"""Writes safetensors files: eight bytes of length, a header in JSON, raw bytes. A writer of its own, so that
faults can be written as well."""

import json
import struct

import ml_dtypes
import numpy

#: The words of the header.
WORDS = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
         "float8_e8m0fnu": "F8_E8M0", "int8": "I8", "uint8": "U8", "int32": "I32", "float64": "F64"}


def write(path, tensors, change=None, **metadata):
    """`change` is called with the header before it is written."""
    header, at, parts = {}, 0, []
    if metadata:
        header["__metadata__"] = {key: str(value) for key, value in metadata.items()}
    for name, array in tensors.items():
        array = numpy.ascontiguousarray(array)
        raw = array.tobytes()
        header[name] = {"dtype": WORDS[array.dtype.name], "shape": list(array.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        parts.append(raw)
    if change:
        change(header)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
    return path


def encode(weight, scale, dtype=ml_dtypes.float8_e4m3fn, largest=448.0):
    """The codes of a weight: clipped, rounded to nearest even."""
    return numpy.clip(weight / scale, -largest, largest).astype(dtype)


def blocks(weight, size=128):
    """The largest magnitude of each block, and the same for each element."""
    rows, columns = (-(-n // size) for n in weight.shape)
    padded = numpy.zeros((rows * size, columns * size), "f4")
    padded[:weight.shape[0], :weight.shape[1]] = numpy.abs(weight)
    most = padded.reshape(rows, size, columns, size).max((1, 3))
    wide = numpy.repeat(numpy.repeat(most, size, 0), size, 1)[:weight.shape[0], :weight.shape[1]]
    return most, wide

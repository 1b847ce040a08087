# torchscript_op_inputs.py - Inputs of the expressions of aten ops
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Name -> (dtype, shape); dtypes are torch's and MLIR's names.
DTYPES = {"f": "float32", "h": "float16", "b": "bfloat16", "d": "float64",
          "i": "int64", "j": "int32", "u": "uint8", "t": "bool"}
MLIR = {"float32": "f32", "float16": "f16", "bfloat16": "bf16",
        "float64": "f64", "int64": "i64", "int32": "i32", "uint8": "ui8",
        "bool": "i1", "int8": "i8", "int16": "i16"}
SHAPES = {"2": (2, 3), "0": (), "1": (3,), "s": (3, 3), "m": (3, 4),
          "c": (2, 4, 6, 6), "l": (2, 4, 7), "v": (2, 4, 5, 6, 6),
          "q": (2, 4, 5, 8), "B": (2, 3, 4), "D": (2, 4, 3)}

INPUTS = {f"{dtype}{shape}": (DTYPES[dtype], SHAPES[shape])
          for dtype, shapes in {"f": "201smclvqBD", "h": "201smclvqBD",
                                "b": "201smclvqB", "d": "20", "i": "201sm",
                                "j": "2", "u": "2", "t": "201"}.items()
          for shape in shapes}

# Every element of an input: numbers that tell the inputs apart, and legal classes.
NUMBER = {"f": 1.5, "h": 1.25, "b": 0.75, "d": 2.5, "i": 2, "j": 3, "u": 5,
          "t": 1}


def number_of(name):
    number = NUMBER[name[0]]
    if name == "ic" or name[0] == "t":
        return 1
    if name[1] == "0":
        return number / 2 if isinstance(number, float) else number + 1
    if name[1] == "1":
        return number * 0.375 if isinstance(number, float) else number + 2
    return number


DIMS = ["f2", "h2", "b2", "d2", "i2", "j2", "u2", "t2"]
ZERO = ["f0", "h0", "d0", "i0", "t0"]
ANY = DIMS + ["f0", "h0", "i0", "t0"]
NUMBERS = ["2", "0.5", "True"]

EXTRA = {"W1": (4, 4, 3), "W2": (4, 4, 3, 3), "W3": (4, 4, 3, 3, 3)}
for dtype in "fhb":
    for name, shape in EXTRA.items():
        INPUTS[dtype + name] = (DTYPES[dtype], shape)
INPUTS["ic"] = ("int64", (2,))
INPUTS["fE3"] = ("float32", (12, 4))
INPUTS["fE1"] = ("float32", (4, 4))
INPUTS["fD4"] = ("float32", (2, 3, 4))
INPUTS["tm2"] = ("bool", (2, 3))

"""Reads mp IR in MLIR's generic form: functions of ops with operands, attributes and
regions, as plain data."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

import numpy as np

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32,
          "i16": np.int16, "i1": np.bool_, "ui8": np.uint8, "i8": np.int8}


@dataclass
class Type:
    """A tensor type: its dims (None: unknown), and its dtype's name."""

    shape: tuple | None
    dtype: str


def elements_of(data: bytes, type: Type) -> np.ndarray | None:
    """Those of a tensor in row-major order; None for other numbers of bytes."""
    dtype = np.dtype(np.uint16 if type.dtype == "bf16" else DTYPES.get(type.dtype, np.void))
    if type.shape is None or len(data) != np.prod(type.shape, dtype=np.int64) * dtype.itemsize:
        return None
    found = np.frombuffer(data, dtype).reshape(type.shape)
    if type.dtype == "bf16":
        return (found.astype(np.uint32) << 16).view(np.float32)
    return found


@dataclass
class Weight:
    """Bytes of a file."""

    file: str
    offset: int
    length: int

    def read(self, type: Type) -> np.ndarray | None:
        """The elements; None for a dtype that NumPy has not, and packed ones."""
        with open(self.file, "rb") as file:
            file.seek(self.offset)
            return elements_of(file.read(self.length), type)


@dataclass
class Op:
    name: str
    results: list[str]
    operands: list[str]
    attributes: dict
    regions: list[Block] = field(default_factory=list)
    types: list = field(default_factory=list)  # of the results


@dataclass
class Block:
    arguments: list[str]
    ops: list[Op]
    types: list = field(default_factory=list)


SPACE = re.compile(r"(?:\s|//[^\n]*)*")
NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?")
WORD = re.compile(r"[A-Za-z_][\w.$-]*")
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")


class Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self):
        self.at = SPACE.match(self.text, self.at).end()

    def peek(self, word):
        self.skip()
        return self.text.startswith(word, self.at)

    def take(self, word):
        if self.peek(word):
            self.at += len(word)
            return True
        return False

    def expect(self, word):
        assert self.take(word), f"no {word!r}: {self.text[self.at:self.at + 80]!r}"

    def match(self, pattern):
        self.skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
            return found[0]
        return None

    def list(self, end, item):
        items = []
        if self.take(end):
            return items
        while True:
            items.append(item())
            if self.take(end):
                return items
            self.expect(",")

    # -- types ---------------------------------------------------------------

    def balanced(self, start, end):
        """The text between two signs that nest; `start` has been read."""
        first, depth = self.at, 1
        while depth:
            sign = self.text[self.at]
            depth += (sign == start) - (sign == end and self.text[self.at - 1] != "-")
            self.at += 1
        return self.text[first:self.at - 1]

    def type(self):
        if self.take("tensor<"):
            inner = self.balanced("<", ">")
            *dims, dtype = re.split(r"x(?=[\d?*]|[a-z!])", inner) if "x" in inner else [inner]
            if dims == ["*"]:
                return Type(None, dtype)
            return Type(tuple(None if dim == "?" else int(dim) for dim in dims), dtype)
        if self.take("("):
            inputs = self.list(")", self.type)
            self.expect("->")
            return inputs, self.types()
        if self.take("!"):
            name = self.match(WORD)
            return name + (self.balanced("<", ">") if self.take("<") else "")
        return self.match(WORD)

    def types(self):
        return self.list(")", self.type) if self.take("(") else [self.type()]

    # -- attributes ----------------------------------------------------------

    def string(self):
        self.expect('"')
        end = self.at
        while self.text[end] != '"':
            end += 2 if self.text[end] == "\\" else 1
        found = self.text[self.at:end]
        self.at = end + 1
        return found

    def number(self, kind=None):
        text = self.match(NUMBER)
        if text.startswith("0x"):
            bits = int(text, 16)
            if kind in (None, "f64"):
                return struct.unpack("<d", struct.pack("<Q", bits))[0]
            if kind == "bf16":
                kind, bits = "f32", bits << 16
            return float({"f32": np.uint32, "f16": np.uint16}[kind](bits).view(DTYPES[kind]))
        return float(text) if re.search(r"[.eE]", text) else int(text)

    def elements(self):
        if self.take("["):
            return self.list("]", self.elements)
        for word, value in (("true", True), ("false", False)):
            if self.take(word):
                return value
        if self.peek('"'):
            return self.string()
        return self.match(NUMBER)

    def dense(self):
        values = None if self.take(">") else self.elements()
        if values is not None:
            self.expect(">")
        self.expect(":")
        type = self.type()
        if type.dtype not in DTYPES and type.dtype != "bf16":
            return None
        dtype = DTYPES.get(type.dtype, np.float32)
        if values is None:
            return np.zeros(type.shape, dtype)
        if isinstance(values, str) and values.startswith("0x") and not isinstance(values, bool) and \
                len(values) > 18:
            return elements_of(bytes.fromhex(values[2:]), type)

        def one(text):
            if isinstance(text, (bool, list)):
                return [one(item) for item in text] if isinstance(text, list) else text
            if text.startswith("0x"):
                return Reader(text).number(type.dtype)
            return float(text) if "f" in type.dtype else int(text)
        array = np.array(one(values), dtype)
        return np.broadcast_to(array, type.shape).copy()

    def attribute(self):
        if self.peek('"'):
            return self.string()
        if self.take("["):
            return self.list("]", self.attribute)
        if self.take("{"):
            return self.dictionary()
        for word, value in (("true", True), ("false", False), ("unit", True)):
            if re.match(word + r"\b", self.text[self.at:self.at + 8]):
                self.at += len(word)
                return value
        if self.take("array<"):
            self.match(WORD)
            return self.list(">", self.number) if self.take(":") else (self.expect(">"), [])[1]
        if self.take("dense<"):
            return self.dense()
        if self.take("#mp.weight<"):
            file = self.string()
            self.expect(",")
            offset = self.number()
            self.expect(":")
            length = self.number()
            self.expect(">")
            return Weight(file, offset, length)
        if self.take("#"):
            name = self.match(WORD)
            return name + (self.balanced("<", ">") if self.take("<") else "")
        if re.match(r"[-\d]", self.text[self.at:self.at + 1]):
            start, value, kind = self.at, self.number(), None
            if self.take(":"):
                kind = self.type()
                if "f" in str(kind):
                    end, self.at = self.at, start
                    value = float(self.number(kind))
                    self.at = end
            return value
        return self.type()

    def dictionary(self):
        def entry():
            name = self.string() if self.peek('"') else self.match(WORD)
            self.skip()
            if not self.take("="):
                return name, True
            self.skip()
            return name, self.attribute()
        return dict(self.list("}", entry))

    # -- ops -----------------------------------------------------------------

    def block(self):
        arguments, types = [], []
        if self.peek("^"):
            self.take("^")
            self.match(WORD)
            if self.take("("):
                for name, type in self.list(")", self.argument):
                    arguments.append(name)
                    types.append(type)
            self.expect(":")
        ops = []
        while not self.take("}"):
            ops.append(self.op())
        return Block(arguments, ops, types)

    def argument(self):
        name = self.match(VALUE)
        self.expect(":")
        return name, self.type()

    def op(self):
        results = []
        while self.peek("%"):
            name = self.match(VALUE)
            if self.take(":"):
                results += [f"{name}#{i}" for i in range(self.number())]
            else:
                results.append(name)
            self.take(",")
        if results:
            self.expect("=")
        name = self.string()
        self.expect("(")
        operands = self.list(")", lambda: self.match(VALUE))
        attributes = {}
        if self.take("<{"):
            attributes = self.dictionary()
            self.expect(">")
        regions = []
        if self.take("("):
            regions = self.list(")", lambda: (self.expect("{"), self.block())[1])
        if self.take("{"):
            attributes.update(self.dictionary())
        self.expect(":")
        _, types = self.type()
        return Op(name, results, operands, attributes, regions, types)


def functions(text):
    """The functions of a module, by name."""
    module = Reader(text).op()
    return {op.attributes["sym_name"]: op for op in module.regions[0].ops if op.name == "func.func"}

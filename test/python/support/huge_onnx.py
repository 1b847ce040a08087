"""ONNX models with huge numbers: the dims of inputs and weights, integer attributes and
constant integers of models that tests have, each in turn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

SIZES = (1 << 30, 1 << 40)
# Entries of a list that are tried one by one.
ENTRIES = 6


@dataclass
class Variant:
    """A model with one number replaced."""

    seed: str
    # Say `Conv strides[0]`, or `Conv input 1 dim 2`.
    place: str
    size: int
    data: bytes
    # How files of this kind end.
    kind: str = ".onnx"

    def __str__(self) -> str:
        seed = f" ({self.seed})" if self.seed else ""
        return f"{self.place} = 2^{self.size.bit_length() - 1}{seed}"


class Tried:
    """How often each place was tried: the first model that has it tries all sizes, and
    the next one, which may have other attributes, the last of them (of dims and
    attributes, not of constants)."""

    def __init__(self):
        self.times = Counter()

    def sizes(self, place: str) -> tuple[int, ...]:
        self.times[place] += 1
        again = not re.search(r" (value|weight|filled|dims of)\b", place)
        return {1: SIZES, 2: SIZES[-1:] * again}.get(self.times[place], ())


def copy(message):
    made = type(message)()
    made.CopyFrom(message)
    return made


def walk(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for body in ([attribute.g] if attribute.HasField("g") else attribute.graphs):
                yield from walk(body)


def qualified(node: onnx.NodeProto) -> str:
    return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


class Seed:
    """A model, and the places where it has a number that can be huge."""

    def __init__(self, name: str, model: onnx.ModelProto):
        self.name, self.model = name, model
        self.weights = any(tensor.data_type == TensorProto.FLOAT
                           for tensor in model.graph.initializer)
        self.readers = {}
        for node in walk(model.graph):
            for index, value in enumerate(node.input):
                self.readers.setdefault(value, f"{qualified(node)} input {index}")

    def reader(self, value: str) -> str:
        """The op that reads a value, and as which input."""
        return self.readers.get(value, f"unread {value}")

    def places(self) -> Iterator[tuple[str, callable]]:
        """The name of each place, and a function that writes a number there."""
        yield from self.input_dims()
        yield from self.equal_dims()
        yield from self.attributes()
        yield from self.constants()

    def input_dims(self):
        for index, value in enumerate(self.model.graph.input):
            dims = value.type.tensor_type.shape.dim
            reader = self.reader(value.name)
            # All of them, none of them elements, too.
            for empty in (None, 0, len(dims) - 1) if len(dims) > 1 else ():
                def every(model, size, index=index, empty=empty):
                    dims = model.graph.input[index].type.tensor_type.shape.dim
                    for axis, dim in enumerate(dims):
                        dim.dim_value = 0 if axis == empty else size
                yield (f"{reader} every dim" + (f" but {empty}" if empty is not None else ""),
                       every)
            for axis in range(min(len(dims), ENTRIES)):
                def one(model, size, index=index, axis=axis):
                    model.graph.input[index].type.tensor_type.shape.dim[axis].dim_value = size
                yield f"{reader} dim {axis}", one

    def equal_dims(self):
        """Dims of different inputs that have to agree, grown together."""
        values = {dim.dim_value for value in self.model.graph.input
                  for dim in value.type.tensor_type.shape.dim}
        for count in sorted(values - {0}):
            def write(model, size, count=count):
                for value in model.graph.input:
                    for dim in value.type.tensor_type.shape.dim:
                        if dim.dim_value == count:
                            dim.dim_value = size
            first = self.model.graph.node[-1]
            yield f"{qualified(first)} dims of {count}", write

    def attributes(self):
        for at, node in enumerate(walk(self.model.graph)):
            lists = [index for index, attribute in enumerate(node.attribute)
                     if attribute.type == AttributeProto.INTS]
            def every(model, size, at=at, lists=lists):
                attributes = list(walk(model.graph))[at].attribute
                for index in lists:
                    attributes[index].ints[:] = [size] * len(attributes[index].ints)
            if len(lists) > 1:
                yield f"{qualified(node)} every list", every
            for index, attribute in enumerate(node.attribute):
                name = f"{qualified(node)} {attribute.name}"
                def find(model, at=at, index=index):
                    return list(walk(model.graph))[at].attribute[index]
                if attribute.type == AttributeProto.INT:
                    def scalar(model, size, find=find):
                        find(model).i = size
                    yield name, scalar
                elif attribute.type == AttributeProto.INTS:
                    yield from self.entries(name, find, len(attribute.ints))
                elif attribute.type == AttributeProto.TENSOR:
                    yield from self.elements(name, lambda model, find=find: find(model).t,
                                             attribute.t)

    @staticmethod
    def entries(name, find, count):
        def every(model, size):
            for index in range(count):
                find(model).ints[index] = size
        if count > 1:
            yield f"{name}[*]", every
        for index in range(min(count, ENTRIES)):
            def one(model, size, index=index):
                find(model).ints[index] = size
            yield f"{name}[{index}]", one

    def constants(self):
        for index, tensor in enumerate(self.model.graph.initializer):
            name = self.reader(tensor.name)
            def find(model, index=index):
                return model.graph.initializer[index]
            yield from self.elements(f"{name} value", find, tensor)
            for axis in range(min(len(tensor.dims), ENTRIES)):
                # Data of another file, which is not there.
                def absent(model, size, find=find, axis=axis):
                    tensor = find(model)
                    dims = list(tensor.dims)
                    dims[axis] = size
                    tensor.CopyFrom(TensorProto(
                        name=tensor.name, data_type=tensor.data_type, dims=dims,
                        data_location=TensorProto.EXTERNAL))
                    tensor.external_data.add(key="location", value="absent.bin")
                yield f"{name} weight dim {axis}", absent
                # One value, many times.
                def filled(model, size, index=index, axis=axis):
                    fill(model, index, axis, size)
                yield f"{name} filled dim {axis}", filled

    @staticmethod
    def elements(name, find, tensor):
        """Numbers in tensors, which say shapes, or scales of them."""
        array = numpy_helper.to_array(tensor)
        if array.dtype not in (numpy.int64, numpy.int32, numpy.float32) or array.size > 16:
            return
        def write(model, size, where):
            values = array.copy()
            if values.dtype == numpy.int32:
                size = min(size, 2**31 - 1)
            values[where] = size
            found = find(model)
            found.CopyFrom(numpy_helper.from_array(values, found.name))
        yield f"{name}[*]", lambda model, size: write(model, size, ...)
        if array.dtype == numpy.float32:
            return
        for index in list(numpy.ndindex(array.shape))[:ENTRIES]:
            if array.size > 1:
                yield (f"{name}{list(index)}",
                       lambda model, size, index=index: write(model, size, index))


def fill(model: onnx.ModelProto, index: int, axis: int, size: int):
    """Makes an initializer the result of ConstantOfShape."""
    tensor = model.graph.initializer[index]
    dims = list(tensor.dims)
    dims[axis] = size
    array = numpy_helper.to_array(tensor).reshape(-1)[:1]
    shape = numpy_helper.from_array(numpy.array(dims, numpy.int64), tensor.name + ".shape")
    node = helper.make_node("ConstantOfShape", [shape.name], [tensor.name], tensor.name,
                            value=numpy_helper.from_array(array))
    del model.graph.initializer[index]
    model.graph.initializer.append(shape)
    nodes = [node, *map(copy, model.graph.node)]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def vary(seeds: list[Seed]) -> Iterator[Variant]:
    tried = Tried()
    for seed in seeds:
        for place, write in seed.places():
            # A weight takes another path than what comes at run time.
            for size in tried.sizes(place + " weights" * seed.weights):
                model = copy(seed.model)
                try:
                    write(model, size)
                except (ValueError, OverflowError):  # a dtype that has no such number
                    continue
                yield Variant(seed.name, place, size, model.SerializeToString())


def by_opsets(variants: list[Variant]) -> dict[tuple, list[Variant]]:
    """Variants that one model can hold: the larger ones. Names in bodies are not kept
    apart, so that models with bodies are left out."""
    groups = {}
    for variant in variants:
        if variant.size != SIZES[-1]:
            continue
        model = onnx.ModelProto.FromString(variant.data)
        if len(model.graph.node) != len(list(walk(model.graph))):
            continue
        opsets = tuple(sorted((opset.domain, opset.version) for opset in model.opset_import))
        groups.setdefault(opsets, []).append(variant)
    return groups


def join(variants: list[Variant]) -> bytes:
    """One model of several, which do not know of each other."""
    joined = None
    for index, variant in enumerate(variants):
        model = onnx.ModelProto.FromString(variant.data)
        onnx.compose.add_prefix(model, f"{index}/", inplace=True)
        if joined is None:
            joined = model
            continue
        for field in ("node", "input", "output", "initializer", "value_info",
                      "sparse_initializer"):
            getattr(joined.graph, field).extend(getattr(model.graph, field))
    return joined.SerializeToString()

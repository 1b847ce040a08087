"""The graph of a model of which some ops stay in FP32, wired anew.

Converters give nodes, attributes and weights in FP16; where casts go is decided here. Of
the converters that there are one makes two casts of one name for a tensor that two FP32
ops read, and both round between FP32 ops and clamp constants of FP32 ops."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Collection

import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
_SUFFIX = {FLOAT: "fp32", HALF: "fp16"}


@dataclasses.dataclass
class Value:
    """A tensor. `dtype`: FLOAT or HALF if the file has it in FP32, else None."""

    name: str
    dtype: int | None
    #: What stands behind its definition, in the graph that defines it.
    behind: list[onnx.NodeProto]
    #: Its name in the other dtype, once somebody asked.
    twins: dict[int, str] = dataclasses.field(default_factory=dict)
    #: Of a constant: emits it in a dtype, under a name. Its dtype is that of the first
    #: reader.
    emit: Callable[[int, str], None] | None = None


@dataclasses.dataclass
class Interface:
    """The inputs and outputs of the model that stay in FP32."""

    inputs: Collection[str]
    outputs: Collection[str]


class Scope:
    """The values of a graph and of those around it."""

    def __init__(self, outer: Scope | None = None):
        self._outer = outer
        self._values: dict = {}

    def __setitem__(self, name: str, value: Value):
        self._values[name] = value

    def find(self, name: str) -> Value | None:
        value = self._values.get(name)
        return value or (self._outer.find(name) if self._outer else None)


def bodies(node: onnx.NodeProto) -> list[onnx.GraphProto]:
    return [graph for attribute in node.attribute
            for graph in ([attribute.g] if attribute.type == onnx.AttributeProto.GRAPH
                          else attribute.graphs)]


def _attribute(node: onnx.NodeProto, name: str):
    return next((helper.get_attribute_value(attribute) for attribute in node.attribute
                 if attribute.name == name), None)


def constant_of(node: onnx.NodeProto) -> TensorProto | None:
    """The FP32 tensor of a node `Constant`."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    tensor = _attribute(node, "value")
    for name in ("value_float", "value_floats"):
        if (numbers := _attribute(node, name)) is not None:
            import numpy

            tensor = numpy_helper.from_array(numpy.asarray(numbers, numpy.float32))
    return tensor if tensor is not None and tensor.data_type == FLOAT else None


class Types:
    """The dtypes that ops take and give, by ONNX's schemas."""

    def __init__(self, model: onnx.ModelProto, always_float: dict[str, list[int]]):
        self._opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._always_float = always_float
        self._schemas: dict = {}

    def schema(self, node: onnx.NodeProto):
        domain = "" if node.domain == "ai.onnx" else node.domain
        key = (node.op_type, domain)
        if key not in self._schemas:
            try:
                self._schemas[key] = onnx.defs.get_schema(
                    node.op_type, self._opsets.get(domain, 1), domain)
            except onnx.defs.SchemaError:
                self._schemas[key] = None
        return self._schemas[key]

    @staticmethod
    def _parameter(parameters, index: int):
        if index < len(parameters):
            return parameters[index]
        return parameters[-1] if parameters else None

    def takes(self, node: onnx.NodeProto, index: int) -> int:
        """The dtype in which an op that computes in FP16 reads an operand."""
        schema = self.schema(node)
        if schema is None:
            return FLOAT if index in self._always_float.get(node.op_type, ()) else HALF
        parameter = self._parameter(schema.inputs, index)
        return HALF if parameter is None or "tensor(float16)" in parameter.types else FLOAT

    def gives(self, node: onnx.NodeProto, index: int) -> int:
        """The dtype of such an op's result that is FP32 in the file. `node` is as the
        converter left it."""
        for name in ("to", "dtype"):
            dtype = _attribute(node, name)
            if dtype in (FLOAT, HALF):
                return typing.cast(int, dtype)
        if node.op_type == "ConstantOfShape":
            value = _attribute(node, "value")
            return FLOAT if value is None else value.data_type
        schema = self.schema(node)
        if schema is None:
            return HALF
        parameter = self._parameter(schema.outputs, index)
        return HALF if parameter is None or "tensor(float16)" in parameter.types else FLOAT

    def is_float(self, node: onnx.NodeProto, index: int, scope: Scope) -> bool:
        """True if a result without an inferred type is FP32 in the file."""
        for name in ("to", "dtype"):
            if (dtype := _attribute(node, name)) is not None:
                return dtype == FLOAT
        for body in bodies(node):
            place = index + (node.op_type == "Loop")
            return known_floats(body).get(body.output[place].name, False)
        schema = self.schema(node)
        operands = [scope.find(name) for name in node.input]
        if schema is None:
            return any(operand and operand.dtype for operand in operands)
        parameter = self._parameter(schema.outputs, index)
        if parameter is None or not parameter.types:
            return False
        if len(parameter.types) == 1:
            return "tensor(float)" in parameter.types
        same = [operand for place, operand in enumerate(operands)
                if (other := self._parameter(schema.inputs, place)) is not None
                and other.type_str == parameter.type_str]
        return any(operand and operand.dtype for operand in same)


class Rewiring:
    """Puts the nodes of a converted model on the tensors of the original, with a cast
    where a reader needs another dtype: one for each tensor, none between two ops of the
    same dtype. Constants are not cast: there is one in each dtype that is read."""

    def __init__(self, original: onnx.ModelProto, *, in_float: Callable[[onnx.NodeProto], bool],
                 types: Types, to_half: Callable[[TensorProto], TensorProto]):
        self._in_float, self._types, self._to_half = in_float, types, to_half
        self._taken: set = set()
        self._collect(original.graph)

    def _collect(self, graph: onnx.GraphProto) -> None:
        self._taken.update(value.name for value in (*graph.input, *graph.initializer))
        for node in graph.node:
            self._taken.update(node.output)
            self._taken.add(node.name)
            for body in bodies(node):
                self._collect(body)

    def _name(self, wanted: str) -> str:
        name, count = wanted, 1
        while name in self._taken:
            name, count = f"{wanted}_{count}", count + 1
        self._taken.add(name)
        return name

    def _cast(self, source: str, result: str, dtype: int) -> onnx.NodeProto:
        return helper.make_node("Cast", [source], [result],
                                self._name(f"{result}_cast"), to=dtype)

    def _read(self, value: Value, dtype: int) -> str:
        if value.emit and value.dtype is None:
            value.dtype = dtype
            value.emit(dtype, value.name)
        if value.dtype in (None, dtype):
            return value.name
        if dtype not in value.twins:
            name = self._name(f"{value.name}_{_SUFFIX[dtype]}")
            if value.emit:
                value.emit(dtype, name)
            else:
                value.behind.append(self._cast(value.name, name, dtype))
            value.twins[dtype] = name
        return value.twins[dtype]

    def _define(self, name: str, dtype: int | None, behind: list,
                outputs: dict[str, int]) -> Value:
        """Defines a result of a node. An output of the model keeps its name in the dtype
        that the output has."""
        wanted = outputs.get(name)
        if dtype is None or wanted in (None, dtype):
            return Value(name, dtype, behind)
        value = Value(self._name(f"{name}_{_SUFFIX[dtype]}"), dtype, behind, {wanted: name})
        behind.append(self._cast(value.name, name, wanted))
        return value

    def _constants(self, original, converted, scope: Scope, front: list,
                   outputs: dict[str, int]) -> list[TensorProto]:
        """Initializers that nobody can override: those that are read are emitted then."""
        halves = {tensor.name: tensor for tensor in converted.initializer
                  if tensor.data_type == HALF}
        inputs = {value.name for value in original.input}
        emitted = []

        def emitter(tensor):
            def emit(dtype: int, name: str) -> None:
                made = TensorProto()
                made.CopyFrom(tensor)
                if dtype == HALF and tensor.name in halves:
                    made.CopyFrom(halves[tensor.name])
                elif dtype == HALF:
                    made = self._to_half(made)
                made.name = name
                emitted.append(made)
            return emit

        for tensor in original.initializer:
            emit = emitter(tensor)
            if tensor.data_type != FLOAT:
                emitted.append(tensor)
            elif tensor.name in inputs:
                emit(typing.cast(Value, scope.find(tensor.name)).dtype, tensor.name)
            else:
                value = scope[tensor.name] = Value(tensor.name, None, front, emit=emit)
                if tensor.name in outputs:
                    self._read(value, outputs[tensor.name])
        return emitted

    def graph(self, original: onnx.GraphProto, converted: onnx.GraphProto,
              known: dict[str, bool], *, inside_float: bool = False, outer: Scope | None = None,
              interface: Interface | None = None) -> None:
        """Rewires `converted`. `known`: of the original's tensors, whether they are FP32."""
        scope, entries = Scope(outer), []
        front: list = []
        other = FLOAT if inside_float else HALF
        outputs = {}
        for value in original.output:
            if interface and known.get(value.name):
                outputs[value.name] = FLOAT if value.name in interface.outputs else HALF
        for value, made in zip(original.input, converted.input, strict=True):
            dtype = None
            if value.type.tensor_type.elem_type == FLOAT:
                dtype = FLOAT if interface and value.name in interface.inputs else other
                made.type.tensor_type.elem_type = dtype
                if value.name in outputs:
                    outputs[value.name] = dtype
            scope[value.name] = Value(value.name, dtype, front)
        emitted = self._constants(original, converted, scope, front, outputs)
        by_name = {node.name: node for node in converted.node}
        for node in original.node:
            entry: list = []
            entries.append(entry)
            tensor = constant_of(node)
            if tensor is not None and node.output[0] not in outputs:
                scope[node.output[0]] = self._constant_node(node, tensor, entry)
                continue
            self._node(node, by_name.get(node.name, node), known, scope, entry, outputs,
                       inside_float or self._in_float(node))
        for value, made in zip(original.output, converted.output, strict=True):
            self._output(value, made, scope, outputs, other, interface is None)
        del converted.node[:], converted.value_info[:], converted.initializer[:]
        converted.node.extend(front)
        for entry in entries:
            converted.node.extend(entry)
        converted.initializer.extend(emitted)

    def _output(self, value, made, scope, outputs, other, is_body) -> None:
        made.name = value.name
        found = scope.find(value.name)
        if is_body and found and (found.dtype or found.emit):
            made.name = self._read(found, other)
            outputs = {value.name: other}
        if value.name in outputs and value.type.tensor_type.elem_type == FLOAT:
            made.type.tensor_type.elem_type = outputs[value.name]

    def _constant_node(self, node, tensor: TensorProto, entry: list) -> Value:
        def emit(dtype: int, name: str) -> None:
            made = TensorProto()
            made.CopyFrom(tensor)
            made.name = ""
            if dtype == HALF:
                made = self._to_half(made)
            title = node.name if name == node.output[0] else self._name(f"{node.name}_twin")
            entry.append(helper.make_node("Constant", [], [name], title, value=made))
        return Value(node.output[0], None, entry, emit=emit)

    def _node(self, original, converted, known, scope, entry, outputs, in_float) -> None:
        node = onnx.NodeProto()
        node.CopyFrom(original if in_float else converted)
        node.input[:], node.output[:] = original.input, original.output
        entry.append(node)
        for index, name in enumerate(original.input):
            if (value := scope.find(name)) is not None:
                dtype = FLOAT if in_float else self._types.takes(original, index)
                node.input[index] = self._read(value, dtype)
        for body, made in zip(bodies(original), bodies(node), strict=True):
            self.graph(body, made, known_floats(body, known), inside_float=in_float, outer=scope)
        for index, name in enumerate(original.output):
            if not name:
                continue
            is_float = known.get(name)
            if is_float is None:
                is_float = self._types.is_float(original, index, scope)
            dtype = None
            if is_float:
                dtype = FLOAT if in_float else self._types.gives(node, index)
            value = scope[name] = self._define(name, dtype, entry, outputs)
            node.output[index] = value.name


def known_floats(graph: onnx.GraphProto, outer: dict[str, bool] | None = None) -> dict[str, bool]:
    """Whether a tensor is FP32, by name, for tensors of known type."""
    known = dict(outer or {})
    for value in (*graph.value_info, *graph.input, *graph.output):
        kind = value.type.WhichOneof("value")
        if kind == "tensor_type" and value.type.tensor_type.elem_type:
            known[value.name] = value.type.tensor_type.elem_type == FLOAT
        elif kind and kind != "tensor_type":
            known[value.name] = False
    return known

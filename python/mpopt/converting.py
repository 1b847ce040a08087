"""Models in FP16 of which some ops stay in FP32, by the converters that there are."""

from __future__ import annotations

import copy
import importlib
import os
import typing
from collections.abc import Mapping, Sequence
from types import ModuleType

from mpopt import _input_files, _json_files
from mpopt._command import Error, PathLike, argument

if typing.TYPE_CHECKING:
    import onnx

Converter = typing.Literal["onnxruntime", "onnxconverter-common"]
_MODULES = {"onnxruntime": "onnxruntime.transformers.float16",
            "onnxconverter-common": "onnxconverter_common.float16"}
#: Constants stay in what FP16 holds, and are not 0: onnxconverter-common's own limits are
#: 1e-7 and 10000.
_LIMITS = {"min_positive_val": 5.96e-08, "max_finite_val": 65504.0}
_LARGEST_PROTO = 2**31 - 1


def to_float16(model, keep: PathLike | Mapping | Sequence[str] | None = None, *,
               converter: Converter = "onnxruntime",
               keep_io_types: bool | Sequence[str] | None = None) -> onnx.ModelProto:
    """Returns the model in FP16, the ops of `keep` in FP32.

    model          the path of an ONNX model, an `onnx.ModelProto` or its bytes; it stays
                   as it is
    keep           a file that `--keep-fp32` wrote (but for `.autocast.txt`), what is in
                   it, or names of nodes; none: all ops become FP16 that the converter
                   holds fit for it
    converter      the package whose `convert_float_to_float16` is called; it has to be
                   installed
    keep_io_types  inputs and outputs in FP32: True for all, False for none, or their names.
                   Default: inputs that an op of `keep` reads, and outputs that one computes,
                   since FP16 may not hold them

    The converter makes nodes, attributes and weights FP16, and by its own list leaves some
    ops (`DEFAULT_OP_BLOCK_LIST`) in FP32. Casts are then placed anew, since those of the
    converters make models that do not load (two casts of one name where two FP32 ops read a
    tensor), and round between two FP32 ops, so that what overflows in FP16 is Inf still.
    Here a tensor is cast once, where an op that reads it needs another dtype, and constants
    that FP32 ops read are those of the model. Nodes without a name get `TYPE_INDEX`, as in
    mpopt's reports; functions of the model are inlined.

    Raises `mpopt.Error` if the converter is not installed or fails, if `keep` names a node
    that the model lacks, or if the result is invalid although the original is valid.

    Sources: onnxruntime/python/tools/transformers/float16.py of ONNX Runtime 1.31 and
    onnxconverter_common/float16.py 1.16."""
    module = _load_converter(converter)
    original = _load(model)
    names = _name_nodes(original, _read_keep(keep))
    return _convert(original, names, module, converter, keep_io_types)


def _load_converter(converter: str) -> ModuleType:
    if converter not in _MODULES:
        raise Error(f"converter: '{converter}' is not {' or '.join(_MODULES)}")
    try:
        return importlib.import_module(_MODULES[converter])
    except ImportError as error:
        raise Error(f"converter: {_MODULES[converter]} is not there ({error}): "
                    f"pip install onnx {converter}") from error


def _load(model) -> onnx.ModelProto:
    """A copy of the model, without constants among the inputs, functions inlined."""
    import onnx

    if isinstance(model, str | os.PathLike):
        with argument("the model"):
            _input_files.check(model)
        try:
            loaded = onnx.load(os.fspath(model))
        except Exception as error:  # noqa: BLE001: protobuf's, which differ by version
            raise Error(f"the model: '{os.fspath(model)}' is no ONNX model ({(str(error).splitlines() or [type(error).__name__])[0]})") from error
    elif isinstance(model, onnx.ModelProto):
        loaded = onnx.ModelProto()
        loaded.CopyFrom(model)
    elif isinstance(model, bytes):
        try:
            loaded = onnx.load_from_string(model)
        except Exception as error:  # noqa: BLE001: protobuf's, which differ by version
            raise Error("the bytes are no ONNX model") from error
    else:
        raise Error(f"a path or an ONNX model, not {type(model).__name__}")
    if any(onnx.external_data_helper.uses_external_data(tensor)
           for tensor in loaded.graph.initializer):
        raise Error("the weights are in other files: give the model's path")
    if loaded.functions:
        import onnx.inliner

        loaded = onnx.inliner.inline_local_functions(loaded)
    if loaded.ir_version < 4:
        # Initializers are listed as inputs there, but nobody can override them.
        loaded.ir_version = 4
        constants = {tensor.name for tensor in loaded.graph.initializer}
        inputs = [value for value in loaded.graph.input if value.name not in constants]
        del loaded.graph.input[:]
        loaded.graph.input.extend(inputs)
    return loaded


def _read_keep(keep) -> set[str]:
    """The names in what `--keep-fp32` writes for converters, or in mpopt's own form."""
    if keep is None:
        return set()
    with argument("keep"):
        if isinstance(keep, str | os.PathLike):
            if os.fspath(keep).endswith(".autocast.txt"):
                raise Error("keep: .autocast.txt is for ModelOpt: write .json")
            keep = _json_files.read(keep)
        if isinstance(keep, Mapping):
            if "node_block_list" in keep:
                keep = keep["node_block_list"]
            elif keep.get("schema") == "mpopt-keep/1":
                keep = [op["name"] for op in keep["ops"]]
            else:
                raise Error("keep: it is not what --keep-fp32 writes")
        if isinstance(keep, (str, bytes)):
            raise TypeError("a list of names, not a text")
        names = list(keep)
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise TypeError(f"names of nodes, not {type(wrong[0]).__name__}")
        return set(names)


def _name_nodes(model: onnx.ModelProto, keep: set[str]) -> set[str]:
    """Gives each node a name of its own; returns those of the nodes to keep. Converters
    know nodes by names, which may be missing or there twice."""
    from mpopt import _mixed_graph

    kept, missing, taken = set(), set(keep), set()

    def visit(graph):
        for index, node in enumerate(graph.node):
            name = node.name or f"{node.op_type}_{index}"
            missing.discard(name)
            node.name, count = name, 0
            while node.name in taken:
                count += 1
                node.name = f"{name}.{count}"
            taken.add(node.name)
            if name in keep:
                kept.add(node.name)
            for body in _mixed_graph.bodies(node):
                visit(body)

    visit(model.graph)
    if missing:
        raise Error(f"keep: the model has no node '{min(missing)}'")
    return kept


def _convert(original, names: set[str], module: ModuleType, converter: str,
             keep_io_types) -> onnx.ModelProto:
    from mpopt import _mixed_graph

    is_valid = _complaint(original) is None
    typed = _infer(original)
    try:
        converted = module.convert_float_to_float16(
            copy.deepcopy(typed), keep_io_types=False, disable_shape_infer=True,
            node_block_list=sorted(names), **_LIMITS)
    except Exception as error:  # noqa: BLE001: whatever it says of the model
        lines = str(error).strip().splitlines()
        raise Error(f"{converter}: {lines[0] if lines else type(error).__name__}") from error
    fit = frozenset(module.DEFAULT_OP_BLOCK_LIST)
    rewiring = _mixed_graph.Rewiring(
        typed, in_float=lambda node: node.op_type in fit or node.name in names,
        types=_mixed_graph.Types(typed, getattr(module, "ALWAYS_FLOAT_INPUTS", {})),
        to_half=lambda tensor: module.convert_tensor_float_to_float16(tensor, **_LIMITS))
    rewiring.graph(typed.graph, converted.graph, _mixed_graph.known_floats(typed.graph),
                   interface=_interface(typed.graph, names, keep_io_types))
    if is_valid and (complaint := _complaint(converted)):
        raise Error(f"{converter}: its model is not valid ({complaint})")
    return converted


def _interface(graph, names: set[str], keep_io_types):
    from mpopt import _mixed_graph

    inputs = {value.name for value in graph.input}
    outputs = {value.name for value in graph.output}
    if isinstance(keep_io_types, bool):
        return _mixed_graph.Interface(inputs if keep_io_types else (),
                                      outputs if keep_io_types else ())
    if keep_io_types is not None:
        with argument("keep_io_types"):
            if isinstance(keep_io_types, str):
                raise TypeError("a list of names, not one")
            wanted = set(keep_io_types)
        if unknown := wanted - inputs - outputs:
            raise Error(f"keep_io_types: the model has no input or output '{min(unknown)}'")
        return _mixed_graph.Interface(wanted, wanted)
    read, computed = set(), set()

    def visit(nodes, inside: bool):
        for node in nodes:
            kept = inside or node.name in names
            if kept:
                read.update(node.input)
                computed.update(node.output)
            for body in _mixed_graph.bodies(node):
                visit(body.node, kept)

    visit(graph.node, False)
    return _mixed_graph.Interface(inputs & read, outputs & computed)


def _infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with inferred types of tensors. A model that is too large for protobuf's
    own copy does without: ONNX's schemas then say what is FP32."""
    import onnx

    if model.ByteSize() >= _LARGEST_PROTO:
        return model
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001: a wrong model is the runtime's business
        return model


def _complaint(model: onnx.ModelProto) -> str | None:
    """The error of ONNX's own checks, types included; None for a valid model, and for one
    that is too large for them."""
    import onnx

    if model.ByteSize() >= _LARGEST_PROTO:
        return None
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # noqa: BLE001: two kinds, of two modules
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return lines[-1] if lines else type(error).__name__
    return None

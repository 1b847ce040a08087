"""Archives of TorchScript (.pt) in mixed precision, by the graph of their method `forward` (`_torch_converting`).

PyTorch does not know the types of tensors there; the analysis does, and says them by the graph's names. All calls are
inlined: one piece of code may be in FP32 where one caller reads it, and low where another one does."""

import io
import warnings
from collections.abc import Iterator
from typing import Any

from mpopt import _modules, _torch_converting
from mpopt._command import Error
from mpopt._torch_converting import Plan, Step, alias_of, shared_storages

#: They read the shape or the place alone.
_OF_SHAPE = ("aten::size", "aten::dim", "aten::numel", "aten::len", "prim::device", "prim::is_cuda", "prim::shape")
#: Their result may be a view, and of another type.
_RETYPING = ("aten::to", "aten::type_as", "aten::view_as_complex", "aten::view_as_real", "aten::real", "aten::imag")
_LOW = ("f16", "bf16")
_INTEGERS = ("i64", "i32", "i16", "i8", "u8")
_FORBIDDEN = {"prim::CallMethod": "a call that depends on data", "prim::CallFunction": "a call that depends on data",
              "prim::fork": "a task that runs beside the rest", "prim::rpc_async": "a task that runs beside the rest"}


def convert(source: str, plan: Plan) -> bytes:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = torch.jit.load(source, map_location="cpu")
    except Exception as error:  # of many classes
        raise Error(f"cannot be loaded ({_modules.reason(error)})") from error
    methods = [name for name in module._c._method_names() if not name.startswith("__")]
    if methods != ["forward"]:
        raise Error(f"--convert takes archives with the method forward alone, and this has {', '.join(methods) or 'none'}")
    _Converter(module, plan).run()
    buffer = io.BytesIO()
    torch.jit.save(module, buffer, _extra_files={_torch_converting.STAMP: plan.stamp()})
    return buffer.getvalue()


def _walk(block) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for body in node.blocks():
            yield from _walk(body)


def _is_tensor(value) -> bool:
    return str(value.type()) in ("Tensor", "Optional[Tensor]") or value.type().kind() == "TensorType"


def _is_list(value) -> bool:
    return str(value.type()) in ("List[Tensor]", "List[Optional[Tensor]]")


def _constant(value):
    """What a constant holds; an `Error` for any other value."""
    if value.node().kind() != "prim::Constant":
        raise Error("no constant")
    return value.toIValue()


def _key(value) -> str:
    return value.debugName()


class _Converter:
    def __init__(self, module, plan: Plan) -> None:
        import torch

        self._module, self._plan = module, plan
        self._graph = module.graph
        copied = self._graph.copy()
        for graph in (copied, self._graph):
            torch._C._jit_pass_inline(graph)
        # The analysis has the names of a copy.
        self._names = {_key(value): _key(other) for node, twin in zip(_walk(self._graph), _walk(copied), strict=True)
                       for value, other in zip(node.outputs(), twin.outputs(), strict=True)}
        self._attributes = dict(module.named_parameters()) | dict(module.named_buffers())
        #: The paths of modules and attributes by value, and the type of each value now: None if it is not known.
        self._paths: dict[str, str] = {}
        self._types: dict[str, str | None] = {}
        self._casts: dict[tuple, Any] = {}
        self._made: list[Any] = []
        self._steps: list[Step] = []
        self._kept_attributes: set[str] = set()

    def run(self) -> None:
        inputs = list(self._graph.inputs())
        self._paths[_key(inputs[0])] = ""
        self._inputs = inputs[1:]
        self._settle_switches()
        self._join_tuples()
        for index, value in enumerate(self._inputs):
            self._types[_key(value)] = self._known(f"input {index}")
        self._read_block(self._graph)
        self._read_lists()
        self._check()
        self._values_written = self._plan.decide(self._steps, set(self._names.values())).values
        self._constants = self._insert_constants()
        for step in self._steps:
            self._rewrite(step)
        self._convert_outputs()
        self._convert_parameters()
        self._note_inputs()
        self._plan.check_borders()
        self._plan.note_kept(step for step in self._steps if step.reads)
        for cast, reader in self._made:
            self._plan.note_cast(_key(cast.inputsAt(0)), cast.inputsAt(1).toIValue() == 6, reader)
        self._graph.lint()

    # Reading.

    def _settle_switches(self) -> None:
        """Takes the branches that numbers in the archive decide, as the analysis does: `training`, `inplace`."""
        import torch

        nodes = list(_walk(self._graph))
        for node in nodes:
            if node.kind() in ("prim::GetAttr", "prim::SetAttr"):
                path = self._path(node)
                if node.kind() == "prim::SetAttr":
                    self._kept_attributes.add(path)
                else:
                    self._paths[_key(node.output())] = path
        for node in nodes:
            if node.kind() == "prim::GetAttr" and (path := self._paths[_key(node.output())]) not in self._kept_attributes:
                if isinstance(value := self._attribute(path), bool | int | float):
                    settled = self._graph.insertConstant(value)
                    settled.node().moveBefore(node)
                    node.output().replaceAllUsesWith(settled)
        torch._C._jit_pass_constant_propagation_immutable_types(self._graph)
        torch._C._jit_pass_dce(self._graph)

    def _attribute(self, path: str):
        holder: Any = self._module
        for part in path.split("."):
            holder = getattr(holder, part)
        return holder

    def _join_tuples(self) -> None:
        for node in list(_walk(self._graph)):
            if node.kind() == "prim::TupleUnpack" and (made := node.inputsAt(0).node()).kind() == "prim::TupleConstruct":
                for value, member in zip(node.outputs(), list(made.inputs()), strict=True):
                    value.replaceAllUsesWith(member)
                node.destroy()
                if not any(value.uses() for value in made.outputs()):
                    made.destroy()

    def _known(self, name: str) -> str | None:
        return (self._plan.values.get(name) or {}).get("dtype") or None

    def _read_block(self, block) -> None:
        for node in block.nodes():
            self._read(node)
            for body in node.blocks():
                for value in body.inputs():
                    self._types[_key(value)] = self._known(_key(value)) if _is_tensor(value) else ""
                self._read_block(body)
                self._steps.append(self._structural(body.returnNode()))
            if node.kind() == "prim::If":
                self._read_results(node)

    def _read_results(self, node) -> None:
        """A branch that the analysis did not follow, for the shapes that it had, has no types."""
        for value, *given in zip(node.outputs(), *(body.outputs() for body in node.blocks()), strict=True):
            types = {self._types.get(_key(each)) for each in given} - {None}
            if _is_tensor(value) and self._types.get(_key(value)) is None and len(types) == 1:
                self._types[_key(value)] = types.pop()

    def _structural(self, node) -> Step:
        """A step that reads what it read before."""
        step = Step(node, [], node.kind(), [_key(value) for value in node.inputs() if _is_tensor(value)],
                    [_key(value) for value in node.outputs()])
        step.widen()
        return step

    def _read(self, node) -> None:
        kind = node.kind()
        if kind in _FORBIDDEN:
            raise Error(f"'{kind}' in its code is {_FORBIDDEN[kind]}, which --convert does not take")
        if kind == "prim::ListUnpack":
            return
        for value in self._results(node):
            if _is_tensor(value):
                self._types[_key(value)] = self._known(self._names[_key(value)]) or self._type_of_view(node)
        if kind == "prim::Constant":
            self._read_constant(node)
        elif kind == "prim::GetAttr":
            self._read_attribute(node)
        elif kind == "prim::ListConstruct" and all(use.user.kind().startswith("aten::") for use in node.output().uses()):
            return
        elif kind == "prim::TupleConstruct" and self._is_result(node.output()):
            return
        elif node.schema() == "(no schema)" or not kind.startswith("aten::"):
            self._steps.append(self._structural(node))
        else:
            self._steps.append(self._read_op(node))

    def _is_result(self, value) -> bool:
        return len(value.uses()) == 1 and any(_key(value) == _key(result) for result in self._graph.outputs())

    def _path(self, node) -> str:
        owner, name = self._paths[_key(node.inputsAt(0))], node.s("name")
        return f"{owner}.{name}" if owner else name

    def _read_constant(self, node) -> None:
        import torch

        if _is_tensor(node.output()) and isinstance(tensor := node.output().toIValue(), torch.Tensor):
            self._types[_key(node.output())] = _type_name(tensor.dtype)

    def _read_attribute(self, node) -> None:
        import torch

        if not _is_tensor(node.output()):
            return
        path = self._paths[_key(node.output())]
        holder = self._attribute(path)
        # None, of an optional one, has no type to be changed.
        self._types[_key(node.output())] = _type_name(holder.dtype) if isinstance(holder, torch.Tensor) else ""
        if isinstance(holder, torch.Tensor):
            self._attributes.setdefault(path, holder)

    def _members(self, value) -> list:
        """The tensors in an operand that is one, or a list that the graph makes."""
        if _is_tensor(value):
            return [value] if value.node().kind() != "prim::Constant" or self._types.get(_key(value)) else []
        made = value.node()
        return list(made.inputs()) if _is_list(value) and made.kind() == "prim::ListConstruct" else []

    @staticmethod
    def _results(node) -> list:
        """What a node gives, and what is unpacked of lists."""
        found = []
        for value in node.outputs():
            found.append(value)
            if _is_list(value):
                found += [member for use in value.uses() if use.user.kind() == "prim::ListUnpack"
                          for member in use.user.outputs()]
        return found

    def _type_of_view(self, node) -> str | None:
        """The analysis has no value of its own for a view that is what is viewed. None for any other op."""
        import torch

        if not node.kind().startswith("aten::") or node.kind() in _RETYPING:
            return None
        schema = torch._C.parse_schema(node.schema())
        viewed = {self._types.get(_key(value)) for argument, value in zip(schema.arguments, node.inputs(), strict=False)
                  if argument.alias_info is not None and _is_tensor(value)}
        is_view = len(schema.returns) == 1 and schema.returns[0].alias_info is not None
        is_plain = not any(argument.name == "dtype" for argument in schema.arguments)
        return viewed.pop() if is_view and is_plain and len(viewed) == 1 else None

    def _read_op(self, node) -> Step:
        import torch

        schema = torch._C.parse_schema(node.schema())
        operands = list(node.inputs())
        tensors = [member for value in operands for member in self._members(value)]
        results = [_key(value) for value in self._results(node)]
        types = [self._types.get(_key(member)) for member in tensors]
        read = [_key(member) for member, type_ in zip(tensors, types, strict=True) if type_ == "f32"]
        names = [self._names.get(result, result) for result in results] or [node.kind()]
        step = Step(node, names, node.kind(), read, results)
        step.writes, step.aliases = alias_of(
            schema, lambda index: [_key(member) for member in self._members(operands[index])], lambda index: results)
        given = {argument.name: value for argument, value in zip(schema.arguments, operands, strict=False)}
        dtype = given.get("dtype")
        is_open = dtype is not None and dtype.node().kind() != "prim::Constant"
        chosen = None if dtype is None or is_open else dtype.toIValue()
        # 6 is torch.float32.
        step.gives_wide = not read or chosen == 6
        given_types = [self._types.get(result) for result in results if result in self._types]
        unknown = [type_ for type_ in (*types, *given_types) if type_ is None or "complex" in type_ or type_ in _LOW]
        has_lists = any(_is_list(value) and not self._members(value) and value.node().kind() != "prim::ListConstruct"
                        for value in operands)
        if has_lists:
            step.widen("it reads a list of tensors, which no cast takes")
        elif unknown or is_open:
            step.widen("types of its tensors are not known, or are of 16 bits already")
        elif not read or not given_types:
            step.widen()
        training = given.get("training")
        if node.kind().endswith("batch_norm") and training is not None and (
                training.node().kind() != "prim::Constant" or training.toIValue()):
            step.widen("it changes a tensor that stays in FP32")
        step.is_count = bool(read) and node.kind() in ("aten::to", "aten::type_as") and bool(given_types) and \
            given_types[0] in _INTEGERS
        return step

    def _read_lists(self) -> None:
        """A list that is read as one stays FP32, since no cast takes one."""
        unpacked = {result for node in _walk(self._graph) if node.kind() == "prim::ListUnpack" for result in [_key(node.inputsAt(0))]}
        for step in self._steps:
            for value in step.node.outputs():
                if _is_list(value) and (_key(value) not in unpacked or
                                        any(use.user.kind() != "prim::ListUnpack" for use in value.uses())):
                    step.widen("it gives a list of tensors, which no cast takes")

    def _check(self) -> None:
        for node in _walk(self._graph):
            for value in node.outputs():
                if "autocast" in str(value.type()):
                    raise Error("a region of autocast in it is in mixed precision already")
        # What is of 16 bits in the file stays.
        self._types |= {name: "own" for name, type_ in self._types.items() if type_ in _LOW}

    # Writing.

    def _insert_constants(self) -> dict:
        import torch

        first = next(iter(self._graph.nodes()))
        made = {}
        for value in (5 if self._plan.low == torch.float16 else 15, 6, False, None):
            made[value] = self._graph.insertConstant(value)
            made[value].node().moveBefore(first)
        self._first = first
        return made

    def _cast(self, value, type_: str, reader):
        """The value as `reader` reads it."""
        had = self._types.get(_key(value))
        if had == type_ or had not in ("f32", self._plan.low_name):
            return value
        if (_key(value), type_) in self._casts:
            return self._casts[_key(value), type_]
        code = 6 if type_ == "f32" else 5 if type_ == "f16" else 15
        none = self._constants[None]
        no = self._constants[False]
        node = self._graph.create("aten::to", [value, self._constants[code], no, no, none])
        is_written = _key(value) in self._values_written
        made = value.node()
        if is_written:
            node.insertBefore(reader)
        elif made.kind() == "prim::Param":
            self._insert_first(node, value)
        else:
            node.insertAfter(made)
        result = node.output()
        self._types[_key(result)] = type_
        self._made.append((node, reader.kind()))
        if not is_written:
            self._casts[_key(value), type_] = result
        return result

    def _insert_first(self, node, value) -> None:
        """At the start of the block whose parameter the value is."""
        if any(_key(value) == _key(each) for each in self._inputs):
            return node.insertBefore(self._first)
        for owner in _walk(self._graph):
            for body in owner.blocks():
                if any(_key(value) == _key(each) for each in body.inputs()):
                    return node.insertBefore(next(iter(body.nodes()), body.returnNode()))
        raise Error(f"'{_key(value)}' has no block")

    def _rewrite(self, step: Step) -> None:
        node = step.node
        if node.kind() in _OF_SHAPE:
            return
        if not step.is_wide:
            self._try(step)
        type_ = "f32" if step.is_wide else self._plan.low_name
        for index, value in enumerate(list(node.inputs())):
            if _is_tensor(value):
                node.replaceInput(index, self._cast(value, type_, node))
            elif members := self._members(value):
                cast = [self._cast(member, type_, node) for member in members]
                if any(_key(one) != _key(other) for one, other in zip(cast, members, strict=True)):
                    made = self._graph.create("prim::ListConstruct", cast)
                    made.insertBefore(node)
                    made.output().setType(value.type())
                    node.replaceInput(index, made.output())
                    if not value.uses():
                        value.node().destroy()
        if not step.is_wide and not step.gives_wide:
            for result in step.gives:
                if self._types.get(result) == "f32":
                    self._types[result] = self._plan.low_name

    def _example(self, value, float_type):
        import torch

        if not _is_tensor(value):
            return [self._example(member, float_type) for member in self._members(value)] if _is_list(value) else _constant(value)
        if value.node().kind() == "prim::Constant" and not self._types.get(_key(value)):
            return None
        type_ = self._types.get(_key(value))
        path = self._paths.get(_key(value))
        known = self._plan.values.get(self._names.get(_key(value), ""))
        if path in self._attributes:
            shape = list(self._attributes[path].shape)
        elif known and known["shape"]:
            shape = known["shape"]
        else:
            raise Error("its shape is not known")
        dtype = float_type if type_ in ("f32", self._plan.low_name) else _types().get(type_)
        if dtype is None:
            raise Error("its type is not known")
        return torch.zeros(shape, dtype=dtype)

    def _try(self, step: Step) -> None:
        import torch

        node = step.node
        try:
            arguments = [self._example(value, self._plan.low) for value in node.inputs()]
        except Error:
            return
        op = getattr(torch.ops.aten, node.kind().removeprefix("aten::"))
        numbers = [argument for argument in arguments if isinstance(argument, float)]
        tried = self._plan.try_kernel((node.kind(), len(arguments), *numbers), lambda type_: op(*[self._example(value, type_) for value in node.inputs()]))
        if tried == "missing" and not any(value in self._values_written for value in (*step.gives, *step.reads)):
            step.widen(f"PyTorch has no kernel for {self._plan.low_name} on the CPU")
        elif tried == "overflow":
            for index, value in enumerate(list(node.inputs())):
                if isinstance(arguments[index], float | int) and (now := self._plan.clip(arguments[index])) != arguments[index]:
                    clipped = self._graph.insertConstant(now)
                    clipped.node().moveBefore(node)
                    node.replaceInput(index, clipped)

    # Inputs, outputs and parameters.

    def _convert_outputs(self) -> None:
        reader = self._graph.return_node()
        if reader.inputsAt(0).node().kind() == "prim::TupleConstruct" and self._is_result(reader.inputsAt(0)):
            reader = reader.inputsAt(0).node()
        for index, value in enumerate(list(reader.inputs())):
            had = self._types.get(_key(value))
            if not _is_tensor(value) or had not in ("f32", self._plan.low_name):
                continue
            name = self._names.get(_key(value), _key(value))
            type_ = {"kept": "f32", "low": self._plan.low_name, "open": had}[self._plan.choose(name)]
            reader.replaceInput(index, self._cast(value, type_, reader))
            self._plan.io.append({"name": name, "from": "f32", "to": type_})

    def _convert_parameters(self) -> None:
        low = self._low_casts()
        readers: dict[str, list] = {}
        for node in _walk(self._graph):
            if node.kind() == "prim::GetAttr" and (path := self._paths[_key(node.output())]) in self._attributes:
                readers.setdefault(path, []).append(node.output())
            elif node.kind() == "prim::Constant" and self._types.get(_key(node.output())) == "f32":
                self._convert_constant(node, low)
        tensors = {path: tensor for path, tensor in self._attributes.items() if _type_name(tensor.dtype) == "f32"}
        firsts = shared_storages(tensors)

        def is_low(path: str) -> bool:
            return path not in self._kept_attributes and self._is_low(readers.get(path, []), low)

        kept = {firsts[path] for path in tensors if not is_low(path)}
        made: dict[tuple, Any] = {}
        for path, tensor in tensors.items():
            size = tensor.untyped_storage().nbytes() if firsts[path] == path else 0
            self._plan.bytes[0] += size
            self._plan.bytes[1] += size if firsts[path] in kept else size // 2
            if firsts[path] in kept:
                continue
            for value in readers[path]:
                self._drop_casts(value, low)
            key = firsts[path], tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
            if key not in made:
                made[key] = self._plan.lower(tensor.detach())
            tensor.data = made[key]

    def _convert_constant(self, node, low: dict) -> None:
        value = node.output()
        tensor = value.toIValue()
        self._plan.bytes[0] += tensor.untyped_storage().nbytes()
        if self._is_low([value], low):
            self._drop_casts(value, low)
            node.t_("value", self._plan.lower(tensor.detach()))
            value.inferTypeFrom(node.t("value"))
        self._plan.bytes[1] += node.t("value").untyped_storage().nbytes()

    def _low_casts(self) -> dict:
        return {_key(node.output()): node for node, _ in self._made if self._types[_key(node.output())] == self._plan.low_name}

    @staticmethod
    def _is_low(values: list, low: dict) -> bool:
        """True if all that is read of these is their low cast, and at most their shape."""
        users = [use.user for value in values for use in value.uses() if use.user.kind() not in _OF_SHAPE]
        return bool(users) and all(user.kind() == "aten::to" and _key(user.output()) in low for user in users)

    def _drop_casts(self, value, low: dict) -> None:
        for use in value.uses():
            cast = use.user
            if cast.kind() in _OF_SHAPE:
                continue
            self._made = [(node, reader) for node, reader in self._made if _key(node.output()) != _key(cast.output())]
            low.pop(_key(cast.output()))
            cast.output().replaceAllUsesWith(value)
            cast.destroy()

    def _note_inputs(self) -> None:
        """An archive does not say what an input is: the cast in front of its readers takes both."""
        names = [argument.name for argument in self._module.forward.schema.arguments[1:]]
        noted = []
        low = self._low_casts()
        for name, value in zip(names, self._inputs, strict=True):
            if self._types.get(_key(value)) != "f32":
                continue
            is_low = self._is_low([value], low)
            choice = self._plan.choose(name)
            if choice == "low" and not is_low:
                raise Error(f"--keep-io-types: '{name}' is read in FP32")
            noted.append({"name": name, "from": "f32", "to": self._plan.low_name if is_low and choice != "kept" else "f32"})
        self._plan.io[:0] = noted


def _type_name(dtype) -> str:
    return {str(known).removeprefix("torch."): name for name, known in _types().items()}.get(
        str(dtype).removeprefix("torch."), str(dtype).removeprefix("torch."))


def _types() -> dict:
    import torch

    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i64": torch.int64,
            "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "i1": torch.bool}



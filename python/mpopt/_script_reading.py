"""The graph of an archive of TorchScript, read for `_script_converting`."""

from collections.abc import Iterator
from typing import Any

from mpopt._command import Error
from mpopt._torch_converting import Plan, Step, alias_of

#: They read the shape or the place alone.
OF_SHAPE = ("aten::size", "aten::dim", "aten::numel", "aten::len", "prim::device", "prim::is_cuda", "prim::shape")
#: Their result may be a view, and of another type.
_RETYPING = ("aten::to", "aten::type_as", "aten::view_as_complex", "aten::view_as_real", "aten::real", "aten::imag")
_LOW = ("f16", "bf16")
_INTEGERS = ("i64", "i32", "i16", "i8", "ui8")
_FORBIDDEN = {"prim::CallMethod": "a call that depends on data", "prim::CallFunction": "a call that depends on data",
              "prim::fork": "a task that runs beside the rest", "prim::rpc_async": "a task that runs beside the rest"}


def walk(block) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for body in node.blocks():
            yield from walk(body)


def is_tensor(value) -> bool:
    return str(value.type()) in ("Tensor", "Optional[Tensor]") or value.type().kind() == "TensorType"


def is_list(value) -> bool:
    return str(value.type()) in ("List[Tensor]", "List[Optional[Tensor]]")


def constant_in(value):
    """The number that a constant holds; an `Error` for any other value."""
    if value.node().kind() != "prim::Constant":
        raise Error("no constant")
    return value.toIValue()


def key_of(value) -> str:
    return value.debugName()


def type_name(dtype) -> str:
    return {str(known).removeprefix("torch."): name for name, known in types_by_name().items()}.get(
        str(dtype).removeprefix("torch."), str(dtype).removeprefix("torch."))


def types_by_name() -> dict:
    import torch

    return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64, "i64": torch.int64,
            "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "ui8": torch.uint8, "i1": torch.bool}


class Reader:
    """The steps of a method, and what is known of its values."""

    def __init__(self, module, plan: Plan) -> None:
        import torch

        self._module, self._plan = module, plan
        self._graph = module.graph
        copied = self._graph.copy()
        for graph in (copied, self._graph):
            torch._C._jit_pass_inline(graph)
        # The analysis has the names of a copy.
        self._names = {key_of(value): key_of(other) for node, twin in zip(walk(self._graph), walk(copied), strict=True)
                       for value, other in zip(node.outputs(), twin.outputs(), strict=True)}
        self._attributes = dict(module.named_parameters()) | dict(module.named_buffers())
        #: The paths of modules and attributes by value, and the type of each value now: None if it is not known.
        self._paths: dict[str, str] = {}
        self._types: dict[str, str | None] = {}
        self._casts: dict[tuple, Any] = {}
        self._made: list[Any] = []
        self._steps: list[Step] = []
        self._kept_attributes: set[str] = set()

    def read(self) -> None:
        inputs = list(self._graph.inputs())
        self._paths[key_of(inputs[0])] = ""
        self._inputs = inputs[1:]
        self._settle_switches()
        self._join_tuples()
        for index, value in enumerate(self._inputs):
            self._types[key_of(value)] = self._known(f"input {index}")
        self._read_block(self._graph)
        self._read_lists()
        self._check()

    def _settle_switches(self) -> None:
        """Takes the branches that numbers in the archive decide, as the analysis does: `training`, `inplace`."""
        import torch

        nodes = list(walk(self._graph))
        for node in nodes:
            if node.kind() in ("prim::GetAttr", "prim::SetAttr"):
                path = self._path(node)
                if node.kind() == "prim::SetAttr":
                    self._kept_attributes.add(path)
                else:
                    self._paths[key_of(node.output())] = path
        for node in nodes:
            if node.kind() == "prim::GetAttr" and (path := self._paths[key_of(node.output())]) not in self._kept_attributes:
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
        for node in list(walk(self._graph)):
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
                    self._types[key_of(value)] = self._known(key_of(value)) if is_tensor(value) else ""
                self._read_block(body)
                self._steps.append(self._structural(body.returnNode()))
            if node.kind() == "prim::If":
                self._read_results(node)

    def _read_results(self, node) -> None:
        """A branch that the analysis did not follow, for the shapes that it had, has no types."""
        for value, *given in zip(node.outputs(), *(body.outputs() for body in node.blocks()), strict=True):
            types = {self._types.get(key_of(each)) for each in given} - {None}
            if is_tensor(value) and self._types.get(key_of(value)) is None and len(types) == 1:
                self._types[key_of(value)] = types.pop()

    def _structural(self, node) -> Step:
        """A step that reads what it read before."""
        step = Step(node, [], node.kind(), [key_of(value) for value in node.inputs() if is_tensor(value)],
                    [key_of(value) for value in node.outputs()])
        step.widen()
        return step

    def _read(self, node) -> None:
        kind = node.kind()
        if kind in _FORBIDDEN:
            raise Error(f"'{kind}' in its code is {_FORBIDDEN[kind]}, which --convert does not take")
        if kind == "prim::ListUnpack":
            return
        for value in self._results(node):
            if is_tensor(value):
                self._types[key_of(value)] = self._known(self._names[key_of(value)]) or self._type_of_view(node)
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
        return len(value.uses()) == 1 and any(key_of(value) == key_of(result) for result in self._graph.outputs())

    def _path(self, node) -> str:
        owner, name = self._paths[key_of(node.inputsAt(0))], node.s("name")
        return f"{owner}.{name}" if owner else name

    def _read_constant(self, node) -> None:
        import torch

        if is_tensor(node.output()) and isinstance(tensor := node.output().toIValue(), torch.Tensor):
            self._types[key_of(node.output())] = type_name(tensor.dtype)

    def _read_attribute(self, node) -> None:
        import torch

        if not is_tensor(node.output()):
            return
        path = self._paths[key_of(node.output())]
        holder = self._attribute(path)
        # None, of an optional one, has no type to be changed.
        self._types[key_of(node.output())] = type_name(holder.dtype) if isinstance(holder, torch.Tensor) else ""
        if isinstance(holder, torch.Tensor):
            self._attributes.setdefault(path, holder)

    def _members(self, value) -> list:
        """The tensors in an operand that is one, or a list that the graph makes."""
        if is_tensor(value):
            return [value] if value.node().kind() != "prim::Constant" or self._types.get(key_of(value)) else []
        made = value.node()
        return list(made.inputs()) if is_list(value) and made.kind() == "prim::ListConstruct" else []

    @staticmethod
    def _results(node) -> list:
        """The values that a node gives, and those unpacked of lists."""
        found = []
        for value in node.outputs():
            found.append(value)
            if is_list(value):
                found += [member for use in value.uses() if use.user.kind() == "prim::ListUnpack"
                          for member in use.user.outputs()]
        return found

    def _type_of_view(self, node) -> str | None:
        """The analysis has no value of its own for a view that is what is viewed. None for any other op."""
        import torch

        if not node.kind().startswith("aten::") or node.kind() in _RETYPING:
            return None
        schema = torch._C.parse_schema(node.schema())
        viewed = {self._types.get(key_of(value)) for argument, value in zip(schema.arguments, node.inputs(), strict=False)
                  if argument.alias_info is not None and is_tensor(value)}
        is_view = len(schema.returns) == 1 and schema.returns[0].alias_info is not None
        is_plain = not any(argument.name == "dtype" for argument in schema.arguments)
        return viewed.pop() if is_view and is_plain and len(viewed) == 1 else None

    def _read_op(self, node) -> Step:
        import torch

        schema = torch._C.parse_schema(node.schema())
        operands = list(node.inputs())
        tensors = [member for value in operands for member in self._members(value)]
        results = [key_of(value) for value in self._results(node)]
        types = [self._types.get(key_of(member)) for member in tensors]
        read = [key_of(member) for member, type_ in zip(tensors, types, strict=True) if type_ == "f32"]
        names = [self._names.get(result, result) for result in results] or [node.kind()]
        step = Step(node, names, node.kind(), read, results)
        step.writes, step.aliases = alias_of(
            schema, lambda index: [key_of(member) for member in self._members(operands[index])], lambda index: results)
        given = {argument.name: value for argument, value in zip(schema.arguments, operands, strict=False)}
        dtype = given.get("dtype")
        is_open = dtype is not None and dtype.node().kind() != "prim::Constant"
        chosen = None if dtype is None or is_open else dtype.toIValue()
        # 6 is torch.float32.
        step.gives_wide = not read or chosen == 6
        given_types = [self._types.get(result) for result in results if result in self._types]
        unknown = [type_ for type_ in (*types, *given_types) if type_ is None or "complex" in type_ or type_ in _LOW]
        has_lists = any(is_list(value) and not self._members(value) and value.node().kind() != "prim::ListConstruct"
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
        unpacked = {result for node in walk(self._graph) if node.kind() == "prim::ListUnpack" for result in [key_of(node.inputsAt(0))]}
        for step in self._steps:
            for value in step.node.outputs():
                if is_list(value) and (key_of(value) not in unpacked or
                                        any(use.user.kind() != "prim::ListUnpack" for use in value.uses())):
                    step.widen("it gives a list of tensors, which no cast takes")

    def _check(self) -> None:
        for node in walk(self._graph):
            for value in node.outputs():
                if "autocast" in str(value.type()):
                    raise Error("a region of autocast in it is in mixed precision already")
        # A value of 16 bits in the file stays so.
        self._types |= {name: "own" for name, type_ in self._types.items() if type_ in _LOW}

"""Archives of TorchScript (.pt) in mixed precision, by the graph of their method `forward` (`_torch_converting`).

PyTorch does not know the types of tensors there; the analysis does, and says them by the graph's names. All calls are
inlined: one piece of code may be in FP32 where one caller reads it, and low where another one does."""

import io
import warnings
from typing import Any

from mpopt import _modules, _torch_converting
from mpopt._command import Error
from mpopt._script_reading import OF_SHAPE, Reader, constant_in, is_list, is_tensor, key_of, type_name, types_by_name, walk
from mpopt._torch_converting import Plan, Step, shared_storages


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


class _Converter(Reader):
    def run(self) -> None:
        self.read()
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
            self._plan.note_cast(key_of(cast.inputsAt(0)), cast.inputsAt(1).toIValue() == 6, reader)
        self._graph.lint()

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
        had = self._types.get(key_of(value))
        if had == type_ or had not in ("f32", self._plan.low_name):
            return value
        if (key_of(value), type_) in self._casts:
            return self._casts[key_of(value), type_]
        code = 6 if type_ == "f32" else 5 if type_ == "f16" else 15
        none = self._constants[None]
        no = self._constants[False]
        node = self._graph.create("aten::to", [value, self._constants[code], no, no, none])
        is_written = key_of(value) in self._values_written
        made = value.node()
        if is_written:
            node.insertBefore(reader)
        elif made.kind() == "prim::Param":
            self._insert_first(node, value)
        else:
            node.insertAfter(made)
        result = node.output()
        self._types[key_of(result)] = type_
        self._made.append((node, reader.kind()))
        if not is_written:
            self._casts[key_of(value), type_] = result
        return result

    def _insert_first(self, node, value) -> None:
        """At the start of the block whose parameter the value is."""
        if any(key_of(value) == key_of(each) for each in self._inputs):
            return node.insertBefore(self._first)
        for owner in walk(self._graph):
            for body in owner.blocks():
                if any(key_of(value) == key_of(each) for each in body.inputs()):
                    return node.insertBefore(next(iter(body.nodes()), body.returnNode()))
        raise Error(f"'{key_of(value)}' has no block")

    def _rewrite(self, step: Step) -> None:
        node = step.node
        if node.kind() in OF_SHAPE:
            return
        if not step.is_wide:
            self._try(step)
        type_ = "f32" if step.is_wide else self._plan.low_name
        for index, value in enumerate(list(node.inputs())):
            if is_tensor(value):
                node.replaceInput(index, self._cast(value, type_, node))
            elif members := self._members(value):
                cast = [self._cast(member, type_, node) for member in members]
                if any(key_of(one) != key_of(other) for one, other in zip(cast, members, strict=True)):
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

        if not is_tensor(value):
            return [self._example(member, float_type) for member in self._members(value)] if is_list(value) else constant_in(value)
        if value.node().kind() == "prim::Constant" and not self._types.get(key_of(value)):
            return None
        type_ = self._types.get(key_of(value))
        path = self._paths.get(key_of(value))
        known = self._plan.values.get(self._names.get(key_of(value), ""))
        if path in self._attributes:
            shape = list(self._attributes[path].shape)
        elif known and known["shape"]:
            shape = known["shape"]
        else:
            raise Error("its shape is not known")
        dtype = float_type if type_ in ("f32", self._plan.low_name) else types_by_name().get(type_)
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
            had = self._types.get(key_of(value))
            if not is_tensor(value) or had not in ("f32", self._plan.low_name):
                continue
            name = self._names.get(key_of(value), key_of(value))
            type_ = {"kept": "f32", "low": self._plan.low_name, "open": had}[self._plan.choose(name)]
            reader.replaceInput(index, self._cast(value, type_, reader))
            self._plan.io.append({"name": name, "from": "f32", "to": type_})

    def _convert_parameters(self) -> None:
        low = self._low_casts()
        readers: dict[str, list] = {}
        for node in walk(self._graph):
            if node.kind() == "prim::GetAttr" and (path := self._paths[key_of(node.output())]) in self._attributes:
                readers.setdefault(path, []).append(node.output())
            elif node.kind() == "prim::Constant" and self._types.get(key_of(node.output())) == "f32":
                self._convert_constant(node, low)
        tensors = {path: tensor for path, tensor in self._attributes.items() if type_name(tensor.dtype) == "f32"}
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
        return {key_of(node.output()): node for node, _ in self._made if self._types[key_of(node.output())] == self._plan.low_name}

    @staticmethod
    def _is_low(values: list, low: dict) -> bool:
        """True if all that is read of these is their low cast, and at most their shape."""
        users = [use.user for value in values for use in value.uses() if use.user.kind() not in OF_SHAPE]
        return bool(users) and all(user.kind() == "aten::to" and key_of(user.output()) in low for user in users)

    def _drop_casts(self, value, low: dict) -> None:
        for use in value.uses():
            cast = use.user
            if cast.kind() in OF_SHAPE:
                continue
            self._made = [(node, reader) for node, reader in self._made if key_of(node.output()) != key_of(cast.output())]
            low.pop(key_of(cast.output()))
            cast.output().replaceAllUsesWith(value)
            cast.destroy()

    def _note_inputs(self) -> None:
        """An archive does not say what an input is: the cast in front of its readers takes both."""
        names = [argument.name for argument in self._module.forward.schema.arguments[1:]]
        noted = []
        low = self._low_casts()
        for name, value in zip(names, self._inputs, strict=True):
            if self._types.get(key_of(value)) != "f32":
                continue
            is_low = self._is_low([value], low)
            choice = self._plan.choose(name)
            if choice == "low" and not is_low:
                raise Error(f"--keep-io-types: '{name}' is read in FP32")
            noted.append({"name": name, "from": "f32", "to": self._plan.low_name if is_low and choice != "kept" else "f32"})
        self._plan.io[:0] = noted

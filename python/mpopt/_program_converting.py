"""Exported programs (.pt2) in mixed precision, by the graph of `torch.fx` (`_torch_converting`)."""

import io
import operator
import warnings
from collections.abc import Iterable
from typing import Any

from mpopt import _modules, _torch_converting
from mpopt._command import Error
from mpopt._torch_converting import Plan, Step, alias_of, shared_storages

#: They read the shape or the type alone.
_OF_SHAPE = ("aten::sym_size", "aten::sym_numel", "aten::sym_stride", "aten::sym_storage_offset")
_FAKE = "val"


def convert(source: str, plan: Plan) -> bytes:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.load(source)
    except Exception as error:  # of many classes
        raise Error(f"cannot be loaded ({_modules.reason(error)})") from error
    _Converter(program, plan).run()
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, buffer, extra_files={_torch_converting.STAMP: plan.stamp()})
    return buffer.getvalue()


def _tensors(value) -> list:
    """The tensors of a value that a node gives: one or several."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for each in value for tensor in _tensors(each)] if isinstance(value, tuple | list) else []


def _nodes(argument) -> list:
    """The nodes in an argument."""
    import torch

    found: list = []
    torch.fx.node.map_arg(argument, found.append)
    return found


class _Graph:
    """A graph, its steps, and the casts in it."""

    def __init__(self, module, prefix: str, plan: Plan) -> None:
        self.module, self.graph, self.prefix = module, module.graph, prefix
        self._plan = plan
        #: Values of 16 bits that the file has, which stay.
        self._own = {node for node in self.graph.nodes if any(_is_low(tensor) for tensor in _tensors(node.meta.get(_FAKE)))}
        self.steps = {node: self._read(node) for node in self.graph.nodes
                      if node.op not in ("placeholder", "output", "get_attr") and not _is_member(node)}
        self.written: set = set()
        self.casts: set = set()
        self._cast: dict[tuple, Any] = {}

    def bodies(self) -> Iterable[tuple[str, Any]]:
        import torch

        for node in self.graph.nodes:
            if node.op == "get_attr" and isinstance(body := getattr(self.module, node.target, None), torch.fx.GraphModule):
                yield f"{self.prefix}{node.target}.", body

    def _read(self, node) -> Step:
        import torch

        members = [user for user in node.users if _is_member(user)]
        is_op = isinstance(node.target, torch._ops.OpOverload)
        schema: Any = node.target._schema if is_op else None
        name = schema.name if is_op else str(node.target)
        read = [each for each in _nodes((node.args, node.kwargs)) if self._is_float(each)]
        step = Step(node, [self.prefix + each.name for each in (node, *members)], name, read, [node, *members])
        if not is_op:
            step.widen()
            return step
        given = {argument.name: value for argument, value in zip(schema.arguments, node.args, strict=False)} | node.kwargs
        step.writes, step.aliases = alias_of(
            schema, lambda index: _nodes(given.get(schema.arguments[index].name)), lambda index: [node, *members])
        step.gives_wide = not read or given.get("dtype") == torch.float32
        around = (node, *_nodes((node.args, node.kwargs)))
        kinds = {tensor.dtype for each in around for tensor in _tensors(each.meta.get(_FAKE))}
        of_node = _tensors(node.meta.get(_FAKE))
        if any(kind.is_complex for kind in kinds):
            step.widen("it is about complex numbers")
        elif any(each in self._own for each in around):
            step.widen("it is of 16 bits in part already")
        elif not of_node or not read:
            step.widen()
        if name.endswith("batch_norm") and given.get("training") is True:
            step.widen("it changes a tensor that stays in FP32")
        dtype = given.get("dtype")
        step.is_count = bool(read and isinstance(dtype, torch.dtype) and not dtype.is_floating_point and not dtype.is_complex and
                             dtype != torch.bool)
        return step

    def is_own(self, node) -> bool:
        return node in self._own

    def _is_float(self, node) -> bool:
        import torch

        return any(tensor.dtype == torch.float32 for tensor in _tensors(node.meta.get(_FAKE)))

    def cast(self, value, dtype, reader):
        """The value as `reader` reads it."""
        import torch

        fake = value.meta.get(_FAKE)
        if not isinstance(fake, torch.Tensor) or fake.dtype == dtype or fake.dtype not in (torch.float32, self._plan.low):
            return value
        if value in self._own:
            return value
        if (value, dtype) in self._cast:
            return self._cast[value, dtype]
        is_input = value.op in ("placeholder", "get_attr")
        # A value that is changed between two reads is cast for each of them.
        behind = reader if value in self.written else self._first if is_input else value.next
        while behind.op == "placeholder" or _is_member(behind):
            behind = behind.next
        with self.graph.inserting_before(behind):
            made = self.graph.create_node("call_function", torch.ops.aten._to_copy.default, (value,), {"dtype": dtype},
                                          f"{value.name}_{str(dtype).removeprefix('torch.')}")
        like = reader if is_input else value
        made.meta = {key: like.meta[key] for key in ("nn_module_stack", "stack_trace", "source_fn_stack", "from_node")
                     if key in like.meta}
        with _mode_of(fake):
            made.meta[_FAKE] = fake.to(dtype)
        self.casts.add(made)
        if value not in self.written:
            self._cast[value, dtype] = made
        return made

    def rewrite(self) -> None:
        self._first = next(node for node in self.graph.nodes if node.op not in ("placeholder", "get_attr"))
        for node, step in self.steps.items():
            if step.type in _OF_SHAPE:
                continue
            if step.type == "aten::_assert_tensor_metadata":
                # It states the type that a value had.
                self.graph.erase_node(node)
            else:
                self._rewrite(node, step)

    def _rewrite(self, node, step: Step) -> None:
        import torch

        if not step.is_wide:
            tried = self._try(node, step)
            if tried == "missing" and not any(value in self.written for value in (*step.gives, *step.reads)):
                step.widen(f"PyTorch has no kernel for {self._plan.low_name} on the CPU")
            elif tried == "overflow":
                node.args = tuple(self._plan.clip(argument) for argument in node.args)
                node.kwargs = {key: self._plan.clip(argument) for key, argument in node.kwargs.items()}
        dtype = torch.float32 if step.is_wide else self._plan.low
        read = {value: self.cast(value, dtype, node) for value in step.reads}
        node.args, node.kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda value: read.get(value, value))
        self._infer(node, step)

    def _infer(self, node, step: Step) -> None:
        """Notes the types that the node gives now; shapes stay."""
        import torch

        had = node.meta.get(_FAKE)
        if not isinstance(node.target, torch._ops.OpOverload) or not _tensors(had) or step.gives_wide and not step.reads:
            return
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda value: value.meta.get(_FAKE))
        mode = _mode_of(_tensors(had)[0])
        try:
            with mode, torch.no_grad():
                dtypes = [tensor.dtype for tensor in _tensors(node.target(*args, **kwargs))]
        except Exception:  # noqa: BLE001: its shape depends on data, or it has no meta kernel
            dtypes = []
        if len(dtypes) != len(_tensors(had)):
            now = torch.float32 if step.is_wide or step.gives_wide else self._plan.low
            dtypes = [now if tensor.dtype == torch.float32 else tensor.dtype for tensor in _tensors(had)]
        left = iter(dtypes)
        with mode:
            node.meta[_FAKE] = _retype(had, left)
        for user in node.users:
            if _is_member(user):
                user.meta[_FAKE] = node.meta[_FAKE][user.args[1]]

    def _try(self, node, step: Step) -> str:
        import torch

        def example(value, dtype):
            fake = value.meta.get(_FAKE)
            if not isinstance(fake, torch.Tensor):
                return _hint(fake)
            is_float = fake.dtype in (torch.float32, self._plan.low)
            return torch.zeros([_hint(size) for size in fake.shape], dtype=dtype if is_float else fake.dtype)

        if any(tensor.device.type != "cpu" for value in _nodes((node.args, node.kwargs)) for tensor in
               _tensors(value.meta.get(_FAKE))):
            return ""

        def call(dtype):
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda value: example(value, dtype))
            node.target(*args, **kwargs)

        numbers = [argument for argument in (*node.args, *node.kwargs.values()) if isinstance(argument, float)]
        return self._plan.try_kernel((node.target, *numbers), call)


def _is_low(tensor) -> bool:
    import torch

    return tensor.dtype in (torch.float16, torch.bfloat16)


def _is_member(node) -> bool:
    return node.op == "call_function" and node.target is operator.getitem


def _mode_of(fake):
    return fake.fake_mode


def _hint(size):
    """The size that a symbolic dim was exported with."""
    hint = getattr(getattr(size, "node", None), "hint", size)
    return 2 if hint is None else hint


def _retype(had, dtypes):
    import torch

    if isinstance(had, tuple | list):
        return type(had)(_retype(each, dtypes) for each in had)
    if not isinstance(had, torch.Tensor):
        return had
    dtype = next(dtypes)
    return had if had.dtype == dtype else had.to(dtype)


class _Converter:
    def __init__(self, program, plan: Plan) -> None:
        self._program, self._plan = program, plan
        self._graphs: list[_Graph] = []
        self._collect(program.graph_module, "")

    def _collect(self, module, prefix: str) -> None:
        graph = _Graph(module, prefix, self._plan)
        self._graphs.append(graph)
        for name, body in graph.bodies():
            self._collect(body, name)

    def run(self) -> None:
        self._check()
        steps = [step for graph in self._graphs for step in graph.steps.values()]
        self._keep_states()
        written = self._plan.decide(steps)
        for graph in self._graphs:
            graph.written = written.values
            graph.rewrite()
            if graph is not self._graphs[0]:
                self._widen_results(graph)
        self._convert_outputs()
        self._convert_parameters()
        self._convert_inputs()
        self._plan.check_borders()
        self._plan.note_kept(step for step in steps if step.reads)
        for graph in self._graphs:
            for node in graph.graph.nodes:
                if node in graph.casts:
                    reader = next(iter(node.users)).name
                    self._plan.note_cast(node.args[0].name, node.kwargs["dtype"] != self._plan.low, reader)
            graph.graph.lint()
            graph.module.recompile()

    def _check(self) -> None:
        for spec in self._program.graph_signature.output_specs:
            if spec.kind.name.startswith(("LOSS", "GRADIENT")):
                raise Error("--convert takes no training step")
        for graph in self._graphs:
            for node in graph.graph.nodes:
                if "autocast" in str(node.target):
                    raise Error(f"'{node.name}' is a region of autocast, which is in mixed precision already")

    def _keep_states(self) -> None:
        """An op that gives a buffer its next value does not round it."""
        import torch

        graph = self._graphs[0]
        for spec, value in zip(self._program.graph_signature.output_specs, graph.graph.output_node().args[0], strict=True):
            if spec.kind.name.endswith("MUTATION") and isinstance(value, torch.fx.Node):
                maker = value.args[0] if _is_member(value) else value
                if maker in graph.steps:
                    graph.steps[maker].widen("a state comes of it")

    def _widen_results(self, graph: _Graph) -> None:
        import torch

        output = graph.graph.output_node()
        output.args = torch.fx.node.map_arg(output.args, lambda value: graph.cast(value, torch.float32, output))

    def _convert_outputs(self) -> None:
        import torch

        graph = self._graphs[0]
        output = graph.graph.output_node()
        results = list(output.args[0])
        for index, (spec, value) in enumerate(zip(self._program.graph_signature.output_specs, results, strict=True)):
            fake = value.meta.get(_FAKE) if isinstance(value, torch.fx.Node) else None
            if not isinstance(fake, torch.Tensor) or fake.dtype not in (torch.float32, self._plan.low) or graph.is_own(value):
                continue
            name = spec.arg.name
            choice = self._plan.choose(name) if spec.kind.name == "USER_OUTPUT" else "kept"
            dtype = {"kept": torch.float32, "low": self._plan.low, "open": fake.dtype}[choice]
            made = results[index] = graph.cast(value, dtype, output)
            if made is not value and spec.kind.name == "USER_OUTPUT" and value.op == "call_function":
                # The output keeps its name.
                value._rename(f"{name}_before")
                made._rename(name)
            spec.arg = type(spec.arg)(name=made.name)
            if spec.kind.name == "USER_OUTPUT":
                self._note_border(name, dtype)
        output.args = (tuple(results),)

    def _note_border(self, name: str, dtype) -> None:
        import torch

        self._plan.io.append({"name": name, "from": "f32", "to": "f32" if dtype == torch.float32 else self._plan.low_name})

    def _take(self, node) -> bool:
        """Makes a placeholder low all of whose readers read it cast; false if not all do."""
        graph = self._graphs[0]
        if node.users and not self._may_take(node):
            return False
        for cast in list(node.users):
            cast.replace_all_uses_with(node)
            graph.casts.discard(cast)
            graph.graph.erase_node(cast)
        fake = node.meta[_FAKE]
        with _mode_of(fake):
            node.meta[_FAKE] = fake.detach().to(self._plan.low).requires_grad_(fake.requires_grad)
        return True

    def _may_take(self, node) -> bool:
        output = self._graphs[0].graph.output_node()
        return bool(node.users) and all(
            user in self._graphs[0].casts and user.kwargs["dtype"] == self._plan.low and output not in user.users
            for user in node.users)

    def _placeholders(self, *kinds: str) -> list:
        nodes = {node.name: node for node in self._graphs[0].graph.nodes if node.op == "placeholder"}
        return [(nodes[spec.arg.name], spec) for spec in self._program.graph_signature.input_specs
                if spec.kind.name in kinds and getattr(spec.arg, "name", None) in nodes]

    def _convert_parameters(self) -> None:
        import torch

        program = self._program
        stored = {}
        for node, spec in self._placeholders("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            home = program._state_dict if spec.target in program._state_dict else program._constants
            tensor = home.get(spec.target)
            if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32:
                stored[node] = home, spec.target, tensor
        firsts = shared_storages({node: tensor for node, (_, _, tensor) in stored.items()})
        # One of two names of a parameter may have no reader.
        kept = {firsts[node] for node in stored if node.users and not self._may_take(node)}
        kept |= set(firsts.values()) - {firsts[node] for node in stored if node.users}
        made: dict[tuple, Any] = {}
        for node, (home, target, tensor) in stored.items():
            self._count_bytes(tensor, firsts[node] == node, firsts[node] in kept)
            if firsts[node] in kept:
                continue
            self._take(node)
            key = firsts[node], tensor.storage_offset(), tuple(tensor.shape), tensor.stride()
            if key not in made:
                low = self._plan.lower(tensor.detach())
                made[key] = torch.nn.Parameter(low, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else low
            home[target] = made[key]

    def _count_bytes(self, tensor, is_first: bool, is_kept: bool) -> None:
        size = tensor.untyped_storage().nbytes() if is_first else 0
        self._plan.bytes[0] += size
        self._plan.bytes[1] += size if is_kept else size // 2

    def _convert_inputs(self) -> None:
        import torch

        outputs, self._plan.io = self._plan.io, []
        places = {node: index for index, (node, _) in enumerate(self._placeholders("USER_INPUT"))}
        low = []
        for node, index in places.items():
            fake = node.meta.get(_FAKE)
            if not isinstance(fake, torch.Tensor) or fake.dtype != torch.float32:
                continue
            choice = self._plan.choose(node.name)
            if choice == "low":
                self._force(node)
            if choice != "kept" and node.users and self._take(node):
                low.append(index)
            self._note_border(node.name, node.meta[_FAKE].dtype)
        self._plan.io += outputs
        examples = self._program.example_inputs
        if low and examples is not None:
            flat, form = torch.utils._pytree.tree_flatten(examples)
            if len(flat) == len(places):
                flat = [self._plan.lower(value) if index in low and isinstance(value, torch.Tensor) else value
                        for index, value in enumerate(flat)]
                self._program._example_inputs = torch.utils._pytree.tree_unflatten(flat, form)

    def _force(self, node) -> None:
        """Lets all readers of an input read it as a low one."""
        import torch

        graph = self._graphs[0]
        readers = [user for user in node.users if user not in graph.casts]
        if not readers:
            return
        low = graph.cast(node, self._plan.low, readers[0])
        wide = graph.cast(low, torch.float32, readers[0])
        for user in readers:
            user.replace_input_with(node, wide)

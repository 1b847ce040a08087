"""Hooks through which a monitor sees a training step, and what they cost when nothing is due:
nothing, since they are taken off."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

_current_task = torch._C._current_graph_task_id


def in_backward() -> bool:
    """True if this thread is inside a backward pass: a forward that runs then is a checkpoint
    that is computed again."""
    return _current_task() != -1


class GradientHooks:
    """Calls `done(indices, gradients)` at the end of each backward pass, with the parameters
    that it gave gradients to, by index and in the order in which they came.

    At that time gradients are accumulated, reduced over ranks by what hooks into the backward
    pass itself (DDP, FSDP), and neither unscaled nor clipped, unless the program did that in
    hooks of its own."""

    def __init__(self, parameters: Sequence[torch.Tensor],
                 done: Callable[[list[int], list[torch.Tensor]], None]):
        self._parameters, self._done = parameters, done
        self._handles: list = []
        self._touched: list[tuple[int, torch.Tensor]] = []
        self._task = -1
        self._hooks = [self._make(index) for index in range(len(parameters))]

    @property
    def is_attached(self) -> bool:
        return bool(self._handles)

    def attach(self) -> None:
        if not self._handles:
            self._handles = [parameter.register_post_accumulate_grad_hook(hook) for parameter, hook
                             in zip(self._parameters, self._hooks, strict=True)]

    def detach(self) -> None:
        if self._handles:
            for handle in self._handles:
                handle.remove()
            self._handles = []
            self._touched.clear()

    def _make(self, index: int):
        touched, current = self._touched, _current_task

        def hook(parameter):
            # An optimizer that steps inside the backward pass drops `.grad` afterwards.
            touched.append((index, parameter.grad))
            # By the pass's number: one that failed half way ran no callback.
            if self._task != (task := current()):
                self._task = task
                torch.autograd.Variable._execution_engine.queue_callback(self._reduce)
        return hook

    def _reduce(self) -> None:
        # The reduction of gradients over ranks may have been queued after this.
        torch.autograd.Variable._execution_engine.queue_callback(self._finish)

    def _finish(self) -> None:
        self._task = -1
        if not self._touched:
            return
        # A parameter that is used behind several reentrant passes comes several times.
        last = dict(self._touched)
        self._touched.clear()
        indices, gradients = [], []
        for index, held in last.items():
            # Reduction may have put another tensor there.
            gradient = self._parameters[index].grad
            gradient = held if gradient is None else gradient
            if gradient is not None:
                indices.append(index)
                gradients.append(plain(gradient))
        self._done(indices, gradients)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The elements that this process holds, as a dense tensor without a graph."""
    if type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.requires_grad:
        return tensor
    tensor = tensor.detach()
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    if tensor.layout != torch.strided:
        tensor = tensor.coalesce().values() if tensor.layout == torch.sparse_coo else \
            tensor.values()
    return tensor


def first_float(output, depth: int = 3) -> torch.Tensor | None:
    """The first float tensor in what a module gave: itself, or a member of a tuple, list,
    dictionary or data class, at most `depth` deep."""
    if isinstance(output, torch.Tensor):
        return output if output.is_floating_point() else None
    if isinstance(output, dict):
        members: Iterable = output.values()
    elif isinstance(output, tuple | list):
        members = output
    elif dataclasses.is_dataclass(output):
        members = vars(output).values()
    else:
        return None
    for member in members if depth else ():
        if (found := first_float(member, depth - 1)) is not None:
            return found
    return None


class ValueHooks:
    """Calls `see(index, output)` with what the chosen modules give while attached, outside of
    checkpoints that are computed again."""

    def __init__(self, modules: Sequence[torch.nn.Module], see: Callable[[int, Any], None]):
        self._modules, self._see = modules, see
        self._handles: list = []

    def attach(self) -> None:
        if not self._handles:
            self._handles = [module.register_forward_hook(self._make(index))
                             for index, module in enumerate(self._modules)]

    def detach(self) -> None:
        if self._handles:
            for handle in self._handles:
                handle.remove()
            self._handles = []

    def _make(self, index: int):
        see, current = self._see, _current_task

        def hook(module, _, output):
            if current() == -1:
                see(index, output)
        return hook


class CompiledValueHooks:
    """Puts `mpopt::observe_at` behind the chosen modules, for graphs that are compiled once: the
    recorder's switch says which calls count.

    ids     of the modules' probes; those of -1 have no hook
    ledger  64 hex digits"""

    def __init__(self, modules: Sequence[torch.nn.Module], ids: Sequence[int], ledger: str):
        self._handles = [module.register_forward_hook(self._make(torch.tensor([probe]), ledger))
                         for module, probe in zip(modules, ids, strict=True) if probe >= 0]

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    @staticmethod
    def _make(probe: torch.Tensor, ledger: str):
        def hook(module, arguments, output):
            value = first_float(output)
            if value is not None:
                torch.ops.mpopt.observe_at(value.detach(), probe, 0, ledger)
        return hook


class InputHook:
    """Calls `see(module, arguments, keywords)` before each forward pass of a module. One that
    compiles itself (`module.compile()`) takes hooks into its graph, so there it is what calls
    that graph; in a graph that is made later nothing is seen."""

    def __init__(self, module: torch.nn.Module, see: Callable):
        self._module = module
        self._graph = graph = getattr(module, "_compiled_call_impl", None)
        self._handle = None
        if graph is None:
            self._handle = module.register_forward_pre_hook(self._make(see), with_kwargs=True)
            return

        def call(*arguments, **keywords):
            see(module, arguments, keywords)
            return graph(*arguments, **keywords)

        self._call = module._compiled_call_impl = call

    @staticmethod
    def _make(see: Callable):
        def hook(module, arguments, keywords):
            if not torch.compiler.is_compiling():
                see(module, arguments, keywords)
        return hook

    def remove(self) -> None:
        if self._handle is not None:
            self._handle.remove()
        elif self._module._compiled_call_impl is self._call:
            self._module._compiled_call_impl = self._graph

"""The first op of a training step whose result is not finite.

The step is computed again with every op of the forward and the backward pass in view
(`TorchDispatchMode`). Random numbers are those of the state that is given, and afterwards the
state of the generators, gradients, and buffers are what they were, bit by bit."""

import contextlib
import dataclasses
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mpopt._command import Error
from mpopt.monitor import casts
from mpopt.monitor.random_state import random_state, set_random_state

#: Ops that put infinities where a program wants them: masks of attention. Those that copy have
#: them from what they read, unless they cast.
_PLACES = ("masked_fill", "full", "full_like", "fill", "fill_", "where", "scalar_tensor",
           "lift_fresh", "lift_fresh_copy", "triu", "tril", "new_full",
           "constant_pad_nd", "masked_fill_", "zero_", "masked_scatter", "index_put", "index_put_")
_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.dirname(__file__) + os.sep


@dataclasses.dataclass(frozen=True)
class Operand:
    """The operands of an op: extremes of its finite values, and how many are not."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    absmax: float
    min_nonzero: float
    nan: int
    inf: int

    def __str__(self) -> str:
        bad = f", {self.nan} NaN, {self.inf} Inf" if self.nan or self.inf else ""
        return (f"{self.name} {self.dtype}{list(self.shape)} up to {self.absmax:.4g}, least non-zero "
                f"{self.min_nonzero:.4g}{bad}")


@dataclasses.dataclass(frozen=True)
class FirstBad:
    """Where NaN or Inf begins.

    op         its name in aten; of a cast its dtypes, and the call for which autocast makes it
    phase      `forward` or `backward`; `stored` of a parameter, buffer or input that held NaN before: `op`
               names it, `layer` and `location` the op that reads it first
    layer      path of the module in whose forward the op is, or whose forward it differentiates
    location   `FILE:LINE` of the program's line that calls it, or whose op it differentiates
    result     of which kind the result is, `NaN` or `Inf`, and how much of it
    operands   what the op read
    chain      the ops before it that made the largest operand, the nearest one last
    advice     what to do, of a cast; its operand has the largest value before it
    """

    op: str
    phase: str
    layer: str
    location: str
    result: str
    operands: tuple[Operand, ...]
    chain: tuple[str, ...]
    advice: str = ""

    def __str__(self) -> str:
        where = f" in '{self.layer}'" if self.layer else ""
        if self.phase == "stored":
            return f"no op of this step: {self.op} holds {self.result}, first read{where} at {self.location}; {self.advice}"
        read = "; ".join(map(str, self.operands))
        return (f"{self.phase} of {self.op}{where} at {self.location} gives {self.result}"
                + (f" from {read}" if read else "")
                + (f"; before it {' -> '.join(self.chain)}" if self.chain else "")
                + (f"; {self.advice}" if self.advice else ""))


def _tensors(value) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _tensors(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _tensors(member)


def _counts(tensor: torch.Tensor) -> tuple[int, int]:
    """NaN and Inf in a tensor; none in one that has no such values."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_meta or \
            tensor.layout != torch.strided:
        return 0, 0
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    if tensor.element_size() < 2:
        # PyTorch does not ask it of numbers of 8 bits.
        tensor = tensor.float()
    return int(torch.isnan(tensor).sum()), int(torch.isinf(tensor).sum())


def _tell_counts(nan: int, inf: int, tensor: torch.Tensor) -> str:
    counts = " and ".join(f"{count} {kind}" for count, kind in ((nan, "NaN"), (inf, "Inf")) if count)
    return f"{counts} of {tensor.numel()} in {casts.short(tensor.dtype)}"


def _name_inputs(batch, name: str = "0") -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of a batch by their key, or their number."""
    if isinstance(batch, torch.Tensor):
        yield name, batch
    elif isinstance(batch, tuple | list | Mapping):
        for key, member in batch.items() if isinstance(batch, Mapping) else enumerate(batch):
            yield from _name_inputs(member, str(key))


def _describe(name: str, tensor: torch.Tensor) -> Operand:
    nan, inf = _counts(tensor)
    absmax = least = 0.0
    if tensor.is_floating_point() and tensor.numel() and tensor.layout == torch.strided:
        magnitudes = tensor.detach().double().abs()
        magnitudes = magnitudes[torch.isfinite(magnitudes)]
        if magnitudes.numel():
            absmax = float(magnitudes.max())
            magnitudes = magnitudes[magnitudes > 0]
            least = float(magnitudes.min()) if magnitudes.numel() else 0.0
    return Operand(name, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), absmax,
                   least, nan, inf)


def _program_line() -> str:
    """The innermost line on the stack that is neither PyTorch's nor this file's."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_TORCH, _HERE, "<")):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


class _Watch(TorchDispatchMode):
    """Sees every op; remembers what made each tensor, and stops looking at the first bad
    result.

    A cast that gives nothing but -Inf may have made a mask of the least number of a wider format.
    It is held, and named once something comes of it: NaN, or an output, loss or gradient that is
    not finite."""

    CHAIN = 4

    def __init__(self, model: torch.nn.Module, batch, scale: float = 1.0):
        super().__init__()
        self.first: FirstBad | None = None
        #: What no op of the step made and holds NaN.
        self.stored: FirstBad | None = None
        #: Modules that are running, from the outermost one.
        self.modules: list[str] = []
        self.calls, self._scale = casts.Calls(), scale
        self._names = {id(tensor): f"{noun} '{name}'" for noun, named in (
            ("input", _name_inputs(batch)), ("buffer", model.named_buffers()), ("parameter", model.named_parameters()))
            for name, tensor in named}
        #: By the number of an op's node in the graph of gradients: line and module.
        self._nodes: dict[int, tuple[str, str]] = {}
        #: By tensor: its name and module, and the ops that led to it.
        self._made: dict[int, tuple[weakref.ref, tuple[str, Any], tuple]] = {}
        #: Casts that were not named yet, and by tensor the one that its Inf comes from.
        self._held: list[FirstBad] = []
        self._holds: dict[int, tuple[weakref.ref, FirstBad]] = {}
        self._handles = []
        for name, module in model.named_modules():
            self._handles += [
                module.register_forward_pre_hook(self._enter(name)),
                module.register_forward_hook(self._leave, always_call=True)]

    def _enter(self, name: str):
        def hook(*_):
            self.modules.append(name)
        return hook

    def _leave(self, _, __, output):
        self.modules.pop()
        if not self.modules:
            self.see_end(output)

    def release(self) -> None:
        for handle in self._handles:
            handle.remove()

    def see_end(self, outputs, *, strictly: bool = False) -> None:
        """Names the cast that an output which is not finite comes from; if `strictly`, the first
        one that was held even where the way from it was lost."""
        for tensor in _tensors(outputs):
            if self.first is None and (self._held or self.stored) and any(_counts(tensor)):
                self.first = self._held_by(tensor) or (next(iter(self._held), None) if strictly else None) or self.stored

    def _held_by(self, tensor: torch.Tensor) -> FirstBad | None:
        known = self._holds.get(id(tensor))
        return known[1] if known and known[0]() is tensor else None

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.first is not None:
            return func(*args, **kwargs)
        operands = list(_tensors((args, kwargs)))
        name = func._schema.name.removeprefix("aten::")
        # The destination of a copy does not count.
        read = operands[casts.READS.get(name, 0):]
        # An op that writes into an operand has to be looked at before.
        before = [_counts(tensor) for tensor in read]
        held = [(operand, operand.clone()) for operand in read] \
            if func._schema.is_mutable and not any(map(any, before)) else None
        node = torch._C._current_autograd_node()
        if node is None:
            location, layer = _program_line(), self._layer(read)
            # The node of this op was numbered right before. Ops without one come after another's;
            # those inside of an `autograd.Function` after the function's.
            self._nodes.setdefault(torch.autograd._get_sequence_nr() - 1, (location, layer))
            self._see_stored(location, layer, read, before)
        else:
            location, layer = self._nodes.get(node._sequence_nr(), ("?", ""))
        result = func(*args, **kwargs)
        self._look(name, node, location, layer, read, before, held, result)
        return result

    def _see_stored(self, location, layer, operands, before) -> None:
        for tensor, (nan, inf) in zip(operands, before, strict=True):
            name = self._names.get(id(tensor), "")
            if self.stored is None and nan and name and self._known(tensor) is None:
                self.stored = FirstBad(
                    name, "stored", layer, location, _tell_counts(nan, inf, tensor), (), (),
                    "look at the batch" if name.startswith("input") else "go back to a checkpoint from before an update spoilt it")

    def _layer(self, operands) -> str:
        """The module that runs; of the program's own lines the one whose result they read."""
        if self.modules:
            return self.modules[-1]
        return next((known[1][1] for operand in operands if (known := self._known(operand))), "")

    def _look(self, name, node, location, layer, operands, before, held, result) -> None:
        nan_before = any(nan for nan, _ in before)
        inf_before = any(inf for _, inf in before)
        source = next(filter(None, map(self._held_by, operands)), None) if inf_before else None
        for tensor in _tensors(result):
            nan, inf = _counts(tensor)
            begins = nan and not nan_before or \
                inf and not inf_before and not nan_before and name not in _PLACES
            # Uninitialised memory holds anything.
            if begins and not name.startswith(("empty", "new_empty")):
                if source is None:
                    read = [old for _, old in held] if held else operands
                    source = self._describe(name, node, location, layer, operands, read, tensor)
                    if casts.is_cast(name, operands, tensor) and not nan and \
                            not bool((tensor.float() == torch.inf).any()):
                        self._held.append(source)
                        self._holds[id(tensor)] = weakref.ref(tensor), source
                        continue
                self.first = source
                return
            if source is not None and inf:
                self._holds[id(tensor)] = weakref.ref(tensor), source
        makers = [self._maker(operand) for operand in operands]
        step = f"{name} ({location.rpartition(os.sep)[2]})"
        for tensor in _tensors(result):
            largest = max((maker for maker in makers if maker), default=(), key=len)
            self._made[id(tensor)] = (weakref.ref(tensor), (step, layer),
                                      (*largest, step)[-self.CHAIN:])

    def _describe(self, name, node, location, layer, operands, read, tensor) -> FirstBad:
        nan, inf = _counts(tensor)
        described = tuple(
            _describe(self._names.get(id(operand), f"operand {place}"), value)
            for place, (operand, value) in enumerate(zip(operands, read, strict=True)))
        own, advice = name if node is None else f"{node.name()} ({name})", ""
        if casts.is_cast(name, read, tensor):
            caster = self.calls.caster() if node is None else ""
            own = casts.name_cast(read[0].dtype, tensor.dtype, caster)
            advice = casts.advise(
                read[0].dtype, tensor.dtype, described[0].absmax, caster=caster, backward=node is not None,
                parameter=not self._names.get(id(operands[0]), "input").startswith("input"), scale=self._scale)
        return FirstBad(
            own, "forward" if node is None else "backward", layer, location, _tell_counts(nan, inf, tensor),
            described, self._chain(operands), advice)

    def _known(self, tensor: torch.Tensor) -> tuple | None:
        known = self._made.get(id(tensor))
        return known if known and known[0]() is tensor else None

    def _maker(self, tensor: torch.Tensor) -> tuple:
        known = self._known(tensor)
        return known[2] if known else ()

    def _chain(self, operands) -> tuple[str, ...]:
        chains = [(float(operand.detach().abs().double().max()) if operand.numel() else 0.0,
                   self._maker(operand)) for operand in operands
                  if operand.is_floating_point() and operand.layout == torch.strided]
        chains = [(size, chain) for size, chain in chains if chain]
        return max(chains, key=lambda entry: entry[0])[1] if chains else ()


def _op_by_op() -> contextlib.AbstractContextManager:
    """Compiled parts run as they were written; nothing has to be done where no compiler was. PyTorch
    before 2.6 cannot be told: a graph that it has compiled already shows the ops that are left in it."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    return set_stance("force_eager") if set_stance and "torch._dynamo" in sys.modules else \
        contextlib.nullcontext()


@contextlib.contextmanager
def untouched(model: torch.nn.Module, parameters) -> Iterator[None]:
    """Gives back gradients, buffers and the generators' state as they were."""
    gradients = [parameter.grad for parameter in parameters]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    random = random_state()
    for parameter in parameters:
        parameter.grad = None
    try:
        yield
    finally:
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        with torch.no_grad():
            for buffer, old in buffers:
                buffer.copy_(old)
        set_random_state(random)


def find_loss(output) -> torch.Tensor | None:
    """The loss in what a model gave: alone, first of several, or as `loss`; None if there is
    none."""
    loss = getattr(output, "loss", None)
    if loss is None and isinstance(output, dict):
        loss = output.get("loss")
    if loss is None and isinstance(output, tuple | list) and output:
        loss = output[0]
    loss = output if loss is None else loss
    return loss if isinstance(loss, torch.Tensor) and loss.numel() == 1 else None


def _default_loss(model: torch.nn.Module, batch) -> torch.Tensor:
    if isinstance(batch, dict):
        output = model(**batch)
    elif isinstance(batch, tuple | list):
        output = model(*batch)
    else:
        output = model(batch)
    loss = find_loss(output)
    if loss is None:
        raise Error("find_first_bad: the model returns no loss: pass compute=lambda model, batch: "
                    "loss")
    return loss


def find_first_bad(model: torch.nn.Module, parameters, batch, *,
                   compute: Callable | None = None, scale: float = 1.0,
                   autocast: torch.dtype | None = None, random: dict | None = None
                   ) -> FirstBad | None:
    """The first op of the step on `batch` that makes NaN or Inf of finite operands, or what held NaN
    before; None if there is neither.

    compute   gives the loss of (model, batch), with autocast as the program has it, or None
              where the forward pass is all there is to see; default: the model is called with the batch, under autocast in `autocast` unless that is None
    scale     the loss scale of the backward pass
    random    state of the random generators (`Monitor.kept["random"]`); default: as they are"""
    parameters = list(parameters)
    with untouched(model, parameters), torch.enable_grad(), _op_by_op():
        if random is not None:
            set_random_state(random)
        # Casts that a surrounding autocast kept would not be seen again.
        torch.clear_autocast_cache()
        watch = _Watch(model, batch, scale)
        try:
            with watch.calls, watch:
                if compute is not None:
                    loss = compute(model, batch)
                else:
                    device = parameters[0].device.type if parameters else "cpu"
                    with torch.autocast(device, autocast or torch.bfloat16,
                                        enabled=autocast is not None):
                        loss = _default_loss(model, batch)
                if loss is not None:
                    watch.see_end(loss, strictly=True)
                if watch.first is None and loss is not None and loss.requires_grad:
                    (loss.sum() * scale).backward()
            watch.see_end([parameter.grad for parameter in parameters], strictly=True)
        finally:
            watch.release()
            # Casts of weights that a surrounding autocast keeps belong to this graph.
            torch.clear_autocast_cache()
        return watch.first

"""Names of the parts of a training."""

import re
from collections.abc import Iterator, Mapping, Sequence

import torch

from mpopt import _modules
from mpopt._command import Error


def is_compiled(model: torch.nn.Module) -> bool:
    """True if the module, one that it wraps, or one of its parts runs under `torch.compile`."""
    return any(hasattr(module, "_orig_mod") or
               getattr(module, "_compiled_call_impl", None) is not None
               for module in model.modules())


def choose_modules(model: torch.nn.Module, values: str | bool | None) -> dict[str, torch.nn.Module]:
    """The modules whose outputs are looked at, by path: those that hold no others, or those
    whose path the regular expression `values` matches; none of them if it is False. A model that
    holds no others has no path, and is called by its class."""
    if values is False:
        return {}
    try:
        pattern = re.compile(values) if isinstance(values, str) else None
    except re.error as error:
        raise Error(f"values: '{values}' is no regular expression: {error}") from error
    is_leaf = not any(True for _ in model.children())
    named = [(type(model).__name__, model)] if is_leaf else \
        [(name, module) for name, module in model.named_modules() if name]
    # The wrapped module, which comes last, replaces its wrapper.
    return {name: module for path, module in named if (name := _modules.plain_name(path)) and (
        pattern.search(name) if pattern else not any(True for _ in module.children()))}


def list_state(model: torch.nn.Module, averages: Mapping[str, object]) -> Iterator[tuple[str, torch.Tensor]]:
    """What a training changes without gradients, by name: buffers of the model, and averages of its weights."""
    yield from model.named_buffers()
    for name, average in averages.items():
        if isinstance(average, torch.nn.Module):
            yield from average.named_parameters(name)
            yield from average.named_buffers(name)
        else:
            yield from list_tensors(name, average.state_dict())  # type: ignore[attr-defined]


def list_tensors(name: str, state: object) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(state, torch.Tensor):
        yield name, state
    elif isinstance(state, dict | list | tuple):
        for key, part in state.items() if isinstance(state, dict) else enumerate(state):
            yield from list_tensors(f"{name}.{key}", part)


class Names:
    """Parameters that ask for a gradient, those of the model first, then those that only an
    optimizer has; each once, however often it is used."""

    def __init__(self, model: torch.nn.Module, optimizers: Sequence, values):
        named = {id(parameter): (_modules.plain_name(path), parameter) for path, parameter in model.named_parameters()
                 if parameter.requires_grad}
        self._own = len(named)
        for number, optimizer in enumerate(optimizers):
            place = 0
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        named.setdefault(id(parameter),
                                         (f"optimizer{number}.{place}", parameter))
                    place += 1
        self.parameters: list[torch.Tensor] = [parameter for _, parameter in named.values()]
        self.parameter_names = [name for name, _ in named.values()]
        #: The module that owns each parameter; of one that the model itself owns its own name.
        self.layers = [name.rpartition(".")[0] or name for name in self.parameter_names]
        self.index = {key: index for index, key in enumerate(named)}
        modules = choose_modules(model, values)
        self.modules: list[torch.nn.Module] = list(modules.values())
        self.module_names = list(modules)

    def find_elsewhere(self) -> frozenset[str]:
        """Layers whose gradients autograd may not give to this process: those of whose parameters it holds
        no element, since they are sharded and small, and parameters that only an optimizer has, which may be
        FP32 copies of the model's."""
        held = {layer for layer, parameter in zip(self.layers[:self._own], self.parameters, strict=False)
                if not hasattr(parameter, "to_local") or parameter.to_local().numel()}
        return frozenset(self.layers) - held

"""PyTorch modules as programs of `torch.export` and as archives of TorchScript.

The batch that a module is exported with is a tensor, a tuple or list of what `forward` takes, or a
mapping of its keywords. Outputs have the names of the mapping or record that `forward`
returns: `loss`, `logits`."""

import contextlib
import copy
import dataclasses
import functools
import inspect
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from mpopt import _batches
from mpopt._command import Error

_WRAPPERS = ("DataParallel", "DistributedDataParallel", "FullyShardedDataParallel", "DeepSpeedEngine")
#: Names of what wrappers around parts hold, in the paths of parameters and modules.
_INNER = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
#: Characters of a reason: those of PyTorch go on with whole tensors and pages of advice.
_LONGEST = 300
#: Exceptions of fake tensors whose text is the op alone.
_OF_AN_OP = ("DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedOperatorException")


def reason(error: Exception) -> str:
    """The first line of an exception's text, without its end if that is long."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if type(error).__name__ in _OF_AN_OP:
        line = f"{line} asks for values, which torch.export does not have"
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _is_wrapper(module) -> bool:
    """DDP, FSDP and DeepSpeed's engine, by their names: none of them is imported for it. FSDP2 wraps nothing."""
    return any(kind.__name__ in _WRAPPERS for kind in type(module).__mro__)


def unwrap(module):
    """The module that `torch.compile`, or a wrapper for several devices, has inside, whose names of
    parameters have no prefix."""
    import torch

    while True:
        if _is_wrapper(module):
            module = module.module
        elif isinstance(inner := getattr(module, "_orig_mod", None), torch.nn.Module):
            module = inner
        else:
            return module


def plain_name(path: str) -> str:
    """The path of a parameter or module as it is without wrappers around parts."""
    return ".".join(part for part in path.split(".") if part not in _INNER)


def parameters_of(module) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(module.forward).parameters
    except (TypeError, ValueError):
        return {}


def positional_names(module) -> list[str]:
    """Names of what `forward` takes by position."""
    return [name for name, each in parameters_of(module).items()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


def takes_any_number(module) -> bool:
    """True if `forward` takes `*arguments`."""
    return any(each.kind is each.VAR_POSITIONAL for each in parameters_of(module).values())


def example_batch(module):
    """A batch by the configuration of a module of transformers; None of any other."""
    import torch

    config = getattr(module, "config", None)
    if config is None or not hasattr(module, "main_input_name"):
        return None
    size = getattr(config, "image_size", None)
    if module.main_input_name == "pixel_values" and size is not None:
        sizes = tuple(size) if isinstance(size, list | tuple) else (size, size)
        return {"pixel_values": torch.randn(1, getattr(config, "num_channels", 3), *sizes)}
    try:
        return getattr(module, "dummy_inputs", None)
    except Exception:  # of many classes: a model without any says so in its own way
        return None


def split_batch(module, batch) -> tuple[tuple, dict]:
    """Positional and keyword arguments of `forward`. The cache of a language model is off:
    no format has a form for it."""
    if _batches.is_mapping(batch):
        arguments, keywords = _split_mapping(module, dict(batch.items()))
    else:
        # The batches of a loader are lists.
        arguments, keywords = tuple(batch) if isinstance(batch, list | tuple) else (batch,), {}
    if getattr(getattr(module, "config", None), "use_cache", None) is not None:
        names = list(parameters_of(module))
        if "use_cache" in names[len(arguments):]:
            keywords.setdefault("use_cache", False)
    return _as_tensors(module, (arguments, keywords))


def _split_mapping(module, batch: dict) -> tuple[tuple, dict]:
    """The keywords of `forward`, unless it takes one argument of another name: then the whole batch is that."""
    parameters, positional = parameters_of(module), positional_names(module)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return ((batch,), {}) if not takes_any and len(positional) == 1 and positional[0] not in batch else ((), batch)


def _device_of(module):
    """The device of all parameters and buffers; None where there are several, or none."""
    devices = {each.device for each in (*module.parameters(), *module.buffers())}
    if any(device.type == "meta" for device in devices):
        raise Error("the module has no values: parameters or buffers are on the device 'meta'")
    return devices.pop() if len(devices) == 1 else None


def _as_tensors(module, tree):
    """Arrays as tensors, all on the module's device. A tensor that is given twice, as input and as labels, is
    two: for `torch.export` one tensor is one input, and the other one would be without a use."""
    import torch
    from torch.utils import _pytree

    device = _device_of(module)
    seen = set()

    def convert(value):
        if isinstance(value, torch.utils.data.DataLoader):
            raise Error("the batch is a loader: pass one of its batches, as next(iter(loader))")
        if type(value).__module__ == "numpy" and hasattr(value, "__array__"):
            value = torch.as_tensor(value)
        if not isinstance(value, torch.Tensor):
            return value
        if value.device.type == "meta":
            raise Error("the batch has no values: it is on the device 'meta'")
        if id(value) in seen:
            value = value.detach().clone()
        seen.add(id(value))
        return value if device is None else value.to(device)

    return _pytree.tree_map(convert, tree)


@contextlib.contextmanager
def _without_caches(module) -> Iterator[None]:
    """Modules inside have their caches off, too."""
    configs: dict[int, Any] = {id(config): config for part in module.modules()
               if getattr(config := getattr(part, "config", None), "use_cache", False) is True}
    for config in configs.values():
        config.use_cache = False
    try:
        yield
    finally:
        for config in configs.values():
            config.use_cache = True


def _name_leaves(value, path: tuple[str, ...]) -> Iterator[str]:
    """A name for each leaf of an output, in the order of the tree; empty for one that is only
    an index."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _name_leaves(member, (*path, str(key)))
    elif hasattr(value, "_fields"):
        for key, member in zip(value._fields, value, strict=True):
            yield from _name_leaves(member, (*path, key))
    elif isinstance(value, list | tuple):
        for index, member in enumerate(value):
            yield from _name_leaves(member, (*path, str(index)) if path else ())
    elif value is not None:
        yield "_".join(path)


def name_outputs(program) -> None:
    """Renames the nodes that compute outputs to the names that `forward` gives them."""
    from torch.utils import _pytree

    spec = program.call_spec.out_spec
    names = list(_name_leaves(_pytree.tree_unflatten(list(range(spec.num_leaves)), spec), ()))
    signature = program.graph_signature
    nodes = {node.name: node for node in program.graph.nodes}
    taken = set()
    for name, output in zip(names, list(signature.user_outputs), strict=False):
        node = nodes.get(output) if isinstance(output, str) else None
        if not name or node is None or node.op == "placeholder" or output in taken:
            continue
        node._rename(name)
        # A module's path would be part of the name.
        node.meta.pop("nn_module_stack", None)
        signature.replace_all_uses(output, node.name)
        taken.add(output)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Warnings, the stacks that fake tensors log of an op which refuses its operands, and the graph that
    `torch.export` prints of a module that it gives up are off: the exception says as much."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    was = log.disabled
    log.disabled = True
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.disabled = was


def _as_dictionary(value):
    """Dataclasses in what `forward` returns as dictionaries by field."""
    if dataclasses.is_dataclass(value) and not isinstance(value, Mapping | type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _as_dictionary(member) for key, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_as_dictionary(member) for member in value)
    return value


def _with_dictionaries(module):
    plain = plain_forward(module)

    @functools.wraps(plain)
    def forward(self, *arguments, **keywords):
        return _as_dictionary(plain(self, *arguments, **keywords))

    return with_forward(module, forward)


def export(module, arguments: tuple, keywords: dict):
    """The module as a program. Exceptions are those of `torch.export`."""
    import torch

    # PyTorch 2.7 and earlier would read Python's bytecode instead, of which they know less.
    make = functools.partial(torch.export.export, args=arguments, kwargs=keywords, strict=False)
    with _quiet(), _without_caches(module):
        try:
            program = make(module)
        except Exception as error:  # of many classes
            # PyTorch flattens no dataclass that is not registered as a pytree node.
            if "pytree" not in str(error):
                raise
            program = make(_with_dictionaries(module))
        name_outputs(program)
        return program


def script(module):
    """The module as an archive, without a batch."""
    import torch

    try:
        with warnings.catch_warnings():
            # That PyTorch prefers other forms does not help the caller.
            warnings.simplefilter("ignore")
            return torch.jit.script(module)
    except Exception as error:  # of many classes
        raise Error(f"the module cannot be scripted: pass example_inputs ({reason(error)})") from error


def plain_forward(module):
    """What the module computes, as a function of itself and the arguments. Accelerate replaces the `forward` of
    a single module."""
    own = vars(module).get("forward")
    if own is None:
        return type(module).forward

    @functools.wraps(getattr(own, "__func__", own))
    def forward(self, *arguments, **keywords):
        return own(*arguments, **keywords)

    return forward


def describe_keywords(forward, names) -> None:
    """Says which keywords a `forward` of any keywords takes: a trace asks."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD
    with contextlib.suppress(ValueError):  # a name that is no identifier
        vars(forward)["__signature__"] = inspect.Signature([inspect.Parameter(name, kinds) for name in ("self", *names)])


def with_forward(module, forward):
    """A module that shares parameters, modules and names with `module`, and runs `forward`, a
    function of itself and the arguments."""
    kind = type(module)
    made = copy.copy(module)
    vars(made).pop("forward", None)
    made.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return made


def _bind_settings(module, keywords: dict):
    """The module with what is no tensor settled, which a trace does not take."""
    import torch

    settings = {key: value for key, value in keywords.items()
                if not isinstance(value, torch.Tensor | tuple | list | dict)}
    if not settings:
        return module, keywords
    plain = plain_forward(module)

    @functools.wraps(plain)
    def forward(self, *arguments, **others):
        return plain(self, *arguments, **settings, **others)

    parameters = inspect.signature(plain).parameters
    vars(forward)["__signature__"] = inspect.Signature(
        [each for name, each in parameters.items() if name not in settings])
    tensors = {key: value for key, value in keywords.items() if key not in settings}
    return with_forward(module, forward), tensors


def _why_not_run(module, arguments: tuple, keywords: dict) -> str:
    """Why PyTorch itself refuses the batch; empty if it does not."""
    import torch

    try:
        with torch.no_grad(), _quiet():
            module(*arguments, **keywords)
    except Exception as error:  # of many classes
        return reason(error)
    return ""


def trace(module, arguments: tuple, keywords: dict, before: str = ""):
    """The module as an archive of what a batch does. `before`: why it is not exported."""
    import torch

    names = list(parameters_of(module))
    if hasattr(getattr(module, "config", None), "return_dict"):
        # An output that is a record has no form in TorchScript.
        keywords = {**keywords, "return_dict": False}
    if keywords:
        arguments, keywords = (), {**dict(zip(names, arguments, strict=False)), **keywords}
        module, keywords = _bind_settings(module, keywords)
    given = {"example_kwarg_inputs": keywords} if keywords else {"example_inputs": arguments}
    try:
        with _quiet(), _without_caches(module):
            # Outputs may be a dictionary.
            return torch.jit.trace(module, check_trace=False, strict=False, **given)
    except Exception as error:  # of many classes
        text = f"the module cannot be traced ({reason(error)})"
        if refusal := _why_not_run(module, arguments, keywords):
            text = f"the module does not run on the batch ({refusal})"
        elif before:
            text = f"the module cannot be exported ({before}) or traced ({reason(error)})"
        raise Error(text) from error

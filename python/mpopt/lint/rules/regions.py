"""Autocast regions: what belongs inside, and what does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, library, values
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule


@rule
def loss_outside_autocast(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.LOSS):
        if event.in_autocast or not event.arguments:
            continue
        first = event.arguments[0]
        region = first.parts
        if first.kind != values.TENSOR or not first.has("forward") or not isinstance(region, values.Region) \
                or region.enabled is False or first.has("softmax") or first.dtype in ("f32", "f64"):
            continue
        if any(value.kind == values.TENSOR and value.dtype in ("f32", "f64") for value in event.arguments[1:2]):
            continue  # Targets in FP32 make the loss one: it is elementwise, since those of classes are whole numbers.
        if event.callee.kind in (values.NAME, values.MODULE):
            yield Report(event.node, "the loss is computed outside the autocast region of the forward pass: "
                         "of 16-bit values, in 16 bits")
        elif first.dtype in values.LOW:
            yield Report(event.node, f"the loss gets {values.NAMES[first.dtype]} values outside the autocast region of "
                         "the forward pass: unless it widens them itself, it is computed in 16 bits", severity="note")
    for each in program.low_sums:
        dtype = values.NAMES.get(each.dtype, "16 bits")
        unless = "" if each.is_low else ", unless the other operand is FP32"
        yield Report(each.node, f"the loss is summed outside the autocast region of the forward pass, in {dtype}{unless}",
                     severity="" if each.is_low else "note")


@rule
def forward_outside_autocast(program: Program) -> Iterator[Report]:
    forwards: dict[int, events.Event] = {}
    for event in program.of_kind(events.FORWARD, events.LOSS):
        if event.kind == events.FORWARD:
            forwards[id(event.node)] = event  # A function that is gone through twice has two of a node.
            continue
        region = event.region
        if region is None or region.enabled is False or not event.arguments:
            continue
        first = event.arguments[0]
        made = forwards.get(id(first.origin))
        if first.has("forward") and made is not None and not made.regions and made.function is event.function:
            yield Report(made.node, "the forward pass is outside the autocast region that computes the loss: "
                         "it runs in FP32, and only the loss, which stays in FP32, is inside")


@rule
def backward_in_autocast(program: Program) -> Iterator[Report]:
    for event in program.of_kind(*events.BACKWARDS):
        region = event.region
        # Under no_grad there is nothing to go back through: another path of the function does.
        if region is not None and region.enabled is not False and not event.no_grad:
            yield Report(event.node, "backward() runs inside the autocast region; the backward pass takes each "
                         "op's type from the forward pass", fixes.move_out_of_with(program, region, event))


@rule
def autocast_never_entered(program: Program) -> Iterator[Report]:
    for node, value in program.unentered:
        if not value.parts.null and value.name != "guessed":
            yield Report(node, "this region is made and never entered: it changes nothing")


@rule
def bce_in_autocast(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.LOSS):
        region = event.region
        if event.callee.name in ("torch.nn.functional.binary_cross_entropy", "torch.nn.BCELoss") \
                and region is not None and region.enabled is not False and region.device != "cpu":
            yield Report(event.node, "binary cross-entropy of probabilities, which PyTorch refuses under autocast on "
                         "a GPU: use the form with logits")


CACHE_CLEARED = re.compile("clear_autocast_cache")


@rule
def one_region_around_steps(program: Program) -> Iterator[Report]:
    if not program.enclosed or program.mentions(CACHE_CLEARED):
        return
    for step, region in program.enclosed:
        if region.enabled is not False and region.caches:
            yield Report(region.node, f"one region around the steps of a loop: the casts of the weights that it keeps are "
                         f"those of the first step, and the updates of line {step.node.lineno} are not seen in it")


@rule
def weights_cached_without_grad(program: Program) -> Iterator[Report]:
    if program.mentions(CACHE_CLEARED):
        return
    first: dict[tuple, events.Event] = {}
    for event in program.of_kind(events.FORWARD):
        region = event.region
        if region is None or not region.enabled or not region.caches or not event.subject.identity \
                or region.dtype not in values.LOW or event.function is None and not event.loops:
            continue
        key = id(region), event.subject.identity, event.function
        before = first.setdefault(key, event)
        # A pass with gradients in front fills the cache with casts that have some.
        if before.no_grad and not event.no_grad and before.node is not event.node \
                and is_followed(program, event):
            yield Report(before.node, "a pass without gradients fills the region's cache with casts of the weights that have "
                         f"none: the pass of line {event.node.lineno} in the same region trains nothing")


def is_followed(program: Program, event: events.Event) -> bool:
    return any(each.function is event.function and each.order > event.order
               for each in program.of_kind(*events.BACKWARDS))


# Methods and functions that autocast runs in 16 bits, by their last name.
PRODUCTS = library.AUTOCAST_LOW | {"conv1d", "conv2d", "conv3d"}


def has_products(function) -> bool:
    """True if a function has matrix products or convolutions."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return True
        if isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in PRODUCTS:
            return True
    return False


@rule
def function_without_custom_fwd(program: Program) -> Iterator[Report]:
    applied: dict[int, values.Value] = {}
    for event in program.calls_of("apply"):
        made = event.callee.parts if event.callee.kind == values.METHOD else values.NOTHING
        region = event.region
        if made.kind == values.CLASS and region is not None and region.enabled is not False \
                and "torch.autograd.Function" in made.parts.library_bases:
            applied[id(made.parts)] = made
    for made in applied.values():
        passes = [made.parts.find_method(name) for name in ("forward", "backward")]
        if all(each is not None and has_products(each) and not each.decorators_have("custom_", "autocast")
               and "autocast" not in program.script.code(each.node) for each in passes):
            yield Report(passes[0].node, f"{made.name} is applied in an autocast region, and its backward pass runs "
                         "outside: products of 16-bit gradients and FP32 tensors raise an error. "
                         "torch.amp.custom_fwd and custom_bwd")


@rule
def linalg_in_half(program: Program) -> Iterator[Report]:
    names = {name.rpartition(".")[2] for name in library.FACTORISATIONS}
    for event in program.calls_of(*names):
        if event.callee.kind == values.METHOD:
            tensor, is_known = event.callee.parts, f"torch.{event.callee.name}" in library.FACTORISATIONS
        else:
            tensor = event.argument(0, "input") or event.argument(0, "A") or values.NOTHING
            is_known = event.callee.name in library.FACTORISATIONS
        region = event.region
        is_widened = event.in_autocast and (region is None or region.device in ("", "cpu"))
        if is_known and tensor.kind == values.TENSOR and tensor.dtype in values.LOW and not is_widened:
            name = event.callee.name.rpartition(".")[2]
            yield Report(event.node, f"{name} has no kernel for {values.NAMES[tensor.dtype]}, in which this tensor is: "
                         ".float() first")


DEVICES = ("cuda", "cpu", "xpu", "mps")


def list_devices(program: Program) -> dict[object, set[str]]:
    """By the identity of a module: the devices to which the script moves it; "" for one that is not known."""
    found: dict[object, set[str]] = {}
    for event in program.calls_of("to", *DEVICES):
        base = event.callee.parts if event.callee.kind == values.METHOD else values.NOTHING
        if base.kind not in (values.MODULE, values.UNKNOWN) or not base.identity:
            continue
        if (device := event.callee.name) == "to":
            given = event.argument(0, "device")
            word = given.constant if given is not None else None
            if given is not None and given.kind == values.DTYPE or word is None and given is None:
                continue  # A cast alone.
            device = word.partition(":")[0] if isinstance(word, str) else ""
        found.setdefault(base.identity, set()).add(device)
    return found


@rule
def region_on_another_device(program: Program) -> Iterator[Report]:
    devices = list_devices(program)
    for event in program.of_kind(events.FORWARD):
        region, known = event.region, devices.get(event.subject.identity, set())
        if region is None or not region.enabled or region.device not in DEVICES or len(known) != 1 \
                or next(iter(known)) not in DEVICES or region.device in known:
            continue
        yield Report(region.node, f"the region is one of {region.device}, and the model is on {next(iter(known))}: autocast "
                     "changes nothing there")

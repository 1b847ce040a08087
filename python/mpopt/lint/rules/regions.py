"""Autocast regions: what belongs inside, and what does not."""

from __future__ import annotations

from collections.abc import Iterator

from mpopt.lint import events, fixes, values
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
    forwards = {id(event.node): event for event in program.of_kind(events.FORWARD)}
    for event in program.of_kind(events.LOSS):
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
    for event in program.of_kind(events.BACKWARD, events.MANAGED_BACKWARD):
        region = event.region
        if region is not None and region.enabled is not False:
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

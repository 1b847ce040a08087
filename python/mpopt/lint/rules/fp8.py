"""FP8: TransformerEngine's regions and recipes, and torchao's conversion."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, library, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.settings import TRAINER
from mpopt.lint.scopes import Class
from mpopt.lint.values import Value

# Recipes with one scale a tensor, TransformerEngine's and Accelerate's.
SCALING = {library.DELAYED, "transformer_engine.common.recipe.Float8CurrentScaling"}
KWARGS = {f"accelerate{module}.{name}" for module in (".utils", "") for name in ("TERecipeKwargs", "FP8RecipeKwargs")}
# The arguments of each layer that are numbers of features.
SIZES = {"Linear": ("in_features", "out_features"), "LayerNormLinear": ("in_features", "out_features"),
         "LayerNormMLP": ("hidden_size", "ffn_hidden_size"), "TransformerLayer": ("hidden_size", "ffn_hidden_size")}
MULTIPLE, MULTIPLE_OF_BLOCKS = 16, 32
# torchao's setting that pads what it multiplies.
PADDED = re.compile("pad_inner_dim")


def find_region(event: Event) -> values.Region | None:
    """The FP8 region around an event."""
    return next((region for region in reversed(event.regions) if region.fp8 is not None), None)


def trains(program: Program) -> bool:
    return bool(program.of_kind(*events.BACKWARDS) or program.calls_like(TRAINER))


@rule
def fp8_backward_in_region(program: Program) -> Iterator[Report]:
    for event in program.of_kind(*events.BACKWARDS):
        if (region := find_region(event)) is not None:
            is_delayed = region.fp8.name == library.DELAYED
            when = "" if is_delayed else " by a recipe of delayed scaling"
            yield Report(event.node, f"backward() runs inside of the FP8 region, at whose end the scales of the forward pass are "
                         f"made{when}; the backward pass has the forward pass's formats anyway",
                         fixes.move_out_of_with(program, region, event), severity="" if is_delayed else "note")


# --- Sizes ---


def find_odd_size(making: Event, name: str, multiple: int) -> int | None:
    for index, keyword in enumerate(SIZES[name]):
        given = making.argument(index, keyword)
        size = given.constant if given is not None else None
        if isinstance(size, int) and not isinstance(size, bool) and size % multiple:
            return size
    return None


@rule
def fp8_odd_size(program: Program) -> Iterator[Report]:
    made = {id(event.node): event for event in program.calls_of(*SIZES)}
    for event in program.of_kind(events.FORWARD):
        region, layer = find_region(event), event.subject
        making = made.get(id(layer.origin))
        if region is None or making is None or not layer.name.startswith(library.ENGINE):
            continue
        multiple = MULTIPLE_OF_BLOCKS if region.fp8.name.endswith("MXFP8BlockScaling") else MULTIPLE
        size = find_odd_size(making, layer.name.rpartition(".")[2], multiple)
        if size is not None:
            yield Report(making.node, f"this layer runs in FP8, whose products have sizes that are multiples of {multiple}: "
                         f"{size} raises an error")
    run = {event.subject.identity for event in program.of_kind(events.FORWARD)}
    for event in list_conversions(program) if not program.mentions(PADDED) else ():
        model = event.argument(0, "module") or values.NOTHING
        for layer in list_linears(model) if model.identity in run else ():
            making = made.get(id(layer.origin))
            size = find_odd_size(making, "Linear", MULTIPLE) if making is not None else None
            if size is not None:
                yield Report(making.node, f"torchao converts this layer to FP8, whose products have sizes that are multiples of "
                             f"{MULTIPLE}: {size} raises an error")


def list_conversions(program: Program) -> Iterator[Event]:
    """torchao's conversions of all linear layers."""
    for event in program.calls_of("convert_to_float8_training"):
        if event.callee.name.startswith("torchao.") and not {"module_filter_fn", "**"} & event.keywords.keys():
            yield event


def list_linears(model: Value) -> Iterator[Value]:
    """The linear layers that a module is or has as attributes."""
    if model.kind == values.MODULE and model.name == "torch.nn.Linear":
        yield model
    if isinstance(model.parts, Class):
        for made in model.parts.lineage[0]:
            yield from (each for each in made.attributes.values() if each.kind == values.MODULE and each.name == "torch.nn.Linear")


@rule
def fp8_last_layer(program: Program) -> Iterator[Report]:
    for event in list_conversions(program) if trains(program) else ():
        yield Report(event.node, "every linear layer becomes FP8, the last one too, which gives the logits: module_filter_fn")


# --- Recipes ---


@rule
def fp8_short_history(program: Program) -> Iterator[Report]:
    for event in program.calls if trains(program) else ():
        if event.callee.name == library.DELAYED or event.callee.name in KWARGS:
            length, how = (event.keywords.get(key, values.NOTHING).constant for key in ("amax_history_len", "amax_compute_algo"))
            if length == 1 or how == "most_recent":
                told = "amax_history_len=1" if length == 1 else "amax_compute_algo=\"most_recent\""
                yield Report(event.node, f"{told}: a tensor that is larger than in the step before saturates. The largest of many "
                             "steps leaves room")


# --- What is around the region ---


# A script that computes in 16 bits somewhere.
LOW_WORDS = re.compile(r"bfloat16|\.half\(|float16|bf16|fp16|set_default_dtype|params_dtype")


@rule
def fp8_around_fp32(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.FORWARD):
        module, region = event.subject, find_region(event)
        is_own = module.kind == values.MODULE and (module.parts is not None or module.name.startswith(library.ENGINE))
        if region is not None and is_own and event.region is None and not event.in_unknown_context and not program.mentions(LOW_WORDS):
            yield Report(region.node, "FP8 is for matrix products alone, and all else is FP32 in this region: "
                         "torch.autocast(\"cuda\", dtype=torch.bfloat16) around it")


@rule
def fp8_evaluation_outside(program: Program) -> Iterator[Report]:
    passes = [event for event in program.of_kind(events.FORWARD) if getattr(event.function, "name", "") != "forward"]
    trained = {event.subject.identity for event in passes if find_region(event) is not None and not event.no_grad}
    for event in passes:
        if event.no_grad and event.subject.identity in trained and find_region(event) is None and not event.in_unknown_context:
            yield Report(event.node, "the model trains in FP8, and is evaluated outside of the region: its results "
                         "in FP8 are not measured")


STATE = re.compile("extra_state")
ENGINE = re.compile("transformer_engine")


@rule
def fp8_state_not_saved(program: Program) -> Iterator[Report]:
    if not program.mentions(ENGINE) or not program.mentions(STATE):
        return
    saved = program.calls_of("save", "save_file")
    names = {node.id for event in saved for node in ast.walk(event.node) if isinstance(node, ast.Name)}
    inside = {id(node) for event in saved for node in ast.walk(event.node)}
    for node in ast.walk(program.script.tree):
        if isinstance(node, ast.DictComp) and (id(node) in inside or program.targets.get(id(node)) in names) \
                and any(leaves_out(test) for clause in node.generators for test in clause.ifs):
            yield Report(node, "the checkpoint has no _extra_state, where TransformerEngine keeps the scales of FP8: a training "
                         "that goes on starts with scales of 1")


def leaves_out(test: ast.expr) -> bool:
    """True if a condition is that a name has no `_extra_state`."""
    text = ast.unparse(test)
    return bool(STATE.search(text)) and ("not in" in text or text.startswith("not "))

"""FP8 with scales of a script's own: casts, the magnitudes that scales come from, and what they belong to."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from mpopt.lint import events, library, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.fp8 import KWARGS, SCALING, SIZES, find_region, trains
from mpopt.lint.rules.fp8_codes import OF_DATA, list_gathers, list_gradient_casts, list_kept_codes
from mpopt.lint.rules.fp8_flow import (
    FORMATS, FP8, FUNCTIONS, LARGEST, LIMITS, find_guarded, find_made, find_quotient, find_scaled, flow_of, is_own, list_casts, list_formats,
    name_of, object_of, walk)

LARGEST_FP32 = (2 - 2.0 ** -23) * 2.0 ** 127
# An amax from which on the largest code over it is an FP32 number.
LEAST_AMAX = max(FORMATS.values()) / LARGEST_FP32
# The scales of a cache are computed once, without the values that are stored later.
OF_CACHE = re.compile(r"^(?:k|v|kv|key|value)_?scales?$")
# FP32's and BF16's least normal number.
LEAST_NORMAL = 2.0 ** -126
NAMED_LARGEST = re.compile(r"amax|absmax|abs_max|max_abs")
GUARDS = {"clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "maximum", "where", "nan_to_num", "masked_fill", "masked_fill_"}


def is_limited(program: Program, cast: ast.expr, scaled: ast.BinOp) -> bool:
    """True if the dividend is limited, or the quotient in place."""
    if any(isinstance(part, ast.Call) and name_of(part) in LIMITS for part in walk(program, scaled.left, 1)):
        return True
    return isinstance(cast, ast.Name) and any(
        event.callee.kind != values.NAME and getattr(getattr(event.node.func, "value", None), "id", "") == cast.id
        for event in program.calls_of("clamp_", "clip_") if isinstance(event.node, ast.Call))


def is_of_largest(program: Program, scale: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) and LARGEST.match(name_of(part))
               or NAMED_LARGEST.search(getattr(part, "attr", "") or getattr(part, "id", "")) for part in walk(program, scale))


def find_stored(program: Program, scale: ast.expr) -> bool:
    """True if a scale is a number or what an object keeps, and nothing that a caller hands over or a function computes."""
    parts = list(walk(program, scale))
    # `self`, modules, and what was followed to an assignment.
    free = {part.id for part in parts if isinstance(part, ast.Name) and not OF_CACHE.match(part.id) and not flow_of(program).sources(part)}
    bases = {part.value.id for part in parts if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)}
    own = any(isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and not flow_of(program).sources(part) for part in parts)
    return free <= bases and not own


@rule
def fp8_cast_unclamped(program: Program) -> Iterator[Report]:
    for node, cast, _ in list_casts(program):
        scaled = find_scaled(program, cast)
        if scaled is None or is_limited(program, cast, scaled) or is_of_largest(program, scaled.right) \
                or not find_stored(program, scaled.right):
            continue
        yield Report(node, "the scale is not that of the largest of these numbers, and nothing limits them: torch's cast to E4M3 gives NaN "
                     "past 464, and one NaN makes a whole row of the product NaN. Clamp to torch.finfo(dtype).max first")


# --- Scales from the largest magnitude ---


SIZE_AND_LARGEST = {"size", "largest"}


def kinds_of(part: ast.AST) -> set[str]:
    name = name_of(part) if isinstance(part, ast.Call) else ""
    return {"largest"} if name in ("max", "amax") else {"size"} if name in ("abs", "abs_") else SIZE_AND_LARGEST if name == "aminmax" else set()


def has_other(call: ast.Call) -> bool:
    """True if a `max` is that of two values, not that of one over a dimension."""
    others = call.args if object_of(call) is not None else call.args[1:]
    return bool(others) and not isinstance(others[0], (ast.UnaryOp, ast.Constant, ast.Tuple))


EPSILON = re.compile(r"eps|tiny", re.I)


def number_of(program: Program, node: ast.AST) -> float | None:
    """A float that is written, or the least normal one that `finfo` has."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, float) else None
    if getattr(node, "attr", "") not in ("tiny", "smallest_normal"):
        return None
    made = find_made(program, node.value)  # type: ignore[attr-defined]
    kinds = {getattr(part, "attr", "") for part in ast.walk(made)} if isinstance(made, ast.Call) and name_of(made) == "finfo" else set()
    return LEAST_NORMAL if kinds & {"float32", "bfloat16"} else None


def list_guards(program: Program, scale: ast.expr) -> Iterator[float | None]:
    """The limits from below that a scale or its amax has; None where the number is not known."""
    for part in walk(program, scale):
        if isinstance(part, ast.Call):
            name = name_of(part)
            given = [find_made(program, each) for each in [*part.args, *(keyword.value for keyword in part.keywords if keyword.arg != "dim")]]
            known = [number for each in given if (number := number_of(program, each)) is not None]
            # A scale itself may be as small: its inverse is an FP32 number.
            if known == [LEAST_NORMAL] and isinstance(find_made(program, find_guarded(part)), ast.BinOp):
                known = []
            if name in GUARDS or name == "max" and known or name == "max" and has_other(part):
                yield min(known) if known else None
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            for side in (part.left, part.right):
                added = find_made(program, side)
                if isinstance(added, ast.Constant) and isinstance(added.value, float):
                    yield added.value
                elif EPSILON.search(getattr(side, "id", "") or getattr(side, "attr", "")):
                    yield None
        elif isinstance(part, ast.IfExp):
            yield None


def asks_for_zero(program: Program, node: ast.AST) -> bool:
    """True if the function around a cast compares with 0."""
    function = flow_of(program).around[id(node)]
    return isinstance(function, FUNCTIONS) and any(
        isinstance(part, ast.Compare) and any(isinstance(each, ast.Constant) and each.value == 0 for each in [part.left, *part.comparators])
        for part in ast.walk(function))


@rule
def fp8_scale_of_zeros(program: Program) -> Iterator[Report]:
    for node, cast, _ in list_casts(program):
        scaled = find_quotient(program, cast)
        if scaled is None or not SIZE_AND_LARGEST <= {kind for part in walk(program, scaled.right) for kind in kinds_of(part)}:
            continue
        guards = list(list_guards(program, scaled.right))
        if not guards and not asks_for_zero(program, node):
            yield Report(node, "the scale comes from the largest magnitude, and nothing keeps that from 0: of numbers that are all 0, padding "
                         "or an expert without tokens, 0 / 0 is NaN. clamp(min=1e-12) on the magnitude")
        elif guards and (most := max(math.inf if limit is None else limit for limit in guards)) < LEAST_AMAX:
            yield Report(node, f"a largest magnitude of {most:g} makes the scale or its inverse Inf in FP32, and 0 times Inf is NaN: "
                         "1e-12 keeps it finite")


@rule
def fp8_other_maximum(program: Program) -> Iterator[Report]:
    for node, cast, dtype in list_casts(program):
        formats = list_formats(program, dtype)
        named = {its for part in walk(program, cast) if (its := largest_of(program, part, formats)) is not None}
        lost = [name for name in formats if named and FORMATS[name] < min(named)]
        if lost:
            where = "" if len(formats) == 1 else f", where it is {lost[0]}"
            yield Report(node, f"the cast is to {lost[0]}, whose largest number is {FORMATS[lost[0]]:g}, and the scale is made for {min(named):g}{where}: "
                         "what is above saturates or becomes NaN. torch.finfo of the dtype that is cast to")


def is_finfo(program: Program, node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr != "max":
        return False
    made = find_made(program, node.value)
    return isinstance(made, ast.Call) and name_of(made) == "finfo"


def largest_of(program: Program, part: ast.AST, formats: list[str]) -> float | None:
    """The largest number of a format that an expression names; of the formats of the cast that of the smallest."""
    if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) and part.value in FORMATS.values():
        return float(part.value)
    if is_finfo(program, part):
        named = list_formats(program, part)
        return min(FORMATS[name] for name in named) if named else None
    return None


@rule
def fp8_gradients_in_e4m3(program: Program) -> Iterator[Report]:
    for event in program.calls if trains(program) else ():
        given = event.keywords.get("fp8_format", values.NOTHING)
        if event.callee.name in SCALING and given.name.endswith("Format.E4M3") \
                or event.callee.name in KWARGS and given.constant == "E4M3":
            yield Report(event.node, "gradients are E4M3 with one scale a tensor: values below 2^-18 of the largest one are 0. "
                         "HYBRID has E5M2 for them")
    for node in list_gradient_casts(program):
        yield Report(node, "a gradient becomes E4M3 by one scale for the tensor: values below 2^-18 of the largest one are 0. "
                     "float8_e5m2 holds them down to 2^-32; scales of rows or blocks do, too")


# --- What a scale belongs to ---


def accumulates(program: Program) -> bool:
    """True if several backward passes go before a step."""
    steps = program.of_kind(*events.STEPS)
    return any(backward.loops[:len(step.loops)] == step.loops and (len(backward.loops) > len(step.loops) or any(
        isinstance(part, ast.Mod) for test, _ in step.tests if test not in [other for other, _ in backward.tests] for part in ast.walk(test)))
               for step in steps for backward in program.of_kind(*events.BACKWARDS))


def list_overwritten(program: Program, made: ast.ClassDef) -> Iterator[tuple[ast.AST, str]]:
    """Magnitudes that a module's forward pass writes over, and another method makes scales of."""
    methods = {each.name: each for each in made.body if isinstance(each, ast.FunctionDef)}
    read = {part.attr for name, method in methods.items() if name not in ("forward", "__init__") for part in ast.walk(method) if is_own(part)}
    for node in ast.walk(methods["forward"]) if "forward" in methods else ():
        if isinstance(node, ast.Assign) and is_own(node.targets[0]):
            name, value = node.targets[0].attr, node.value
        elif isinstance(node, ast.Call) and name_of(node) in ("copy_", "fill_") and node.args and is_own(getattr(node.func, "value", node)):
            name, value = node.func.value.attr, node.args[0]
        else:
            continue
        parts = list(walk(program, value))
        if name in read and not any(is_own(part, name) for part in parts) \
                and any(isinstance(part, ast.Call) and LARGEST.match(name_of(part)) for part in parts) \
                and any(isinstance(part, ast.Call) and name_of(part) in ("abs", "abs_", "amax") for part in parts):
            yield node, name


@rule
def fp8_stale_scale(program: Program) -> Iterator[Report]:
    if FP8.search(program.script.text) is None:
        return
    for node, name in list_kept_codes(program) if program.of_kind(*events.STEPS) else ():
        yield Report(node, f"self.{name} is cast once, and the scale is that of the weight as it is now: a step changes the weight, and the codes "
                     "are read by a scale that is not theirs. Cast again behind each step, or keep the scale beside the codes")
    if accumulates(program):
        for made in (node for node in ast.walk(program.script.tree) if isinstance(node, ast.ClassDef)):
            for node, name in list_overwritten(program, made):
                yield Report(node, f"each pass writes over {name}, and several go before a step: the scale becomes that of the last one. "
                             "torch.maximum with what is there")
    for node in ast.walk(program.script.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and name_of(node.value) == "Parameter" \
                and any(is_own(target) and NAMED_LARGEST.search(target.attr) for target in node.targets) \
                and not any(keyword.arg == "requires_grad" for keyword in node.value.keywords):
            yield Report(node, "the largest magnitudes are a parameter: the optimizer moves them, and their gradients count where all are "
                         "clipped. register_buffer")
    steps = program.of_kind(*events.STEPS)
    stepping = {loop for step in steps for loop in step.loops}
    for event in program.calls:
        if "is_first_microbatch" not in event.keywords or not isinstance(event.node, ast.Call) or not stepping.intersection(event.loops):
            continue
        given = next((keyword.value for keyword in event.node.keywords if keyword.arg == "is_first_microbatch"), None)
        if given is None:
            continue
        counted = {part.id for part in ast.walk(find_made(program, given)) if isinstance(part, ast.Name)}
        last = [loop for loop in event.loops if loop in stepping][-1]
        own = {part.id for part in ast.walk(getattr(last, "target", last)) if isinstance(part, ast.Name)} if hasattr(last, "target") else set()
        is_never = isinstance(given, ast.Constant) and given.value is False
        if is_never or counted and counted <= own and isinstance(given, ast.Compare):
            yield Report(event.node, "is_first_microbatch is not true again after a step: the FP8 weights that are kept are those from before "
                         "it. True in the first pass behind each step")
    ready = program.calls_of("precompute_float8_dynamic_scale_for_fsdp")
    if ready and steps and not any(call.loops == step.loops and call.node.lineno > step.node.lineno for call in ready for step in steps) \
            and program.script.owner(ready[0].node) is program.script.owner(steps[0].node):
        yield Report(ready[0].node, "scales of weights are computed before the step that changes them: the next gather casts by those of "
                     "the weights before. Call it behind optimizer.step()")


# --- Regions ---


def is_of_data(program: Program, group: ast.expr) -> bool:
    """True if a group holds ranks at a stride, or is called one of data parallelism."""
    made = [part for part in walk(program, group) if isinstance(part, ast.Call) and name_of(part) == "new_group" and part.args]
    if made:
        return any(isinstance(part, ast.Call) and name_of(part) == "range" and len(part.args) == 3
                   for call in made for part in walk(program, call.args[0], 1))
    return isinstance(group, ast.Name) and OF_DATA.search(group.id) is not None


@rule
def fp8_amax_group(program: Program) -> Iterator[Report]:
    for node in list_gathers(program):
        yield Report(node, "the codes of other ranks are read by this rank's scale, and the largest magnitude is reduced over data-parallel "
                     "ranks, none of which holds a part of this tensor: scales differ. Reduce it over the group that gathers")
    split = any(event.keywords["sequence_parallel"].constant is True for event in program.calls if "sequence_parallel" in event.keywords)
    for event in program.calls_of("fp8_autocast", "autocast") if split else ():
        given = next((keyword.value for keyword in getattr(event.node, "keywords", ()) if keyword.arg in ("fp8_group", "amax_reduction_group")), None)
        if given is not None and is_of_data(program, given):
            yield Report(event.node, "amax is reduced over data-parallel ranks, and with sequence parallelism ranks of a tensor group hold other "
                         "tokens: their scales differ, and gathered codes are read by the wrong one. fp8_group has to span both")


# They make an object that nothing else has.
COPIES = {"copy.deepcopy", "copy.copy"}


def is_made_here(program: Program, event: Event) -> bool:
    """True if a conversion is handed a copy or a module that it alone knows, or one layer, which it cannot exchange in place."""
    given = event.argument(0, "module") or values.NOTHING
    node = event.node.args[0] if event.node.args else None
    if isinstance(node, ast.Call):
        return given.kind == values.MODULE and given.origin is node or any(call.node is node and call.callee.name in COPIES for call in program.calls)
    return given.kind == values.MODULE and given.name == "torch.nn.Linear"


def list_lost_conversions(program: Program) -> Iterator[Event]:
    """torchao's conversions whose result is dropped and whose argument is used nowhere else."""
    dropped = {id(part.value) for part in ast.walk(program.script.tree) if isinstance(part, ast.Expr)}
    for event in program.calls_of("convert_to_float8_training"):
        if event.callee.name.startswith("torchao.") and id(event.node) in dropped and is_made_here(program, event):
            yield event


CONVERTED = re.compile(r"convert|replace_|swap|prepare|accelerate|wrap|apply_|te\.onnx|checkpoint")


@rule
def fp8_not_used(program: Program) -> Iterator[Report]:
    for event in list_lost_conversions(program):
        yield Report(event.node, "the layers that become FP8 are those of a module that only this call has: the model that runs computes as "
                     "before, and nothing says so. model = convert_to_float8_training(model)")
    if not trains(program) or any(event.callee.name.startswith(library.ENGINE) for event in program.calls_of(*SIZES)) \
            or program.mentions(CONVERTED):
        return
    for event in program.of_kind(events.FORWARD):
        region, module = find_region(event), event.subject
        if region is None or module.kind != values.MODULE or module.parts is None or getattr(module.parts, "has_hidden_base", True) \
                and set(module.parts.library_bases) != {"torch.nn.Module"}:
            continue
        held = [each for made in module.parts.lineage[0] for each in made.attributes.values() if each.kind == values.MODULE]
        if held and all(each.name.startswith("torch.nn.") for each in held):
            yield Report(region.node, "no layer in this region is TransformerEngine's: torch.nn layers pass FP8 over without a word, and "
                         "compute as they do outside. te.Linear and its kin")

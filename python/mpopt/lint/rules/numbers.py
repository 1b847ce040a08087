"""Numbers and functions that 16 bits do not hold, and NaN that is hidden.

Most of these ask for a tensor whose type the file shows: what autocast does to an op of
another module is `mpopt --check`'s business."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Operation, Program
from mpopt.lint.library import DEFAULT_EPS, op_name
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.casts import ASKED, MASTER_WEIGHTS, find_casts, is_trained_in_part, list_trained, takes_type
from mpopt.lint.rules.lightning import list_hooks, list_low_trainers
from mpopt.lint.values import LOW, NAMES, Value

LARGEST_FP16 = 65504
# Half the least subnormal number, which rounds to 0.
FLUSHED_FP16 = 2.0 ** -25
LEAST_EPSILON = 1e-7
# A script that computes in FP16, by its words.
FP16_WORDS = re.compile(r"gradscaler|(?<!b)float16|(?<!b)fp16|\.half\(|mixed_precision", re.I)
# Functions whose results leave FP16 for arguments of a few digits, with where they do.
STEEP = {"exp": "above 11.09", "expm1": "above 11.09", "cosh": "above 11.78", "sinh": "above 11.78",
         "pow": "above 256 for a square", "log": "of values that FP16 rounds to 0", "log2": "of values that FP16 rounds to 0",
         "log10": "of values that FP16 rounds to 0"}
CLAMPS = ("clamp", "clamp_", "clamp_min", "clip")
EPSILON_DEFAULTS = {"normalize": 1e-12, "cosine_similarity": 1e-8}


def operation(event: Event) -> tuple[str, Value, tuple[Value, ...]]:
    """The op of a call, its tensor and the arguments after that; no name if the call is
    none of a tensor."""
    if event.callee.kind == values.METHOD and event.callee.parts.kind == values.TENSOR:
        return event.callee.name, event.callee.parts, event.arguments
    if event.callee.kind == values.NAME and (name := op_name(event.callee.name)):
        first = event.arguments[0] if event.arguments else event.keywords.get("input", values.NOTHING)
        return name, first, event.arguments[1:]
    return "", values.NOTHING, ()


def find_lost_epsilon(optimizer: Value) -> tuple[str, float] | None:
    """The name and the epsilon of an optimizer that divides by a sum with it, where FP16 has none of that size."""
    eps, name = optimizer.parts.eps, optimizer.name.rpartition(".")[2]
    return (name, eps) if eps is not None and 0 < eps < LEAST_EPSILON and name in DEFAULT_EPS else None


@rule
def optimizer_epsilon_in_half(program: Program) -> Iterator[Report]:
    for optimizer, module, event in list_trained(program):
        if (lost := find_lost_epsilon(optimizer)) and not program.mentions(MASTER_WEIGHTS) \
                and not is_trained_in_part(program, module) and find_casts(program, module, event, ("f16",)):
            name, eps = lost
            told = f"eps={eps:g}" if optimizer.parts.has_eps else f"the default eps of {eps:g}"
            yield Report(event.node, f"{told} is 0 in the weights' FP16, in which {name} computes: it divides by 0 "
                         "where the second moment is 0")
    # Lightning's 16-true trains what the modules of the file configure.
    if not any(choice.dtype == "f16" for _, choice in list_low_trainers(program)):
        return
    configured = list_hooks(program, "configure_optimizers")
    for event in program.calls_that_make(values.OPTIMIZER):
        if event.function in configured and (lost := find_lost_epsilon(event.result)):
            name, eps = lost
            yield Report(event.node, f"eps={eps:g} is 0 in the FP16 of the trainer's 16-true, in which {name} computes: it "
                         "divides by 0 where the second moment is 0")


@rule
def epsilon_lost_in_half(program: Program) -> Iterator[Report]:
    for each in program.operations:
        for tensor, other in ((each.left, each.right), (each.right, each.left)):
            if tensor.dtype == "f16" and each.has(ast.Add) and tensor.kind == values.TENSOR \
                    and is_flushed(other.constant):
                yield Report(each.node, f"{other.constant:g} is 0 in FP16: it guards nothing")
    for event in program.calls_of(*EPSILON_DEFAULTS, *CLAMPS, "add", "add_"):
        name, tensor, arguments = operation(event)
        if tensor.dtype != "f16" or event.in_autocast and widens(event, name):
            continue
        guard = None
        if name in EPSILON_DEFAULTS:
            at = 2 if name == "normalize" else 1
            given = event.keywords.get("eps", arguments[at + 1] if len(arguments) > at + 1 else None)
            guard = EPSILON_DEFAULTS[name] if given is None else given.constant
        elif name in CLAMPS:
            given = event.keywords.get("min", arguments[0] if arguments else None)
            guard = given.constant if given is not None else None
        elif name in ("add", "add_") and arguments:
            guard = arguments[0].constant
        if is_flushed(guard):
            yield Report(event.node, f"{guard:g} is 0 in FP16: it guards nothing")


def widens(event: Event, name: str) -> bool:
    """True if autocast computes the function, epsilon and all, in FP32. `normalize` is a norm and a division by it: the
    CPU's autocast has no entry for the norm."""
    return name == "cosine_similarity" or name == "normalize" and (event.region is None or event.region.device != "cpu")


def is_flushed(number) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and 0 < abs(number) <= FLUSHED_FP16


@rule
def softmax_in_half(program: Program) -> Iterator[Report]:
    for event in program.calls_of("softmax", "log_softmax", "logsumexp"):
        name, tensor, _ = operation(event)
        if name and tensor.dtype in LOW and not event.in_autocast \
                and event.keywords.get("dtype", values.NOTHING).dtype not in ("f32", "f64"):
            # In a model that is in 16 bits as a whole, it is one op of many; numbers that are drawn are a test's.
            is_drawn = isinstance(tensor.origin, ast.Call) and getattr(tensor.origin.func, "attr", "") in ("rand", "randn")
            yield Report(event.node, severity="note" if tensor.has("forward") or is_drawn else "", message=f"{name} of {NAMES[tensor.dtype]} values outside autocast: give it "
                         "dtype=torch.float32")


@rule
def exp_in_half(program: Program) -> Iterator[Report]:
    for event in program.calls_of(*STEEP):
        name, tensor, _ = operation(event)
        if name and tensor.dtype == "f16" and not event.in_autocast \
                and not (name.startswith("log") and tensor.has("guarded")):
            yield Report(event.node, f"{name} in FP16 is Inf {STEEP[name]}: .float() first"
                         if not name.startswith("log") else f"{name} in FP16 is -Inf {STEEP[name]}: .float() first")
    for each in program.operations:
        power = each.right.constant
        if each.left.dtype == "f16" and each.left.kind == values.TENSOR and each.has(ast.Pow) and not each.assigns \
                and not each.in_autocast and isinstance(power, (int, float)) and power > 2:
            yield Report(each.node, f"a power of {power:g} in FP16 is Inf above "
                         f"{LARGEST_FP16 ** (1 / power):.3g}: .float() first")


@rule
def square_sum_in_half(program: Program) -> Iterator[Report]:
    for event in program.calls_of("sum", "mean"):
        name, tensor, _ = operation(event)
        if name and tensor.has("squares") and tensor.dtype == "f16" \
                and event.keywords.get("dtype", values.NOTHING).dtype not in ("f32", "f64"):
            yield Report(event.node, "squares in FP16 are Inf above 256 and 0 below 1.7e-4: .float() before squaring")
        elif event.callee.kind == values.UNKNOWN and event.callee.path == "sum" and event.arguments \
                and event.arguments[0].has("squares") and event.arguments[0].dtype == "f16":
            yield Report(event.node, "squares in FP16 are Inf above 256 and 0 below 1.7e-4, those of norms too: .float() "
                         "before squaring")


@rule
def division_in_half(program: Program) -> Iterator[Report]:
    for each in program.operations:
        right = each.right
        if right.dtype == "f16" and each.has(ast.Div) and right.kind == values.TENSOR \
                and right.has("sum") and not right.has("guarded"):
            yield Report(each.node, "a division by a sum that is kept in FP16: it is Inf above 65504, and 0 where its "
                         "terms are flushed: .float() first")


def may_compute_in_fp16(program: Program) -> bool:
    """True if a script shows FP16: by a word, or by a region that may be in it."""
    if program.script.mentions(FP16_WORDS):
        return True
    regions = [event.result.parts for event in program.calls_that_make(values.REGION)]
    regions += [event.subject.parts for event in program.of_kind(events.CONTEXT)]
    return any(not region.null and region.enabled is not False and (not region.dtype or region.dtype == "f16") for region in regions)


def is_of_numbers(event: Event, name: str) -> bool:
    """True if `where` chooses between numbers, which gives a tensor in FP32."""
    return name == "where" and len(event.arguments) == 3 and all(values.is_number(value) for value in event.arguments[1:])


@rule
def mask_out_of_range(program: Program) -> Iterator[Report]:
    if not may_compute_in_fp16(program):
        return
    for event in program.calls_of("masked_fill", "masked_fill_", "where"):
        name, tensor, arguments = operation(event)
        if event.callee.kind == values.METHOD and event.callee.name in ("masked_fill", "masked_fill_"):
            name, tensor, arguments = event.callee.name, event.callee.parts, event.arguments
        if not name or is_of_numbers(event, name):
            continue
        if name == "where":
            tensor = next((value for value in arguments if value.kind == values.TENSOR), values.NOTHING)
        if asks_for_type(program, event.tests):
            continue
        given = [*arguments, *event.keywords.values()]
        for value in given:
            if is_too_large(value.constant) and tensor.dtype not in ("f32", "f64", "bf16"):
                yield Report(event.node, f"{value.constant:g} is out of FP16's range: of a tensor in FP16, "
                             "masked_fill raises an error, and other ops give -Inf",
                             fixes.mask_of_finfo(program.script, event.node), severity=severity_in_fp16(tensor))
                break
    for each, value, other in list_products(program):
        if is_too_large(value.constant) and other.dtype not in ("f32", "f64", "bf16") \
                and "mask" in program.script.code(each.node).lower() and not asks_for_type(program, each.tests):
            yield Report(each.node, f"a mask of {value.constant:g}, which is -Inf in FP16: "
                         "torch.finfo(dtype).min", severity=severity_in_fp16(other))


def severity_in_fp16(tensor: Value) -> str:
    """A tensor of a script that shows FP16 somewhere may be in FP32 all the same."""
    return "" if tensor.dtype == "f16" else "note"


def asks_for_type(program: Program, tests: tuple[tuple[ast.AST, bool], ...]) -> bool:
    """True if a branch is one of those that a script has for types."""
    return any(ASKED.search(program.script.code(test)) for test, _ in tests)


def list_products(program: Program) -> Iterator[tuple[Operation, Value, Value]]:
    """Products, with each of their factors and the other one."""
    for each in program.operations:
        if each.has(ast.Mult):
            yield each, each.left, each.right
            yield each, each.right, each.left


def is_too_large(number) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and number < -LARGEST_FP16 \
        and math.isfinite(number)


def is_infinite(value: Value) -> bool:
    return isinstance(value.constant, float) and math.isinf(value.constant) \
        or value.kind == values.NAME and value.name in ("torch.inf", "math.inf", "numpy.inf")


@rule
def infinite_mask_product(program: Program) -> Iterator[Report]:
    for each, value, other in list_products(program):
        if not is_infinite(value) or other.kind == values.CONSTANT or other.has("sum"):
            continue
        text = program.script.code(each.node).lower()
        if ("mask" in text or other.kind == values.TENSOR) and "ones" not in text:
            yield Report(each.node, "an infinity times a mask: 0 times Inf is NaN where the mask is 0: masked_fill")


NAN_TEST = re.compile(r"isnan|isinf|isfinite")


def asks_for_nan(program: Program, test: ast.AST) -> bool:
    """True if a condition asks whether something is NaN, also by a name that got the answer before."""
    asked = [test, *(program.find_assigned(node) for node in ast.walk(test) if isinstance(node, ast.Name))]
    return any(NAN_TEST.search(program.script.code(node)) for node in asked)


@rule
def nan_replaced(program: Program) -> Iterator[Report]:
    if not program.of_kind(*events.BACKWARDS):
        return
    # Values computed from a result may have infinities of their own, as those of masks.
    results = {id(event.node) for event in program.of_kind(events.FORWARD)}
    for event in program.calls_of("nan_to_num", "nan_to_num_"):
        if event.callee.kind == values.METHOD and event.callee.name in ("nan_to_num", "nan_to_num_"):
            tensor = event.callee.parts
        elif event.callee.name == "torch.nan_to_num" and event.arguments:
            tensor = event.arguments[0]
        else:
            continue
        if any(asks_for_nan(program, test) for test, _ in event.tests):
            continue  # The script sees them, and does something about it.
        for fact, word in (("loss", "the loss"), ("grad", "a gradient"), ("forward", "the model's result")):
            if tensor.has(fact) and (fact != "forward" or id(tensor.origin) in results):
                yield Report(event.node, f"NaN and Inf in {word} become numbers here, and nothing says where they "
                             "came from")
                break


BROAD = {"Exception", "BaseException", "builtins.Exception"}


@rule
def swallowed_step_error(program: Program) -> Iterator[Report]:
    # A loop that only measures backward passes trains nothing.
    stepping = {id(event.loops[-1]) for event in program.of_kind(*events.STEPS) if event.loops}
    for node, place in program.tries:
        if not place.loops or id(place.loops[-1]) not in stepping:
            continue
        block = program.try_bodies[id(node)]
        inside = [event for event in events.walk(block) if event.kind in (*events.BACKWARDS, *events.STEPS)]
        if not inside:
            continue
        for handler in node.handlers:
            name = program.script.code(handler.type).strip("() ") if handler.type is not None else ""
            if (not name or name in BROAD) and not leaves(handler.body):
                yield Report(handler, "whatever goes wrong in a training step ends here, and the loop goes on: "
                             "NaN checks, failed asserts and half-taken steps too")


def leaves(suite: list[ast.stmt]) -> bool:
    """True if a suite raises, or ends the loop or the run, anywhere in it."""
    for node in (inner for statement in suite for inner in ast.walk(statement)):
        if isinstance(node, (ast.Raise, ast.Return, ast.Break)):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            if name in ("exit", "_exit", "set_trace", "breakpoint", "abort"):
                return True
    return False


# The largest number up to which a type has every whole one: 2 to its digits.
WHOLE = {"bf16": 2 ** 8, "f16": 2 ** 11}


def find_end(event: Event) -> object:
    """The number at which `arange(start, end)`, `arange(end)`, `randint(low, high, size)` or `randint(high, size)` ends; None
    if it is not known."""
    given = [value for value in event.arguments[:2] if value.kind != values.SEQUENCE]
    return given[-1].constant if given else None


@rule
def positions_in_half(program: Program) -> Iterator[Report]:
    made = {event.result.identity: event for event in program.calls_of("arange", "randint")
            if event.callee.name in ("torch.arange", "torch.randint") and event.arguments}
    typed = [(event, event, values.as_dtype(event.keywords.get("dtype", values.NOTHING)).dtype) for event in made.values()]
    casts = [(cast, made[cast.callee.parts.identity], cast.result.dtype) for cast in program.calls_of("to", "half", "bfloat16", "type_as")
             if cast.callee.kind == values.METHOD and cast.callee.parts.identity in made]
    reported = set()
    for event, positions, dtype in typed + casts:
        end = find_end(positions)
        if dtype not in WHOLE or isinstance(end, (int, float)) and end <= WHOLE[dtype]:
            continue
        name = values.NAMES[dtype]
        reported.add(event.function)
        what = "positions" if positions.callee.name == "torch.arange" else "steps"
        yield Report(event.node, f"{name} has every whole number up to {WHOLE[dtype]} only: {what} behind it become one. "
                     "Compute with them in FP32, and cast the result",
                     severity="note" if end is None else "")
    ends = {event.function: find_end(event) for event in made.values()}
    yield from judge_angles(program, reported, ends)
    for cast in program.of_kind(events.CAST):
        if cast.subject.kind == values.TENSOR and cast.subject.has("table") and cast.dtype in LOW and not takes_type(cast):
            yield Report(cast.node, f"sines and cosines of positions are rounded to {values.NAMES[cast.dtype]}: each rotation is off by as "
                         "much. Keep the table in FP32, and cast what was rotated", severity="note")


# An angle is off by half a unit in its last place: from these on by more than 1/16 of a radian.
LARGEST_ANGLE = {"bf16": 2 ** 5, "f16": 2 ** 8}


def judge_angles(program: Program, reported: set, ends: dict) -> Iterator[Report]:
    """Sines and cosines of 16-bit products of positions. `reported`: functions whose positions are; `ends`: the end of the
    positions of each function."""
    for event in program.calls_of("cos", "sin"):
        name, tensor, _ = operation(event)
        end = ends.get(event.function)
        if not name or tensor.dtype not in LOW or not tensor.has("positions") or event.function in reported \
                or isinstance(end, (int, float)) and end <= LARGEST_ANGLE[tensor.dtype]:
            continue
        yield Report(event.node, f"{name} of angles in {NAMES[tensor.dtype]}, which are off by more than 1/16 of a radian above "
                     f"{LARGEST_ANGLE[tensor.dtype]}: compute angles in FP32, and cast the result", severity="note" if end is None else "")

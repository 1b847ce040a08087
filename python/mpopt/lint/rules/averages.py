"""Running sums and averages that are kept in 16 bits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from mpopt.lint import events, values
from mpopt.lint.interpreter import Operation, Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.values import LOW, NAMES, Value

# Adding to a number from this many times what is added on changes nothing: 2 to the digits of the type.
LAST_ADDED = {"f16": 2 ** 11, "bf16": 2 ** 8}
# An average takes on this share of the difference to what comes in. Below a quarter of a unit in the last place,
# relative to the largest number of a binade, a difference as large as the average itself is rounded away.
LEAST_SHARE = {"f16": 2.0 ** -12, "bf16": 2.0 ** -9}
# The difference of weights to their average, relative to them: a step of Adam at a rate of 1e-4 moves a weight of 0.02 by 2^-8,
# and an average of four such steps lags by this. Where the share loses as much, it follows no fine-tuning.
LAG = 2.0 ** -6


@rule
def accumulator_in_half(program: Program) -> Iterator[Report]:
    yield from judge_averages(program)
    yield from judge_narrowed(program)
    training = find_training_loops(program)
    running = {loop for event in program.of_kind(events.FORWARD) for loop in event.loops if not names_module(loop, event)}
    for each in program.operations:
        if not (each.assigns or is_self_sum(program, each)) or not each.has(ast.Add):
            continue
        left, right = each.left, each.right
        if left.kind == values.TENSOR and left.dtype in LOW and left.has("zero"):
            is_meant = left.has("number") or bool(training.intersection(each.loops))
            dtype = left.dtype if is_meant and is_made_before(left.origin, each) else ""
        else:
            # A number that a tensor is added to becomes such a tensor.
            is_sum = left.constant == 0 and right.kind == values.TENSOR and right.dtype in LOW
            meant = training | running if right.has("sum") else training
            dtype = right.dtype if is_sum and meant.intersection(find_summing_loops(program, each)) else ""
        if dtype:
            yield Report(each.node, f"a running sum in {NAMES[dtype]}: from {LAST_ADDED[dtype]} times an addend on, sums do "
                         "not change any more: sum in FP32")


def find_training_loops(program: Program) -> set[ast.AST]:
    """The loops that train or evaluate. One of passes whose gradients a step behind it takes is none: it adds a few numbers."""
    steps = program.of_kind(*events.STEPS)
    stepping = {loop for event in steps for loop in event.loops}
    backward = {loop for event in program.of_kind(*events.BACKWARDS) for loop in event.loops}
    found = stepping | {loop for event in program.of_kind(events.LOSS) for loop in event.loops}
    return found - (backward - stepping) if steps else found | backward


def names_module(loop: ast.AST, forward: events.Event) -> bool:
    """True if a loop is one over modules: of layers or experts there are a few."""
    target = getattr(loop, "target", None)
    return target is None or any(isinstance(node, ast.Name) and node.id == forward.callee.path.partition(".")[0]
                                 for node in ast.walk(target))


def find_summing_loops(program: Program, each: Operation) -> list[ast.AST]:
    """The loops around an addition that begin behind the statement that clears its sum."""
    total = each.node.target if isinstance(each.node, ast.AugAssign) else each.node.left
    cleared = program.find_assigned(total)
    return [loop for loop in each.loops if cleared is total or loop.lineno > cleared.lineno]


def is_self_sum(program: Program, each: Operation) -> bool:
    """True if an operation is the value of `a = a + b`, in a loop."""
    if not each.loops or not isinstance(each.node, ast.BinOp):
        return False
    target = program.targets.get(id(each.node))
    return target is not None and target == program.script.code(each.node.left)


def is_made_before(origin: ast.AST | None, each: Operation) -> bool:
    """True if a value is made outside of the loop, or of the function, in which it is added to."""
    place = each.loops[-1] if each.loops else each.function
    return origin is not None and place is not None and not place.lineno <= origin.lineno <= place.end_lineno


# --- Averages ---


def judge_averages(program: Program) -> Iterator[Report]:
    factors = find_factors(program)
    for node, average, share in [*list_calls(program, factors), *list_formulas(program, factors), *list_makers(program)]:
        if average.kind in AVERAGED and average.dtype in LOW and 0 < share < LEAST_SHARE[average.dtype]:
            yield Report(node, f"an average in {NAMES[average.dtype]}: the share of {share:.3g} that a step takes on is below its "
                         "digits, and lost: average in FP32")


def judge_narrowed(program: Program) -> Iterator[Report]:
    """Averages in parameters of a module, some of which the script casts by `p.data = ...`."""
    decays = {id(event.node): event for event in program.calls_of("mul_")}
    for event in program.calls_of("add_"):
        share = event.keywords.get("alpha", values.NOTHING).constant
        decay = decays.get(id(event.node.func.value)) if isinstance(event.node, ast.Call) and isinstance(event.node.func, ast.Attribute) \
            else None
        base = decay.callee.parts if decay is not None and decay.callee.kind == values.METHOD else values.NOTHING
        if not isinstance(share, float) or base.kind != values.PARAMETERS or base.parts is None or base.dtype:
            continue
        for cast in program.casts.get(base.parts.identity, ()):
            if cast.dtype in LOW and isinstance(cast.node, ast.Assign) and 0 < share < LEAST_SHARE[cast.dtype] / LAG:
                yield Report(event.node, f"an average in parameters that line {cast.node.lineno} may have made {NAMES[cast.dtype]}: of the "
                             f"share of {share:.3g} differences below {LEAST_SHARE[cast.dtype] / share:.2g} of a weight are lost: average "
                             "in FP32", severity="note")
                break


AVERAGED = (values.TENSOR, values.PARAMETERS, values.MODULE)
# The value of the tensor and the number of a product, by its node.
Factors = dict[int, tuple[Value, float]]


def find_factors(program: Program) -> Factors:
    factors: Factors = {}
    for each in program.operations:
        if each.has(ast.Mult) and isinstance(each.node, ast.BinOp):
            for number, other in ((each.left.constant, each.right), (each.right.constant, each.left)):
                if isinstance(number, float):
                    factors[id(each.node)] = other, number
    return factors


def list_calls(program: Program, factors: Factors) -> Iterator[tuple[ast.AST, Value, float]]:
    """`average.lerp_(x, share)`, `average.mul_(decay).add_(x, alpha=share)`, `average.sub_(share * (average - x))`, and those
    of lists."""
    for event in program.calls_of("lerp_"):
        share = event.keywords.get("weight", event.arguments[-1] if len(event.arguments) == 2 else values.NOTHING).constant
        if isinstance(share, float):
            yield event.node, find_average(event), share
    for event in program.calls_of("add_", "sub_"):
        if not isinstance(event.node, ast.Call) or not isinstance(event.node.func, ast.Attribute):
            continue
        base, given = event.node.func.value, event.node.args[0] if event.node.args else None
        share = event.keywords.get("alpha", values.NOTHING).constant
        if share is None and id(given) in factors:
            share = factors[id(given)][1]
        is_decayed = isinstance(base, ast.Call) and getattr(base.func, "attr", "") == "mul_"
        if isinstance(share, float) and (is_decayed or takes_difference(program, base, given)):
            yield event.node, find_average(event), share
    scaled = {event.arguments[1].constant for event in program.calls_of("_foreach_mul_") if len(event.arguments) == 2}
    for event in program.calls_of("_foreach_lerp_", "_foreach_add_"):
        number = event.argument(2, "weight" if "lerp" in event.callee.name else "alpha")
        share = None if number is None else number.constant
        if isinstance(share, float) and event.arguments and ("lerp" in event.callee.name or adds_to_one(share, scaled)):
            yield event.node, event.arguments[0], share


def adds_to_one(share: float, others: Iterable) -> bool:
    return any(isinstance(other, float) and abs(share + other - 1) < 1e-6 for other in others)


def takes_difference(program: Program, average: ast.expr, given: ast.AST | None) -> bool:
    """True if what is added to an average is a part of its difference to something: `share * (average - x)`."""
    code = program.script.code(average).removesuffix(".data")
    sides = [given.left, given.right] if isinstance(given, ast.BinOp) else []
    return any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Sub)
               and code in [program.script.code(part).removesuffix(".data") for part in (side.left, side.right)] for side in sides)


def find_average(event: events.Event) -> Value:
    """The tensor or parameter that a method changes."""
    return event.callee.parts if event.callee.kind == values.METHOD else values.NOTHING


def list_formulas(program: Program, factors: Factors) -> Iterator[tuple[ast.AST, Value, float]]:
    """`average = decay * average + share * x`, whose factors add up to 1; the same in two steps, and by a difference."""
    decays: dict[str, tuple[Value, float]] = {}
    for each in program.operations:
        if each.has(ast.Add) and isinstance(each.node, ast.BinOp):
            sides = [side for node in (each.node.left, each.node.right) if (side := factors.get(id(node)))]
            if len(sides) == 2 and adds_to_one(sides[0][1], [sides[1][1]]):
                (average, _), (new, share) = sorted(sides, key=lambda side: -side[1])
                # With a tensor in FP32 the sum is one.
                if new.dtype == average.dtype and each.loops:
                    yield each.node, average, share
        elif isinstance(each.node, ast.AugAssign):
            target = program.script.code(each.node.target)
            if each.has(ast.Mult) and isinstance(each.right.constant, float):
                decays[target] = each.left, each.right.constant
            elif each.has(ast.Add, ast.Sub) and (given := factors.get(id(each.node.value))):
                average, decay = decays.get(target, (each.left, 0.0))
                if adds_to_one(given[1], [decay]) or takes_difference(program, each.node.target, each.node.value):
                    yield each.node, average, given[1]


def list_makers(program: Program) -> Iterator[tuple[ast.AST, Value, float]]:
    """PyTorch's and diffusers' averages of the parameters of a model, which have its type."""
    decays = {id(event.node): event for event in program.calls_of("get_ema_multi_avg_fn", "get_ema_avg_fn")}
    for event in program.calls_of("AveragedModel"):
        for given in event.keywords.values():
            if (made := decays.get(id(given.origin))) is not None and event.arguments:
                decay = made.argument(0, "decay")
                number = 0.999 if decay is None else decay.constant
                if isinstance(number, float):
                    yield event.node, event.arguments[0], 1 - number
    for event in program.calls_of("EMAModel"):
        decay = event.argument(1, "decay")
        number = 0.9999 if decay is None else decay.constant
        if event.arguments and event.callee.name.startswith("diffusers.") and isinstance(number, float):
            yield event.node, event.arguments[0], 1 - number

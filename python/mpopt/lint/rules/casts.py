"""Casts by hand: of models, of what goes into them, and of losses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.lightning import list_low_trainers
from mpopt.lint.values import LOW, NAMES, Value

# Scripts that keep an FP32 copy of the weights by other means.
MASTER_WEIGHTS = re.compile(r"FP16_?Optimizer|master_(param|weight|copy)|MasterParams|import deepspeed"
                            r"|from deepspeed|deepspeed\.init|DeepSpeed(Plugin|Engine|Strategy)|network_to_half"
                            r"|convert_models_to_fp32|stochastic_?round|kahan|AnyPrecision"
                            r"|fp32_(param|group|weight|copy|copies|master)|(params?|groups|weights|copy|copies|master)_fp32", re.I)
# Scripts that train what they add to a module.
ADAPTERS = re.compile(r"get_peft_model|add_adapter|inject_adapter|cast_training_params|LoraConfig"
                      r"|prepare_model_for_kbit_training|mark_only_lora_as_trainable")


# An assignment of a learning rate to a group of parameters.
SETS_RATE = re.compile(r"\[[\"']lr[\"']\]\s*=")
# Casts of a file: the paths of the script are followed for each. The most that a script of bench/lint_scripts.py
# and of diffusers' examples has are 3.
MOST_TRAINED = 32


def list_trained(program: Program) -> Iterator[tuple[Value, Value, events.Event]]:
    """The optimizers with the modules whose parameters they train and that are cast, and their calls."""
    seen: set = set()
    for event in program.calls_that_make(values.OPTIMIZER):
        if (rate := event.keywords.get("lr")) is not None and rate.constant == 0 and not program.mentions(SETS_RATE):
            continue  # Its steps change nothing.
        for found in values.find_all(event.result.parts.parameters, values.PARAMETERS):
            key = (event.node, found.parts.identity) if found.parts is not None else None
            if key is not None and key not in seen and key[1] in program.casts and len(seen) < MOST_TRAINED:
                seen.add(key)
                yield event.result, found.parts, event


TRAINING = {*events.STEPS, *events.BACKWARDS}
# Functions that run before any training does.
CONSTRUCTORS = ("__init__", "setup", "build", "init", "configure_optimizers")


def is_trained_by_adapters(program: Program) -> bool:
    return program.mentions(ADAPTERS)


def is_trained_in_part(program: Program, module: Value) -> bool:
    """True if the parameters that are trained may be others than those the module was made with."""
    return bool(program.frozen.get(module.identity)) or is_trained_by_adapters(program)


def find_casts(program: Program, module: Value, making: events.Event, dtypes=LOW) -> list[events.Event]:
    """The casts after which a module is in 16 bits in a step of its training; `making` makes its optimizer.
    One behind the training, to save or to evaluate, is none. Where a part of a module is trained, casts
    before the training do not count: what is trained may be added or widened after them. In FP32 it is at
    the latest in a training in FP16, since the scaler refuses others."""
    is_part = is_trained_in_part(program, module)
    dtypes = ("f16",) if is_part else dtypes
    casts = {id(event): event for event in program.casts.get(module.identity, ())
             if not is_cast_untrained(program, event) and not is_other_case(program, event, making)} if module.identity else {}
    if not any(event.dtype in dtypes for event in casts.values()):
        return []
    found: dict[int, events.Event] = {}
    budget = events.Budget()
    for number, entry in enumerate(program.entries):
        inside = [event for event in casts.values() if event.entry == number]
        if any(event.dtype in dtypes for event in inside):
            is_start = making.entry == number or program.entry_names[number] in CONSTRUCTORS
            for event in follow_casts(entry, casts, is_start, budget, is_part):
                if event.dtype in dtypes:
                    found[id(event.node)] = event
    return list(found.values())


def is_other_case(program: Program, cast: events.Event, making: events.Event) -> bool:
    """True if the condition that chooses a cast's dtype is the opposite of one under which the optimizer is made."""
    return any(cast.when == events.describe(program.script, test, not outcome) for test, outcome in making.tests)


def is_cast_untrained(program: Program, cast: events.Event) -> bool:
    """True if the branch that casts a module is not the one that chooses it to be trained."""
    module = cast.subject.identity
    for test in cast.tests:
        text, outcome = events.normalize(program.script, *test)
        if module in program.chosen.get((text, not outcome), ()) and module not in program.chosen.get((text, outcome), ()):
            return True
    return False


def trains(event: events.Event, module: object) -> bool:
    """True if an event is a part of a training step, or a call that may take such steps with the module."""
    if event.kind != events.OPAQUE:
        return event.kind in TRAINING
    return any(value.identity == module for value in [*event.arguments, *event.keywords.values()]) \
        and any(value.kind == values.OPTIMIZER for value in [*event.arguments, *event.keywords.values()])


def follow_casts(entry: events.Block, casts: dict[int, events.Event], is_start: bool,
                 budget: events.Budget, is_part: bool) -> Iterator[events.Event]:
    """The casts whose type a module has in a training step: of the same pass through a block, or of a loop's
    next one; without any step, those at the end of a block in which the training is prepared."""
    subject = next(iter(casts.values())).subject
    module, module_node = subject.identity, subject.origin

    def is_wanted(event):
        return id(event) in casts or trains(event, module)

    has_steps = any(trains(event, module) for event in events.walk(entry))
    for path in events.list_paths(entry, is_wanted, budget) if not is_part else ():
        last = None
        for event in path:
            if id(event) in casts:
                last = event
            elif last is not None:
                yield last
        if last is not None and not has_steps and is_start:
            yield last
    for loop in events.list_loops(entry) if has_steps else ():
        rounds = events.list_rounds(loop, is_wanted, budget)
        # A round whose first event is a step begins with the type that another one ends with.
        if any(path and id(path[0]) not in casts for path in rounds):
            is_made_inside = loop.node.lineno <= getattr(module_node, "lineno", 0) <= loop.node.end_lineno
            for path in rounds:
                # A later cast back does not undo the rounding.
                yield from [event for event in path if id(event) in casts][-1 if is_made_inside else 0:]


def describe_cast(program: Program, cast: events.Event, optimizer: str) -> str:
    dtype = NAMES[cast.dtype]
    when = cast.when or next((events.describe(program.script, *test) for test in reversed(cast.tests)
                              if "__name__" not in program.script.code(test[0])), "")
    when = f", {when}" if when else ""
    lost = "updates that are small beside a weight are lost"
    if cast.dtype == "f16":
        lost += ", and GradScaler refuses FP16 gradients"
    if cast.node is cast.subject.origin:
        return f"the weights are loaded or made in {dtype}{when}, and {optimizer} trains them: {lost}"
    if cast.callee.name or cast.callee.path:
        held = re.sub(r"\.from_\w+$", "", cast.callee.name).rpartition(".")[2] or cast.callee.path
        return f"{held} holds the very module that {optimizer} trains, and its weights become {dtype} here{when}: {lost}"
    return f"the weights become {dtype} here{when}, and {optimizer} trains them: {lost}"


@rule
def trained_in_half(program: Program) -> Iterator[Report]:
    trained = list(list_trained(program))
    if not is_trained_by_adapters(program):
        for trainer, choice in list_low_trainers(program):
            dtype, when = choice.dtype, choice.when
            lost = "nothing scales the loss, and " if dtype == "f16" else ""
            when = f", {when}" if when else ""
            yield Report(trainer.node, f"the trainer makes the weights {NAMES[dtype]}{when}: {lost}updates that are small "
                         "beside a weight are lost", severity=severity_of(dtype))
    if program.mentions(MASTER_WEIGHTS):
        return
    for node, dtype in list_steps_by_hand(program):
        yield Report(node, f"a step by hand on weights in {NAMES[dtype]}: updates that are small beside a weight are lost",
                     severity=severity_of(dtype))
    for optimizer, module, making in trained:
        name = optimizer.name.rpartition(".")[2] or "an optimizer"
        for cast in find_casts(program, module, making):
            told, severity = describe_cast(program, cast, name), severity_of(cast.dtype)
            if any(other.dtype in ("f32", "f64") and other.loops == cast.loops and other.order > cast.order
                   for other in program.casts[module.identity]):
                severity = "warning"
                told = f"the weights that {name} trains pass through {NAMES[cast.dtype]} in each round, and stay rounded: cast a copy"
            yield Report(cast.node, told, severity=severity)


def list_steps_by_hand(program: Program) -> Iterator[tuple[ast.AST, str]]:
    """`p -= rate * p.grad` and the like on parameters of a module in 16 bits."""
    for each in program.operations:
        is_step = each.has(ast.Sub) or each.has(ast.Add) and each.assigns
        if is_step and each.left.kind == values.PARAMETERS and each.left.dtype in LOW and each.right.has("grad"):
            yield each.node, each.left.dtype
    for event in program.calls_of("add_", "sub_"):
        base = event.callee.parts if event.callee.kind == values.METHOD else values.NOTHING
        if base.kind == values.PARAMETERS and base.dtype in LOW and any(value.has("grad") for value in event.arguments):
            yield event.node, base.dtype


def severity_of(dtype: str) -> str:
    return "error" if dtype == "f16" else "warning"


SECOND_MOMENT = re.compile(r"^(variance|exp_avg_sq|second_moment)_?dtype$")
# A step takes 1 - beta2 off the second moment; below half a unit in the last place, which is at least 2^-9
# of the number, BF16 rounds that away. From twice as much on it is seen wherever the number lies.
LEAST_DECAY_BF16 = 2.0 ** -8
DEFAULT_BETA = 0.999


@rule
def optimizer_state_in_half(program: Program) -> Iterator[Report]:
    for event in program.calls_of("addcmul_"):
        state = event.callee.parts if event.callee.kind == values.METHOD else values.NOTHING
        factors = [program.script.code(node) for node in event.node.args[:2]] if isinstance(event.node, ast.Call) else []
        share = event.keywords.get("value", values.NOTHING).constant
        if state.kind != values.TENSOR or state.dtype not in LOW or len(set(factors)) != 1 or len(factors) != 2:
            continue
        if state.dtype == "f16":
            yield Report(event.node, "the second moment is kept in FP16: squares of gradients below 2.4e-4 are 0 there")
        elif not isinstance(share, float) or share < LEAST_DECAY_BF16:
            shown = f"a factor of {1 - share:g}" if isinstance(share, float) else "a factor above 0.996"
            yield Report(event.node, f"the second moment is kept in BF16, where {shown} is rounded away: it never falls again")
    for event in program.calls:
        # A helper does not show which optimizer gets it, and how that one scales.
        is_helper = event.callee.kind in (values.METHOD, values.FUNCTION)
        for key in event.keywords if not is_helper else ():
            if not SECOND_MOMENT.match(key):
                continue
            choice = values.find_low(event.keywords[key])
            when = f", {choice.when}" if choice is not None and choice.when else ""
            if choice is None or choice.dtype not in LOW:
                continue
            if choice.dtype == "bf16" and 1 - second_factor(event) < LEAST_DECAY_BF16:
                yield Report(event.node, f"the second moment is kept in BF16{when}, where a factor of "
                             f"{second_factor(event):g} is rounded away: it never falls again")
            elif choice.dtype == "f16" and not event.callee.name.startswith("transformer_engine."):
                yield Report(event.node, f"the second moment is kept in FP16{when}: squares of gradients below 2.4e-4 "
                             "are 0 there")


def second_factor(event: events.Event) -> float:
    """The factor of the second moment in a step, by the arguments of the optimizer."""
    betas = event.keywords.get("betas", values.NOTHING)
    given = event.keywords.get("adam_beta2", values.NOTHING)
    if betas.kind == values.SEQUENCE and len(betas.parts) == 2:
        given = betas.parts[1]
    beta = given.constant
    return beta if isinstance(beta, float) else DEFAULT_BETA


def takes_type(cast: events.Event) -> bool:
    """True if a cast is one to the type that another tensor has: `x.to(y.dtype)`."""
    return any(value.kind == values.DTYPE and value.path.endswith(".dtype") for value in cast.arguments)


# A branch that asks for the type of a tensor, or whether the script computes in 16 bits.
ASKED = re.compile(r"dtype\b|autocast|(\b|_)(amp|b?fp16|b?float16|bf16|half|mixed_precision)(\b|_)", re.I)


@rule
def cast_in_autocast(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.FORWARD):
        region, dtype = event.region, event.subject.dtype
        if event.subject.kind == values.MODULE and dtype in LOW and region is not None and region.enabled \
                and region.dtype in LOW and region.dtype != dtype:
            yield Report(event.node, f"the module is in {NAMES[dtype]}, and the region autocasts to {NAMES[region.dtype]}: its "
                         "weights are rounded to both")
    fed = {id(node) for forward in program.of_kind(events.FORWARD) if is_in_type(program, forward)
           for node in ast.walk(forward.node)}
    for event in program.of_kind(events.CAST):
        region = event.region
        if event.subject.kind != values.TENSOR or event.dtype not in LOW or region is None \
                or region.enabled is False or event.no_grad or event.subject.has("grad") or event.subject.has("loss"):
            continue  # Without gradients the pass is one of inference, whose types are its own choice.
        if any(ASKED.search(program.script.code(test)) for test, _ in event.tests) or takes_type(event):
            continue  # It does by hand what autocast does, or what a model in 16 bits needs.
        if getattr(event.function, "name", "").startswith("test_"):
            continue  # What a test gives to a region is its business.
        if id(event.node) in fed:
            continue
        # Inside a region that names no type that is known, the cast may be meant; in one in FP32 it gives back what was
        # computed more finely.
        if region.dtype in LOW and region.dtype != event.dtype:
            yield Report(event.node, f"a cast to {NAMES[event.dtype]} in a region that autocasts to "
                         f"{NAMES[region.dtype]}")
        elif region.dtype in LOW:
            # Autocast casts the operand of a product all the same, and the effect on other functions is not known.
            is_known = id(event.subject.origin or event.node) in program.widened
            yield Report(event.node, f"a cast to {NAMES[event.dtype]} by hand in a region where autocast places the "
                         "casts: ops that it keeps in FP32 start from a rounded value", severity="" if is_known else "note")


def is_in_type(program: Program, forward: events.Event) -> bool:
    """True if the weights of a module that is called are in a region's 16 bits: of those it takes its inputs."""
    region = forward.region
    made = {forward.subject.dtype, *(cast.dtype for cast in program.casts.get(forward.subject.identity, ()))}
    return region is not None and region.dtype in LOW and region.dtype in made


def is_read(event: events.Event) -> bool:
    """True if a tensor becomes a number of Python in the statement of an event: nothing flows back through it."""
    calls = [node for node in ast.walk(event.statement) if isinstance(node, ast.Call)] if event.statement else []
    return any(getattr(call.func, "attr", "") in ("item", "tolist", "numpy") and any(node is event.node for node in ast.walk(call.func))
               for call in calls)


@rule
def loss_in_half(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.CAST, events.LOSS):
        if event.kind == events.CAST:
            if event.dtype in LOW and event.subject.has("loss"):
                method = event.node.func if isinstance(event.node, ast.Call) else None
                change = None
                if isinstance(method, ast.Attribute) and method.attr in ("half", "bfloat16"):
                    change = fixes.rename_method(program.script, event.node, "float")
                if event.no_grad or is_read(event):
                    yield Report(event.node, f"the loss that is logged is rounded to {NAMES[event.dtype]}", change, severity="note")
                else:
                    yield Report(event.node, f"the loss is rounded to {NAMES[event.dtype]}", change)
        elif not event.in_autocast and event.arguments:
            dtype = event.arguments[0].dtype
            if dtype in LOW and event.callee.kind in (values.NAME, values.MODULE):
                yield Report(event.node, f"the loss is computed of {NAMES[dtype]} values outside autocast, which "
                             "would have kept it in FP32")


@rule
def half_default_dtype(program: Program) -> Iterator[Report]:
    if not program.of_kind(*events.BACKWARDS):
        return
    for event in program.calls_of("set_default_dtype", "set_default_tensor_type"):
        if event.callee.name in ("torch.set_default_dtype", "torch.set_default_tensor_type") and event.arguments:
            dtype = event.arguments[0].dtype
            if dtype in LOW and not is_restored(program, event):
                yield Report(event.node, f"all tensors and weights made from here on are {NAMES[dtype]}, those of "
                             "losses, norms and the optimizer's state too")


def is_restored(program: Program, event: events.Event) -> bool:
    """True if another call of the same function sets another default type later: that of what is made in between is meant."""
    return any(other.function is event.function and other.order > event.order and other.arguments and other.arguments[0].dtype not in LOW
               for other in program.calls_of("set_default_dtype", "set_default_tensor_type"))

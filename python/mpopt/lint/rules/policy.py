"""Reinforcement learning: the ratio of two policies' probabilities, and where its tokens come from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.numbers import operation
from mpopt.lint.rules.casts import find_casts, list_trained
from mpopt.lint.rules.settings import ARGUMENTS, TRAINER, is_true
from mpopt.lint.values import LOW, NAMES, Value

LOG_PROBABILITY = re.compile(r"log_?p(rob|s\b|\b|i\b)|log_?prob|logratio|_lp\b|\blp_", re.I)


def find_precision(value: Value) -> str:
    """The type in which a module gave what a value comes from; empty if the script does not show it."""
    if value.kind != values.TENSOR or not value.has("forward"):
        return ""
    if isinstance(value.parts, values.Region):
        return value.parts.dtype if value.parts.enabled is True and not value.parts.null else ""
    return value.dtype if value.dtype in LOW else "outside" if value.has("outside") else ""


@rule
def policy_ratio_in_half(program: Program) -> Iterator[Report]:
    differences = {id(each.node): each for each in program.operations if each.has(ast.Sub) and not each.assigns}
    for event in program.calls_of("exp"):
        name, tensor, _ = operation(event)
        each = differences.get(id(tensor.origin))
        if not name or each is None:
            continue
        first, second = find_precision(each.left), find_precision(each.right)
        is_log = bool(LOG_PROBABILITY.search(program.script.code(each.node)))
        if first and second and first != second and (set(LOW) & {first, second}):
            names = [NAMES.get(dtype, "the weights' own type, outside of a region") for dtype in (first, second)]
            yield Report(event.node, f"one of the log-probabilities comes from {names[0]}, the other one from {names[1]}: the "
                         "ratio is off where the policies are the same, and clipped")
        elif is_log and not event.in_autocast and (low := next(
                (value.dtype for value in (tensor, each.left, each.right) if value.dtype in LOW), "")):
            off = "0.8 %" if low == "bf16" else "0.1 %"
            advice = ", FP16 with a loss scaler is 8 times nearer" if low == "bf16" else ""
            yield Report(event.node, f"the ratio of two policies is formed of log-probabilities in {NAMES[low]}, each up to "
                         f"{off} off at 2: .float() before log_softmax{advice}")


# --- Rollouts ---

ENGINES = {"vllm.LLM", "sglang.Engine", "vllm.entrypoints.llm.LLM"}


def find_training(program: Program) -> set[str]:
    """The 16-bit types in which the program trains, by its regions, by arguments of trainers and by weights."""
    regions = {event.subject.parts.dtype for event in program.of_kind(events.CONTEXT)
               if event.subject.parts.enabled and not event.no_grad}
    named = {dtype for event in program.calls_like(ARGUMENTS)
             for key, dtype in (("fp16", "f16"), ("bf16", "bf16")) if is_true(event.keywords.get(key))}
    weights = {cast.dtype for _, module, making in list_trained(program) for cast in find_casts(program, module, making)}
    return (regions | named | weights) & set(LOW)


@rule
def rollout_in_another_format(program: Program) -> Iterator[Report]:
    trains = bool(program.of_kind(*events.BACKWARDS) or program.calls_like(TRAINER))
    training = find_training(program) if trains else set()
    if len(training) != 1:
        return
    used, = training
    for event in program.calls_of("LLM", "Engine"):
        if event.callee.name in ENGINES:
            yield from judge_engine(event, used)


def judge_engine(event: Event, used: str) -> Iterator[Report]:
    dtype = values.as_dtype(event.keywords.get("dtype", values.NOTHING)).dtype
    quantization = event.keywords.get("quantization", values.NOTHING).constant
    off = "its log-probabilities are not those of the policy that is trained"
    if isinstance(quantization, str):
        yield Report(event.node, f"tokens come from weights that are quantized ({quantization}), and the policy trains in "
                     f"{NAMES[used]}: {off}")
    elif dtype and dtype != used:
        yield Report(event.node, f"tokens come from an engine in {NAMES[dtype]}, and the policy trains in {NAMES[used]}: {off}")
    elif dtype == used == "bf16":
        yield Report(event.node, "tokens and the policy's probabilities are both in BF16, whose 3 digits two engines round "
                     "differently: FP16 with a loss scaler has 8 times less of a difference", severity="note")

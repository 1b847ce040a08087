"""Configurations of trainings: files of DeepSpeed, torchtitan, torchtune, Lightning, and dictionaries of scripts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import configuration, values
from mpopt.lint.interpreter import Program
from mpopt.lint.names import PRECISION_WORDS
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.settings import entry, is_true, list_deepspeed
from mpopt.lint.values import LOW, NAMES, Value

LOST = "updates that are small beside a weight are lost"
# Trainings of what is added to the weights, and optimizers that round at random.
ADAPTED = re.compile(r"lora|adapter|peft|stochastic_round", re.I)


def find_key(mapping: Value, *keys: str) -> ast.AST:
    """The node of an entry's key; that of the mapping if it is not shown."""
    place, node = mapping.origin, mapping.origin
    for key in keys:
        entries = zip(node.keys, node.values) if isinstance(node, ast.Dict) else ()
        place, node = next(((name, value) for name, value in entries if getattr(name, "value", None) == key),
                           (mapping.origin, None))
    return place


def low_dtype(mapping: Value, *keys: str) -> str:
    found = entry(mapping, *keys)
    dtype = values.as_dtype(found).dtype if found is not None else ""
    return dtype if dtype in LOW else ""


@rule
def configured_in_half(program: Program) -> Iterator[Report]:
    for mapping in list_deepspeed(program):
        yield from judge_deepspeed(mapping)
    if configuration.is_one(program.script.path) and program.mappings:
        root = program.mappings[-1]
        yield from judge_torchtitan(root)
        if not program.mentions(ADAPTED):
            yield from judge_weights(root)


def judge_deepspeed(mapping: Value) -> Iterator[Report]:
    for key in ("fp16_master_weights_and_grads", "fp16_master_weights_and_gradients"):
        if is_true(entry(mapping, "fp16", "enabled")) and is_true(entry(mapping, "fp16", key)):
            yield Report(find_key(mapping, "fp16", key), f"the optimizer has no FP32 copy of the weights: {LOST}")
    dtype = low_dtype(mapping, "data_types", "grad_accum_dtype")
    passes = entry(mapping, "gradient_accumulation_steps")
    if dtype and passes is not None and passes.constant != 1:
        yield Report(find_key(mapping, "data_types", "grad_accum_dtype"), f"the gradients of several passes are added in "
                     f"{NAMES[dtype]}: addends that are small beside the sum are lost")


def judge_torchtitan(root: Value) -> Iterator[Report]:
    if (dtype := low_dtype(root, "training", "mixed_precision_reduce")):
        yield Report(find_key(root, "training", "mixed_precision_reduce"), f"gradients are summed over the ranks in "
                     f"{NAMES[dtype]}: float32")
    if (dtype := low_dtype(root, "training", "dtype")) and entry(root, "optimizer") is not None:
        yield Report(find_key(root, "training", "dtype"), f"the weights are made in {NAMES[dtype]} and trained: {LOST}")


def judge_weights(root: Value) -> Iterator[Report]:
    component = entry(root, "model", "_component_")
    is_tune = component is not None and str(component.constant).startswith("torchtune.")
    if is_tune and entry(root, "optimizer", "_component_") is not None and (dtype := low_dtype(root, "dtype")):
        yield Report(find_key(root, "dtype"), f"the weights are made in {NAMES[dtype]} and trained: {LOST}")
    precision = entry(root, "trainer", "precision")
    if precision is not None and (dtype := PRECISION_WORDS.get(str(precision.constant), "")):
        yield Report(find_key(root, "trainer", "precision"), f"the trainer makes the weights {NAMES[dtype]}: {LOST}")
    if is_true(entry(root, "pure_bf16")):
        yield Report(find_key(root, "pure_bf16"), f"the weights are BF16 and trained: {LOST}")

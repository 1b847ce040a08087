"""The facts about a value while a script is read.

A value is followed from where it is made through assignments, attributes, calls and
returns. What two branches disagree on is forgotten, with one exception: where one of
them says nothing (`None`, an unknown call), the other's word is kept.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from mpopt.lint.names import DTYPE_WORDS

# Kinds of values.
UNKNOWN = "unknown"
NAME = "name"              # a module, class or function of a library: `name` is its full name
CONSTANT = "constant"      # `parts` is the Python value
DTYPE = "dtype"            # `parts`: the `Choice`s, where conditions of the script choose
TENSOR = "tensor"
MODULE = "module"          # an instance of torch.nn.Module; `parts` its local class
PARAMETERS = "parameters"  # of `parts`, a module
OPTIMIZER = "optimizer"    # `parts` is an `Optimizer`
SCALER = "scaler"          # `parts` is the value of `enabled`: True, False, or None
REGION = "region"          # a context manager; `parts` is a `Region`
FUNCTION = "function"      # defined in the file; `parts` is a `Function`
CLASS = "class"            # the same; `parts` is a `Class`
INSTANCE = "instance"      # of a class of the file; `parts` is the `Class`
METHOD = "method"          # of an object; `parts` is the object, `name` the method
SEQUENCE = "sequence"      # `parts` is a tuple of values; those of several sequences if `name` is ANY_OF
MAPPING = "mapping"        # `parts` is a dict from Python values to values
MANAGER = "manager"        # an Accelerator, Fabric or engine that owns the training step

ANY_OF = "any of"
ABSENT = "absent"  # The fact of a value that is None where it is used: a parameter that the call leaves out.

# Limits of values: a number beyond a double's range is none that a format holds, and longer texts,
# sequences and mappings are data. What is larger is not known.
MOST_BITS = 1000
LONGEST_TEXT = 1000
MOST_PARTS = 1000
MOST_ENTRIES = 256
MOST_CHOICES = 16

LOW = ("f16", "bf16")
F32 = "f32"
NAMES = {"f16": "FP16", "bf16": "BF16", "f32": "FP32", "f64": "FP64"}


@dataclasses.dataclass(eq=False, slots=True)
class Value:
    """Never changed: one that is frozen takes three times as long to make.

    `dtype`: of a tensor's elements, a module's parameters, or what a DTYPE names; one
    of `f16`, `bf16`, `f32`, `f64`, or empty if not known. `facts`: words such as `loss`
    that rules ask for. `origin`: the node that made it; `path`: the dotted text by which
    the script first names it."""

    kind: str = UNKNOWN
    name: str = ""
    dtype: str = ""
    facts: frozenset[str] = frozenset()
    parts: Any = None
    origin: Any = None
    path: str = ""

    @property
    def identity(self):
        """Equal for two values if they are one object, as far as the script shows."""
        return id(self.origin) if self.origin is not None else self.path

    def has(self, fact: str) -> bool:
        return fact in self.facts

    def with_facts(self, *facts: str) -> Value:
        return self.replaced(facts=self.facts | set(facts))

    def replaced(self, **changes) -> Value:
        made = Value(self.kind, self.name, self.dtype, self.facts, self.parts, self.origin, self.path)
        for name, value in changes.items():
            setattr(made, name, value)
        return made

    @property
    def constant(self):
        """The Python value of a constant, else None."""
        return self.parts if self.kind == CONSTANT else None


NOTHING = Value()
# A number of Python that is not known. It leaves the dtype of a tensor as it is.
NUMBER = Value(facts=frozenset(["python"]))


def is_number(value: Value) -> bool:
    return value.kind == CONSTANT or value.kind == UNKNOWN and value.has("python")


@dataclasses.dataclass(frozen=True)
class Choice:
    """A dtype that a value may name. `when`: the condition in words (`if args.fp16`), empty if the script
    shows none."""

    dtype: str
    when: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """An autocast context. `enabled`: None if it depends; `null`: a context that does
    nothing, or one that is not known."""

    dtype: str = ""
    device: str = ""
    enabled: bool | None = True
    null: bool = False
    node: Any = None
    # True if casts of weights are kept until the outermost region ends.
    caches: bool = True
    # The types that conditions choose from, where it is not one.
    choices: tuple[Choice, ...] = ()
    # The recipe of an FP8 region, in which autocast does nothing.
    fp8: Value | None = None


def maybe(region: Region) -> Region:
    """The region, where a condition decides whether it is entered."""
    return dataclasses.replace(region, enabled=None) if region.enabled else region


@dataclasses.dataclass(frozen=True, eq=False)
class Optimizer:
    """`parameters`: the value of its first argument; `eps`: None if it is not a number."""

    parameters: Value
    eps: float | None
    has_eps: bool


def constant(value) -> Value:
    if isinstance(value, int) and value.bit_length() > MOST_BITS \
            or isinstance(value, (str, bytes)) and len(value) > LONGEST_TEXT:
        return NOTHING
    return Value(CONSTANT, parts=value)


def sequence(parts: list[Value], origin=None) -> Value:
    return Value(SEQUENCE, parts=tuple(parts), origin=origin) if len(parts) <= MOST_PARTS else NOTHING


def as_dtype(value: Value) -> Value:
    """A DTYPE for a string that names one; any other value as it is."""
    word = value.constant
    if isinstance(word, str) and (dtype := DTYPE_WORDS.get(word)):
        return Value(DTYPE, dtype=dtype, origin=value.origin)
    return value


def under(value: Value, when: str) -> Value:
    """A value that a condition chooses: of a dtype, the condition is noted."""
    if value.kind != DTYPE or value.parts or not value.dtype:
        return value
    return value.replaced(parts=(Choice(value.dtype, when),))


def list_choices(value: Value) -> tuple[Choice, ...]:
    """The dtypes that a DTYPE, or a string that names one, may be."""
    value = as_dtype(value)
    if value.kind != DTYPE:
        return ()
    return value.parts or ((Choice(value.dtype),) if value.dtype else ())


def find_low(value: Value) -> Choice | None:
    """The 16-bit type that a value names or may name, FP16 before BF16; else the one type that it names."""
    choices = list_choices(value)
    low = sorted((choice for choice in choices if choice.dtype in LOW), key=lambda choice: choice.dtype != "f16")
    if low:
        return low[0]
    return choices[0] if len({choice.dtype for choice in choices}) == 1 else None


def _join_dtypes(values: list[Value]) -> Value:
    choices = dict.fromkeys(choice for value in values for choice in list_choices(value))
    named = {value.dtype for value in values}
    return values[0].replaced(dtype=values[0].dtype if len(named) == 1 else "", parts=tuple(choices)[:MOST_CHOICES] or None,
                              facts=_common(values))


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def join(values: list[Value]) -> Value:
    """The facts that hold for a value that is any of these; None is no answer."""
    values = [value for value in values if ABSENT not in value.facts] or values
    if values and all(value is values[0] for value in values):
        return values[0]
    if any(value.kind == DTYPE for value in values) or len({value.constant for value in values
                                                            if isinstance(value.constant, str)}) > 1:
        named = [as_dtype(value) for value in values]
        values = named if all(value.kind in (DTYPE, UNKNOWN) for value in named) else values
    told = [value for value in values
            if value.kind not in (UNKNOWN, CONSTANT) or value.facts or value.name or value.dtype]
    if not told:
        same = len(values) == 1 or all(value.kind == CONSTANT for value in values) \
            and len({repr(value.parts) for value in values}) == 1
        return values[0] if same else NOTHING
    # A region that may be a null context is a region.
    first = max(told, key=lambda value: value.kind == REGION and not value.parts.null)
    # An object that a library makes is known only to be another one.
    known = [value for value in told if value.kind != UNKNOWN or value.facts or value.dtype]
    if len(known) < len(told) and known and all(value.kind == MODULE for value in known):
        # It may be of another class.
        told = [value.replaced(name="", parts=None) for value in known]
        first = told[0]
    if any(value.kind != first.kind for value in told):
        return first if first.kind == REGION else Value(facts=_common(told), path=first.path)
    if first.kind == DTYPE:
        return _join_dtypes(told)
    dtype = first.dtype if all(value.dtype == first.dtype for value in told) else ""
    mixed = {"mixed"} if len({value.dtype for value in told}) > 1 else set()
    # A value that was divided by the number of passes in one branch is not proved undivided.
    any_of = {fact for value in told for fact in value.facts if fact in ("divided", "mixed")}
    joined = first.replaced(dtype=dtype, facts=_common(told) | mixed | any_of)
    if first.kind == MODULE and any(value.name != first.name for value in told) \
            and not all(value.name.startswith("torch.nn.") and value.name.endswith("Loss") for value in told):
        # It may be of any of the classes.
        joined = joined.replaced(name="", parts=None)
    if first.kind == REGION:
        regions = [value.parts for value in told]
        real = [region for region in regions if not region.null] or regions
        agree = len({region.dtype for region in real}) == 1
        enabled = real[0].enabled if len({region.enabled for region in regions}) == 1 else None
        return joined.replaced(parts=dataclasses.replace(
            real[0], dtype=real[0].dtype if agree else "", enabled=enabled))
    if first.kind == SCALER and len({value.parts for value in told}) > 1:
        return joined.replaced(parts=None)
    if first.kind == NAME and any(value.name != first.name for value in told):
        return NOTHING
    if first.kind in (SEQUENCE, MAPPING, FUNCTION, CLASS) and len(told) > 1:
        if all(value.parts is first.parts for value in told):
            return first
        return _unite(told) if first.kind == SEQUENCE else NOTHING
    return joined


def _unite(values: list[Value]) -> Value:
    """The union of several lists of parameters that an optimizer may get."""
    if any(find(value, PARAMETERS) is None for value in values):
        return NOTHING
    return sequence([part for value in values for part in value.parts]).replaced(name=ANY_OF)


def _common(values: list[Value]) -> frozenset[str]:
    return frozenset.intersection(*(value.facts for value in values))


def find(value: Value, kind: str, depth: int = 4) -> Value | None:
    """The first value of a kind in a value, or in the sequences and mappings it is."""
    return next(find_all(value, kind, depth), None)


def find_all(value: Value, kind: str, depth: int = 4) -> Iterator[Value]:
    """All of them."""
    pending, met = [(value, depth)], set()
    while pending:
        value, depth = pending.pop()
        if value.kind == kind:
            yield value
        # One that holds another a thousand times is looked into once.
        elif depth and value.kind in (SEQUENCE, MAPPING) and value.parts is not None and (id(value), depth) not in met:
            met.add((id(value), depth))
            parts = value.parts if value.kind == SEQUENCE else value.parts.values()
            pending += [(part, depth - 1) for part in reversed(tuple(parts))]

"""Batches of a data loader as named arrays."""

import numbers
from collections.abc import Iterator, Mapping, Sequence

from mpopt import _arrays

#: A loader whose batches have more entries than this names samples, not inputs.
MOST_ENTRIES = 1024


def is_mapping(value) -> bool:
    """Containers of other libraries (`BatchEncoding`, PyG's `Data`) are not all `Mapping`s."""
    return isinstance(value, Mapping) or (callable(getattr(value, "keys", None))
                                          and hasattr(value, "__getitem__"))


def _is_sequence(value) -> bool:
    """A list of numbers is an array, not a sequence of inputs."""
    return (isinstance(value, list | tuple)
            and not (value and all(isinstance(member, numbers.Number) for member in value)))


def _join(path: str, key) -> str:
    return f"{path}.{key}" if path else str(key)


def _leaves(value, path: str) -> Iterator[tuple[str, object]]:
    if is_mapping(value):
        for key in list(value.keys()):
            yield from _leaves(value[key], _join(path, key))
    elif _is_sequence(value):
        for index, member in enumerate(value):
            yield from _leaves(member, _join(path, index))
    elif value is not None:
        yield path, value


def _name_sequence(batch: Sequence, inputs: Sequence[str] | None) -> Iterator[tuple[str, object]]:
    """`(x, y, ...)`: what the model takes first, then targets. `((x, y), target)`: the first
    one holds all that the model takes."""
    if inputs is None:
        yield from _leaves(batch, "")
        return
    first: Sequence = batch
    others: Sequence = ()
    # A longer sequence is one input that is a list.
    if batch and (is_mapping(batch[0])
                  or _is_sequence(batch[0]) and 0 < len(batch[0]) <= len(inputs)):
        first, others = batch[0], batch[1:]
    if is_mapping(first):
        yield from _leaves(first, "")
    else:
        for name, member in zip(inputs, first, strict=False):
            yield from _leaves(member, name)
        others = [*first[len(inputs):], *others]
    for index, target in enumerate(others):
        yield from _leaves(target, "target" if len(others) == 1 else f"target.{index}")


def name_entries(batch, inputs: Sequence[str] | None) -> Iterator[tuple[str, object]]:
    """The entries of a batch by name. `inputs` are the names of what the model takes, in
    order; None if nobody knows."""
    if is_mapping(batch):
        yield from _leaves(batch, "")
    elif _is_sequence(batch):
        yield from _name_sequence(batch, inputs)
    else:
        yield (inputs[0] if inputs else "input"), batch


def as_array(value):
    """The entry as an array of numbers; a text that tells what it is instead."""
    try:
        return _arrays.to_numpy(value)
    except (TypeError, ValueError, RuntimeError):
        dtype = getattr(value, "dtype", None)
        kind = type(value).__name__
        return f"{kind} of {dtype}" if dtype is not None else kind


def dtype_name(value, array) -> str:
    """The dtype of the entry before it became an array (`bfloat16`)."""
    return str(getattr(value, "dtype", array.dtype)).removeprefix("torch.")

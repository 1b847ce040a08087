"""The statistics of each entry of the batches."""

import dataclasses
from collections.abc import Iterable, Mapping

from mpopt import _batches
from mpopt._assumed import Expected
from mpopt._command import Error
from mpopt._data_statistics import Statistics


@dataclasses.dataclass
class Seen:
    """`skipped`: entries that are no numbers, and what they are."""

    batches: int = 0
    entries: dict[str, Statistics] = dataclasses.field(default_factory=dict)
    skipped: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Entries beyond those that are told apart.
    left_out: bool = False


def _axis_of(channel_axis: int | Mapping[str, int] | None, name: str) -> int | None:
    axis = channel_axis.get(name) if isinstance(channel_axis, Mapping) else channel_axis
    if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
        raise Error(f"channel_axis: the number of an axis, not {axis!r}")
    return axis


def collect(batches: Iterable, expected: Expected,
            channel_axis: int | Mapping[str, int] | None) -> Seen:
    """Looks at all of `batches`; `Error` if there is none, or none holds numbers."""
    seen = Seen()
    for batch in batches:
        for name, value in _batches.name_entries(batch, expected.names):
            array = _batches.as_array(value)
            if isinstance(array, str):
                seen.skipped.setdefault(name, array)
                continue
            if name not in seen.entries:
                if len(seen.entries) == _batches.MOST_ENTRIES:
                    seen.left_out = True
                    continue
                seen.entries[name] = Statistics(_axis_of(channel_axis, name))
            known = expected.of(name, array.dtype.kind == "f")
            seen.entries[name].add(array, _batches.dtype_name(value, array), seen.batches,
                                   None if known is None else (known.lo, known.hi))
        seen.batches += 1
    if not seen.batches:
        raise Error("the loader gave no batch")
    if not seen.entries:
        what = next(iter(seen.skipped.values()), "nothing")
        raise Error(f"the batches hold no numbers: {what}")
    return seen

"""The data of a training against what its model is judged to be given."""

import dataclasses
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mpopt import _declarations
from mpopt._command import Error, PathLike

#: The kinds of findings, and how bad each is.
SEVERITIES = {
    "nan": "error", "inf": "error", "outside": "warning", "index": "error", "overflow": "error",
    "underflow": "warning", "wide-channel": "warning", "absorbed-channel": "note", "distribution": "note",
    "all-zero": "warning", "constant": "note", "constant-channel": "note", "mixed-dtype": "warning",
    "mixed-rank": "note", "missing": "note", "not-numbers": "note",
}


@dataclasses.dataclass(frozen=True)
class DataFinding:
    """`kind`: a key of `SEVERITIES`."""

    kind: str
    severity: str
    entry: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}[{self.kind}] {self.entry}: {self.message}"


@dataclasses.dataclass(frozen=True)
class DataEntry:
    """One entry of the batches. `is_input`: the model takes it, as far as is known. `shape`
    has None where sizes differ. Counts are of elements; `lo`, `hi`, `mean` and `std` are over
    finite values, NaN if there are none. `overflow`, `underflow`: format -> number of finite
    values that are Inf in it, of non-zero ones that are 0. `least_addend`: format -> the size
    below which a number changes nothing when it is added to the largest value. `raw` has it as JSON, channels
    included (docs/python.md)."""

    name: str
    is_input: bool
    dtypes: tuple[str, ...]
    shape: tuple[int | None, ...]
    samples: int
    count: int
    nan: int
    posinf: int
    neginf: int
    zero: int
    lo: float
    hi: float
    mean: float
    std: float
    overflow: dict[str, int]
    underflow: dict[str, int]
    least_addend: dict[str, float]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class DataReport:
    """The observations of `check_data`. `declared`: for `mpopt.check(inputs=...)`, the bounds and the
    distribution of each input; `options`: the same as words of a command line."""

    batches: int
    entries: tuple[DataEntry, ...]
    findings: tuple[DataFinding, ...]
    declared: dict[str, list]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    #: The file that the model was read from, if any.
    files: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if there is no error and no warning."""
        return not any(finding.severity != "note" for finding in self.findings)

    @property
    def options(self) -> list[str]:
        return _declarations.options(self.declared)

    def by_kind(self, *kinds: str) -> tuple[DataFinding, ...]:
        return tuple(finding for finding in self.findings if finding.kind in kinds)

    def write_inputs(self, file: PathLike):
        """Writes the declarations to `file` and returns its path: an `[inputs]` table for
        `mpopt --check MODEL --config FILE` if its name ends in `.toml`, else the options for
        `xargs mpopt --check MODEL < FILE`. `mpopt.Error` if it cannot be written."""
        return _declarations.write(file, self.declared, self.files)

    def to_json(self) -> str:
        """`mpopt-data/1` (docs/json.md)."""
        return json.dumps(self.raw, indent=1, allow_nan=False)

    def __str__(self) -> str:
        from mpopt import _data_text

        return _data_text.write(self)


def check_data(loader: Iterable, model=None, n: int | None = 100, *, example_inputs=None,
               inputs: Mapping | None = None, assume: tuple[float, float] | None = None,
               precision: str | None = None, names: Sequence[str] | None = None,
               channel_axis: int | Mapping[str, int] | None = None,
               thresholds: Mapping[str, float] | None = None) -> DataReport:
    """Looks at the first `n` batches of `loader`, one at a time, before anything is trained.

    loader          yields batches: a tensor or array; a tuple or list, `(x, target)` and
                    `((x, y), target)` included; a mapping. Nothing is kept, and no batch
                    after the `n`th is asked for (workers of a DataLoader fetch ahead)
    model           what says the inputs' names and what is assumed of them: a `Report` or its
                    file, a ledger, an `mpopt.toml`, or a model as `check` takes it. Of a
                    plain `torch.nn.Module` without `example_inputs` only names are known
    n               None: all
    inputs          name -> `(lo, hi)`, a `Normal`, or a list of both: overrides the model's
    assume          `(lo, hi)` of float inputs that nothing describes; default -10 to 10
    precision       `fp16`, `bf16` and so on: by which format values overflow; default: that
                    of the report, else `fp16`
    names           of a batch's members, in order, where the model does not say them
    channel_axis    the axis whose indices are channels, for all or by name
    thresholds      `underflow-share` and `imbalance-ratio`, as in `check`

    Raises `mpopt.Error` if the model or an option is invalid, or there is no batch."""
    from mpopt import _assumed, _data_collecting, _data_judging

    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
        raise Error(f"n: a number of batches, not {n!r}")
    if isinstance(names, str):
        raise Error("names: a sequence of names, not one")
    expected = _assumed.find_expected(model, example_inputs, inputs, assume, precision)
    if names is not None:
        expected = dataclasses.replace(expected, names=tuple(map(str, names)))
    limits = _data_judging.find_limits(thresholds, precision or expected.precision or "fp16")
    try:
        batches = iter(loader)
    except TypeError:
        raise Error(f"loader: an iterable of batches, not {type(loader).__name__}") from None
    seen = _data_collecting.collect(itertools.islice(batches, n), expected, channel_axis)
    return dataclasses.replace(_data_judging.judge(seen, expected, limits), files=expected.files)

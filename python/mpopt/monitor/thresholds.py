"""The numbers by which rules judge, and how a user changes them: `Monitor(thresholds=)`, and the table
`[thresholds]` of the project's settings (`_settings.py`). Defaults are in the rules' records, from which
scripts/generate-docs writes thresholds.json."""

import functools
import json
import math
import pathlib
from collections.abc import Mapping

from mpopt import _settings
from mpopt._command import Error, PathLike

FILE = pathlib.Path(__file__).with_name("thresholds.json")


@functools.cache
def defaults() -> Mapping[str, float]:
    """By key, of all rules."""
    table = json.loads(FILE.read_text(encoding="utf-8"))["thresholds"]
    return {entry["key"]: entry["value"] for entry in table}


def read(given: Mapping[str, float] | None, config: PathLike | None = None) -> dict[str, float]:
    """All thresholds: those of the records, over which goes the settings' table, over which goes what
    is `given`. `config` names the settings; `none` leaves them out, None looks for the nearest. Raises
    `mpopt.Error` for a key that there is not, and for what is no number."""
    values = dict(defaults())
    path = None if config == "none" else _settings.find() if config is None else pathlib.Path(config)
    if path is not None:
        values |= _check(f"'{path}': thresholds", _settings.read(path, "thresholds"))
    return values | _check("thresholds", given or {})


def _check(what: str, given: Mapping) -> dict[str, float]:
    for key, value in given.items():
        if key not in defaults():
            raise Error(f"{what}: '{key}' is not one of {', '.join(sorted(defaults()))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Error(f"{what}[{key!r}]: a number, not {value!r}")
    return {key: float(value) for key, value in given.items()}

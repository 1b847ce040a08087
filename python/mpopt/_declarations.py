"""Observed inputs, in the form of `--input`."""

import math
import os
import pathlib
import re
import shlex
from collections.abc import Sequence

from mpopt import _output_files
from mpopt._command import Normal

#: Significant digits of ends, rounded outwards.
_DIGITS = 4
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def round_out(value: float, up: bool) -> float:
    """The next number of few digits that is not inside."""
    if value == 0 or not math.isfinite(value):
        return value
    exponent = math.floor(math.log10(abs(value))) - _DIGITS + 1
    if abs(exponent) > 300:
        return value
    # Powers of ten with negative exponents are no binary numbers, those of integers are.
    scale = 10.0**abs(exponent)
    scaled = value / scale if exponent >= 0 else value * scale
    whole = math.ceil(scaled) if up else math.floor(scaled)
    rounded = whole * scale if exponent >= 0 else whole / scale
    # The division may have rounded to the inner side.
    return rounded if (rounded >= value if up else rounded <= value) else value


def _number(value: float) -> str:
    return str(int(value)) if value == value // 1 and abs(value) < 1e15 else repr(value)


def declare(lo: float, hi: float, mean: float, std: float) -> list:
    """Bounds and distribution as `mpopt.check(inputs=...)` takes them."""
    parts: list = [(lo, hi)]
    if math.isfinite(mean) and math.isfinite(std):
        parts.append(Normal(float(f"{mean:.4g}"), float(f"{std:.4g}")))
    return parts


def _values(parts: list) -> list[str]:
    """`LO:HI` and `~MEAN,STD`."""
    return [f"~{part.mean:g},{part.std:g}" if isinstance(part, Normal)
            else f"{_number(part[0])}:{_number(part[1])}" for part in parts]


def options(declared: dict[str, list]) -> list[str]:
    """The words of a command line: `--input`, `x=0.0:1.0`, ..."""
    words = []
    for name, parts in declared.items():
        for value in _values(parts):
            words += ["--input", name + value if value.startswith("~") else f"{name}={value}"]
    return words


def _key(name: str) -> str:
    if _BARE_KEY.fullmatch(name):
        return name
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted) + '"'


def _toml(declared: dict[str, list]) -> str:
    lines = ["[inputs]"]
    for name, parts in declared.items():
        values = ", ".join(f'"{value}"' for value in _values(parts))
        lines.append(f"{_key(name)} = [{values}]")
    return "\n".join(lines) + "\n"


def write(file: str | os.PathLike, declared: dict[str, list], read: Sequence[str]) -> pathlib.Path:
    """Writes `file`, which is none of those that were `read`: settings for `--config` if its name ends in `.toml`, else a line with
    the options for a shell."""
    file = pathlib.Path(file)
    text = _toml(declared) if file.suffix == ".toml" else shlex.join(options(declared)) + "\n"
    _output_files.check([("the declarations", file)], [("the model", path) for path in read])
    _output_files.write(file, text)
    return file

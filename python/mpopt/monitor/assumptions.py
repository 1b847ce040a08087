"""Assumptions about a model's inputs."""

from collections.abc import Mapping

from mpopt import _json_files
from mpopt._command import PathLike, argument


def read(inputs: Mapping | None, report: PathLike | None) -> dict[str, tuple[float, float]]:
    """Bounds by input: those of a report (`mpopt-report/1`, or a ledger that holds one),
    overridden by `inputs`, whose values are `"LO:HI"` or pairs. `mpopt.Error` for others."""
    bounds: dict[str, tuple[float, float]] = {}
    if report is not None:
        with argument("report"):
            raw = _json_files.read(report)
            raw = raw.get("report", raw)
            if raw.get("schema") != "mpopt-report/1":
                raise ValueError("it is no report of mpopt")
            for entry in raw.get("assumptions", []):
                bounds[entry["input"]] = float(entry["lo"]), float(entry["hi"])
    for name, value in (inputs or {}).items():
        with argument(f"inputs[{name!r}]"):
            lo, hi = value.split(":") if isinstance(value, str) else value
            lo, hi = float(lo), float(hi)
            if not lo <= hi:
                raise ValueError(f"{lo:g} to {hi:g} is no range")
            bounds[name] = lo, hi
    return bounds

"""A `DataReport` as text."""

import math

from mpopt.data import DataEntry, DataReport


def _shape(entry: DataEntry) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in entry.shape) + "]"


def _assumed(entry: DataEntry) -> str:
    known = entry.raw["assumed"]
    if known is None:
        return "-"
    return f"{float(known['lo']):g} to {float(known['hi']):g} ({known['source']})"


def _percent(part: int, whole: int) -> str:
    return "0" if not part else f"{100 * part / max(whole, 1):.2g} %"


def _row(entry: DataEntry) -> list[str]:
    finite = entry.count - entry.nan - entry.posinf - entry.neginf
    numbers = ["-"] * 3 if math.isnan(entry.lo) else [
        f"{entry.lo:.5g} to {entry.hi:.5g}", f"{entry.mean:.3g}", f"{entry.std:.3g}"]
    return [entry.name + ("" if entry.is_input else " *"), "/".join(entry.dtypes), _shape(entry),
            *numbers, f"{entry.nan:,}", f"{entry.posinf + entry.neginf:,}",
            _percent(entry.overflow["f16"], finite),
            _percent(entry.underflow["f16"], finite - entry.zero),
            *(f"{entry.least_addend[name]:.2g}" if entry.least_addend[name] else "-" for name in ("f16", "bf16")),
            _assumed(entry)]


_HEAD = ["entry", "dtype", "shape", "range", "mean", "std", "NaN", "Inf", "FP16 Inf", "FP16 0",
         "FP16 adds", "BF16 adds", "assumed"]


def write(report: DataReport) -> str:
    """A table of the entries, the findings, the declarations."""
    samples = max((entry.samples for entry in report.entries), default=0)
    rows = [_HEAD, *map(_row, report.entries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [f"{report.batches:,} batch{'' if report.batches == 1 else 'es'}, {samples:,} samples", ""]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
              for row in rows]
    if any(not entry.is_input for entry in report.entries):
        lines.append("* not an input of the model")
    lines += ["", *(map(str, report.findings) if report.findings else ["nothing to report"])]
    words = report.options
    if words:
        lines += ["", *(f"{option} {value}" for option, value in
                        zip(words[::2], words[1::2], strict=True))]
    return "\n".join(lines)

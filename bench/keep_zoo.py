#!/usr/bin/env python3
"""Are the lists of --keep-fp32 enough, and small? On the generated zoo.

    keep_zoo.py ZOO_DIR [--only NAME ...] [--json FILE]

Each model is judged for FP16 with its declared inputs, without a list and with one. The list
goes to mpopt.to_float16; what comes of it is judged again as it is, and runs in ONNX Runtime
on the batches of the zoo, every rounding put back (mpopt.half). By the zoo's own run with
everything in FP16 a model is harmed (an output Inf or NaN, or off by 5 % of its largest
value), sound (1 % or less) or between. The package `mpopt` must be importable with its
libraries. Always exits 0: it is a measurement.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import convert_zoo
import mpopt
import numpy
import onnx
from mpopt import half

HARMED, SOUND = 0.05, 0.01


def kind_of(truth: dict) -> str:
    outputs = truth["outputs"].values()
    if any(output["nonfinite"] or output["error"] >= HARMED for output in outputs):
        return "harmed"
    return "sound" if all(output["error"] <= SOUND for output in outputs) else "between"


def loud(report) -> list[str]:
    return [finding.rule for finding in report.findings if finding.severity != "note"]


def outputs_of(model: Path, arrays) -> list[list[numpy.ndarray]]:
    """The float outputs, by batch."""
    session, batches = convert_zoo.open_session(model), []
    for batch in range(len(next(iter(arrays.values())))):
        batches.append([value.astype(numpy.float64)
                        for value in session.run(None, half.feed_of(session, arrays, batch))
                        if value.dtype.kind == "f"])
    return batches


def error_of(wanted, had) -> float:
    """The largest error of an output, of its largest value over all batches; Inf where an
    element is lost."""
    worst = 0.0
    for want, have in zip(zip(*wanted, strict=True), zip(*had, strict=True), strict=True):
        far, size = 0.0, 0.0
        for x, y in zip(want, have, strict=True):
            if (numpy.isfinite(x) & ~numpy.isfinite(y)).any():
                return float("inf")
            both = numpy.isfinite(x) & numpy.isfinite(y)
            if both.any():
                far = max(far, float(numpy.abs(x - y)[both].max()))
                size = max(size, float(numpy.abs(x[both]).max()))
        worst = max(worst, far / size if size else 0.0)
    return worst


def measure(folder: Path) -> dict:
    model = folder / "model.onnx"
    truth = json.loads((folder / "truth.json").read_text())
    judged = {"inputs": convert_zoo.declared(truth), "dims": truth["dims"]}
    row = {"model": folder.name, "kind": kind_of(truth),
           "fp16": max((float("inf") if output["nonfinite"] else output["error"]
                        for output in truth["outputs"].values()), default=0.0)}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        start = time.monotonic()
        report = mpopt.check(model, precision="fp16", **judged)
        row["seconds"] = time.monotonic() - start
        row["loud"] = loud(report)
        start = time.monotonic()
        mpopt.check(model, precision="fp16", keep_fp32=work / "keep.json", **judged)
        row["seconds with a list"] = time.monotonic() - start
        names = [op["name"] for op in json.loads((work / "keep.json").read_text())["ops"]]
        row["kept"] = names
        if not names:
            return row
        made, saved, rounded = work / "half.onnx", work / "saved.onnx", work / "rounded.onnx"
        try:
            onnx.save(mpopt.to_float16(model, names), made)
            row["loud after"] = loud(mpopt.check(made, precision="as-is", **judged))
            half.save_as_run(made, saved)
            half.put_roundings_back(saved, rounded)
            arrays = numpy.load(folder / "feeds.npz")
            row["error"] = error_of(outputs_of(model, arrays), outputs_of(rounded, arrays))
        except Exception as error:  # noqa: BLE001: each of them has its own
            row["refused"] = str(error).splitlines()[0]
    return row


def sum_up(rows: list[dict]) -> None:
    for kind in ("harmed", "between", "sound"):
        mine = [row for row in rows if row["kind"] == kind]
        kept = [row for row in mine if row["kept"]]
        errors = sorted(row["error"] for row in kept if "error" in row)
        print(f"{kind}: {len(mine)} models, {len(kept)} with a list, "
              f"{sum(len(row['kept']) for row in kept)} ops in all; "
              f"{sum(bool(row.get('loud after')) for row in kept)} judged again have findings "
              f"above a note, {sum('refused' in row for row in kept)} refused; error "
              + (f"{errors[len(errors) // 2]:.2g} in the median, "
                 f"{sum(error >= HARMED for error in errors)} of them harmed, "
                 f"{sum(SOUND < error < HARMED for error in errors)} between"
                 if errors else "of none"))
    plain = sum(row["seconds"] for row in rows)
    print(f"{plain:.1f} s without a list, "
          f"{sum(row['seconds with a list'] for row in rows):.1f} s with one, at most "
          f"{max(row['seconds with a list'] / row['seconds'] for row in rows):.1f} times as long")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for path in sorted(options.zoo.glob("*/truth.json")):
        if options.only and path.parent.name not in options.only:
            continue
        row = measure(path.parent)
        rows.append(row)
        print(f"{row['model']:16} {row['kind']:8} {row['fp16']:8.2g} -> {row.get('error', row['fp16']):8.2g} "
              f"kept {len(row['kept']):3} {row['seconds']:5.2f} s {row['seconds with a list']:5.2f} s "
              f"{' '.join(sorted(set(row['loud'])))} | {' '.join(sorted(set(row.get('loud after', []))))} "
              f"{row.get('refused', '')}", flush=True)
    sum_up(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

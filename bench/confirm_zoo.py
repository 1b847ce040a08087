#!/usr/bin/env python3
"""Compare what --confirm says on the generated zoo with what is true there.

    confirm_zoo.py ZOO_DIR [--run fp32|fp16|fp16-saved|fp16-rounded]
                   [--only NAME] [--probe findings|all] [--jobs N] [--json FILE]

Each model is instrumented with its declared inputs, run by ONNX Runtime on the batches
that its labels were made with (feeds.npz), and confirmed. The package `mpopt` must be
importable with its libraries. Always exits 0: it is a measurement.

`--run`: `fp32` judges the file for FP16 and runs it as it is. `fp16` converts the file
(mpopt.half), judges the result as it is and runs that. On the CPU the runtime computes most of
it in FP32 (docs/instrument.md): `fp16-saved` takes the graph that it makes of the converted
file, in which that shows, `fp16-rounded` that graph with every rounding put back.

What a label should be in an FP32 run, from truth.json (see the zoo's README for its fields):

    MP201, MP207-MP210, MP213   confirmed if the tensor has values of 65520 and more, refuted if
                                it has none and its op makes no Inf or NaN of finite operands
    MP204                       confirmed if half or more of the non-zero values flush, refuted
                                if less do
    MP205, MP206                confirmed if the op makes Inf or NaN of finite operands, or the
                                float32 run has some already; refuted if neither has any
    MP211                       confirmed if the magnitude reaches 60000

In a run of the converted file overflows and MP205 and MP206 are confirmed if the op made
Inf or NaN of finite operands in the labels' FP16 run, and MP211 if values of that run reach
60000. The converter clamps constants that FP16 does not hold, and the labels do not, so
models with such constants have no labels there; and what was flushed to zero is not seen.

Tensors that merely inherit Inf or NaN, and those without a label (inside a body), are not
counted.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy
from convert_zoo import declared
from mpopt import half
from mpopt.report import STATUSES

OVERFLOW = {"MP201", "MP207", "MP208", "MP209", "MP210", "MP213"}
JUDGED = OVERFLOW | {"MP204", "MP205", "MP206", "MP211"}


def expected_in_half(finding: dict, tensor: dict) -> bool | None:
    """The same of a run in FP16."""
    made = tensor["fp16"]
    if finding["rule"] == "MP211":
        values = [abs(made[end]) for end in ("lo", "hi") if made[end] is not None]
        return max(values, default=0) >= 60000
    if finding["rule"] == "MP204" or any(watch["test"] == "flush-share"
                                         for watch in finding.get("decided_by", [])):
        return None
    if made["origin"]:
        return True
    return None if tensor["nonfinite_fp16"] > 0 or tensor["nonfinite_fp32"] > 0 else False


def expected(finding: dict, tensor: dict) -> bool | None:
    """True if the finding is true of the labelled tensor; None if that is not said."""
    rule = finding["rule"]
    inherits = tensor["nonfinite_fp16"] > 0 and not tensor["fp16"]["origin"]
    tests = {watch["test"] for watch in finding.get("decided_by", [])}
    if rule == "MP213" and "flush-share" in tests or rule == "MP204":
        return tensor["frac_zero_fp16"] >= 0.5
    if rule in OVERFLOW:
        if tensor["frac_over_fp16"] > 0 or tensor["fp16"]["origin"]:
            return True
        return None if inherits or tensor["nonfinite_fp32"] > 0 else False
    if rule in ("MP205", "MP206"):
        if tensor["fp16"]["origin"]:
            return True
        return None if inherits or tensor["nonfinite_fp32"] > 0 else False
    return tensor["absmax"] >= 60000


def is_clamped(truth: dict) -> bool:
    """True if the converted file has other values than the labels' FP16 run: a constant
    that is Inf or all 0 there, an input beyond the edge."""
    return (any(known["overflow_fp16"] or 0 < known["nonzero"] == known["flush_fp16"]
                for known in truth["constants"].values())
            or any(max(abs(known["lo"]), abs(known["hi"])) >= 65520
                   for known in truth["inputs"].values() if known["dtype"].startswith("float")))


def check(folder: Path, run: str, probe: str) -> dict:
    truth = json.loads((folder / "truth.json").read_text())
    with numpy.load(folder / "feeds.npz") as feeds:
        arrays = dict(feeds)
    report = half.confirm_run(folder / "model.onnx", arrays, run=run, inputs=declared(truth),
                              dims=truth["dims"], probe=probe).raw
    is_labelled = run == "fp32" or not is_clamped(truth)
    judge = expected if run == "fp32" else expected_in_half
    rows = []
    for finding in report["findings"]:
        label = truth["tensors"].get(finding["tensor"]) if is_labelled else None
        want = judge(finding, label) if label and finding["rule"] in JUDGED else None
        rows.append({"model": folder.name, "rule": finding["rule"], "tensor": finding["tensor"],
                     "certainty": finding["certainty"], "status": finding["status"],
                     "why": finding.get("status_why", ""), "expected": want})
    return {"model": folder.name, "rows": rows, "exceeded": report["exceeded"],
            "outside": report["outside_assumptions"], "counts": report["confirmation"]}


def check_or_say(folder: Path, run: str, probe: str) -> dict | str:
    """The result, or why there is none."""
    try:
        return check(folder, run, probe)
    except Exception as error:  # noqa: BLE001, ONNX Runtime's have no base class
        return f"{folder.name}: {str(error).splitlines()[-1]}"


def print_tables(results: list[dict]) -> None:
    table: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    wrong = []
    for row in (row for result in results for row in result["rows"]):
        line = table[row["rule"]]
        line[row["status"]] += 1
        if row["expected"] is None:
            line["unlabelled"] += 1
        elif row["status"] in ("confirmed", "refuted"):
            agrees = (row["status"] == "confirmed") == row["expected"]
            line["agree" if agrees else "differ"] += 1
            if not agrees:
                wrong.append(row)
        else:
            line["open"] += 1
            wrong.append(row)
    heads = (*STATUSES, "unlabelled", "agree", "differ", "open")
    print("rule  " + " ".join(f"{head:>14}" for head in heads))
    totals = {"all  ": collections.Counter(), "known": collections.Counter()}
    for rule in sorted(table):
        totals["all  "] += table[rule]
        if rule in JUDGED:
            totals["known"] += table[rule]
        print(f"{rule} " + " ".join(f"{table[rule][head]:>14}" for head in heads))
    for name, total in totals.items():
        print(f"{name} " + " ".join(f"{total[head]:>14}" for head in heads))
    known = totals["known"]
    decided = known["agree"] + known["differ"]
    print(f"of the rules that have labels (known): agreement "
          f"{known['agree'] / max(decided, 1):.4f} of {decided} decided and labelled; "
          f"not exercised {known['not-exercised']} of {sum(known[head] for head in STATUSES)}")
    reasons = collections.Counter((row["status"], row["why"])
                                  for result in results for row in result["rows"] if row["why"])
    for (status, why), count in reasons.most_common():
        print(f"  {count:>6} {status}: {why}")
    for row in wrong[:30]:
        print("  ", row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--run", choices=half.RUNS, default="fp32")
    parser.add_argument("--only", default="")
    parser.add_argument("--probe", default="findings")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.zoo.glob("*/truth.json")
                     if path.parent.name.startswith(options.only))
    start = time.time()
    with ProcessPoolExecutor(options.jobs) as pool:
        done = list(pool.map(check_or_say, folders, itertools.repeat(options.run),
                             itertools.repeat(options.probe)))
    results = [result for result in done if isinstance(result, dict)]
    failures = [result for result in done if isinstance(result, str)]
    print_tables(results)
    unknown = sum(row["status"] not in STATUSES for result in results for row in result["rows"])
    print(f"findings {sum(len(result['rows']) for result in results)}, without a status "
          f"{unknown}; tensors compared with their bounds "
          f"{sum(result['counts']['comparable'] for result in results)}, of "
          f"{sum(result['counts']['probes'] for result in results)} probes")
    print(f"models {len(results)}, failed {len(failures)}; bounds exceeded in "
          f"{sum(bool(result['exceeded']) for result in results)}, outside the assumptions "
          f"{sum(bool(result['outside']) for result in results)}; {time.time() - start:.0f} s")
    for failure in sorted(failures):
        print("  failed:", failure)
    if options.json:
        options.json.write_text(json.dumps({"results": results, "failures": failures}, indent=1))


if __name__ == "__main__":
    main()

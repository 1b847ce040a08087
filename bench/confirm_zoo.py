#!/usr/bin/env python3
"""Compare what --confirm says on the generated zoo with what is true there.

    confirm_zoo.py ZOO_DIR --mpopt PATH [--only NAME] [--probe findings|all] [--jobs N] [--json FILE]

Each model is instrumented for FP16 with its declared inputs, run in FP32 by ONNX Runtime
on the batches that its labels were made with (feeds.npz), and confirmed. The package
`mpopt` must be importable with its libraries. Always exits 0: it is a measurement.

What a label should be, from truth.json (see the zoo's README for its fields):

    MP201, MP207-MP210, MP213   confirmed if the tensor has values of 65520 and more, refuted if
                                it has none and its op makes no Inf or NaN of finite operands
    MP204                       confirmed if half or more of the non-zero values flush, refuted
                                if less do
    MP205, MP206                confirmed if the op makes Inf or NaN of finite operands, or the
                                float32 run has some already; refuted if neither has any
    MP211                       confirmed if the magnitude reaches 60000

Tensors that merely inherit Inf or NaN, and those without a label (inside a body), are not
counted.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

OVERFLOW = {"MP201", "MP207", "MP208", "MP209", "MP210", "MP213"}
JUDGED = OVERFLOW | {"MP204", "MP205", "MP206", "MP211"}


def expected(finding: dict, tensor: dict) -> bool | None:
    """Whether the finding is true of the labelled tensor; None if that is not said."""
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


RUN = """
import sys, numpy, mpopt, onnxruntime
model, feeds, record = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = 1
options.log_severity_level = 4
session = mpopt.probe_session(model, record=record, sess_options=options)
arrays = numpy.load(feeds)
for batch in range(len(arrays[arrays.files[0]])):
    session.run(None, {name: arrays[name][batch] for name in arrays.files})
session.recorder.close()
"""


def check(folder: Path, mpopt: str, probe: str, work: Path) -> dict:
    truth = json.loads((folder / "truth.json").read_text())
    probed, record = work / f"{folder.name}.onnx", work / f"{folder.name}.mprec"
    command = [mpopt, "--instrument", str(folder / "model.onnx"), "-o", str(probed),
               "--precision", "fp16", "--probe", probe]
    for name, known in truth["inputs"].items():
        command += ["--input", f"{name}={known['lo']}:{known['hi']}"]
        if known["dtype"].startswith("float"):
            command += ["--input", f"{name}~{known['mean']},{known['std']}"]
    for name, size in truth["dims"].items():
        command += ["--dim", f"{name}={size}"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    subprocess.run([sys.executable, "-c", RUN, str(probed), str(folder / "feeds.npz"), str(record)],
                   check=True, capture_output=True, text=True, env={**os.environ, "MPOPT": mpopt})
    done = subprocess.run([mpopt, "--confirm", str(record), "--ledger", f"{probed}.probes.json",
                           "--format", "json"], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    for file in (probed, record, Path(f"{probed}.probes.json")):
        file.unlink(missing_ok=True)
    report = json.loads(done.stdout)
    rows = []
    for finding in report["findings"]:
        if finding["rule"] not in JUDGED:
            continue
        label = truth["tensors"].get(finding["tensor"])
        want = expected(finding, label) if label else None
        rows.append({"model": folder.name, "rule": finding["rule"], "tensor": finding["tensor"],
                     "certainty": finding["certainty"], "status": finding["status"],
                     "why": finding.get("status_why", ""), "expected": want})
    return {"model": folder.name, "rows": rows, "exceeded": report["exceeded"],
            "outside": report["outside_assumptions"], "counts": report["confirmation"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--mpopt", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--probe", default="findings")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.zoo.glob("*/truth.json")
                     if path.parent.name.startswith(options.only))
    start = time.time()
    failures, results = [], []

    def run(folder: Path, work: Path) -> None:
        try:
            results.append(check(folder, options.mpopt, options.probe, work))
        except (subprocess.CalledProcessError, RuntimeError) as error:
            failures.append(f"{folder.name}: {getattr(error, 'stderr', '') or error}")

    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda folder: run(folder, Path(work)), folders))

    table: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    wrong = []
    for result in results:
        for row in result["rows"]:
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
    heads = ("confirmed", "refuted", "not-exercised", "not-observable", "unlabelled", "agree",
             "differ", "open")
    print("rule  " + " ".join(f"{head:>14}" for head in heads))
    total: collections.Counter = collections.Counter()
    for rule in sorted(table):
        total += table[rule]
        print(f"{rule} " + " ".join(f"{table[rule][head]:>14}" for head in heads))
    print("all   " + " ".join(f"{total[head]:>14}" for head in heads))
    decided = total["agree"] + total["differ"]
    labelled = sum(total[head] for head in heads[:4])
    print(f"agreement {total['agree'] / max(decided, 1):.4f} of {decided} decided and labelled; "
          f"not exercised {total['not-exercised'] / max(labelled, 1):.4f} of {labelled}")
    print(f"models {len(results)}, failed {len(failures)}; bounds exceeded in "
          f"{sum(bool(result['exceeded']) for result in results)}, outside the assumptions "
          f"{sum(bool(result['outside']) for result in results)}; {time.time() - start:.0f} s")
    for row in wrong[:30]:
        print("  ", row)
    for failure in failures[:10]:
        print("  failed:", failure.splitlines()[-1] if failure.strip() else failure)
    if options.json:
        options.json.write_text(json.dumps({"results": results, "failures": failures}, indent=1))


if __name__ == "__main__":
    main()

"""The nodes that ModelOpt's AutoCast leaves in FP32.

    autocast_list.py LIMIT

For each line of standard input, a JSON object with `model` and `calibration` (an .npz file with
one feed), writes a line: `kept` (names of nodes) or `error`, and `seconds` of processor time.
Each runs in a process of its own, LIMIT seconds at most; the package is loaded once. Runs in
the environment of `scripts/setup --bench`.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys

from modelopt.onnx.autocast import convert, convert_to_mixed_precision


def classify(model: str, calibration: str) -> dict:
    said = {}
    classify_nodes = convert.NodeClassifier.run

    def classify_and_tell(self, *arguments, **options):
        low, high = classify_nodes(self, *arguments, **options)
        said["kept"] = sorted(high)
        return low, high

    convert.NodeClassifier.run = classify_and_tell
    try:
        convert_to_mixed_precision(onnx_path=model, low_precision_type="fp16",
                                   calibration_data=calibration, keep_io_types=True)
    except Exception as error:  # noqa: BLE001: what comes after the list does not matter
        text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return said or {"error": text[:200]}
    return said


def answer(limit: int, model: str, calibration: str) -> dict:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(limit)
        os.close(reads)
        # Whoever prints below must not disturb the answers.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with os.fdopen(writes, "w") as pipe:
            json.dump(classify(model, calibration), pipe)
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    _, status, used = os.wait4(child, 0)
    if text:
        said = json.loads(text)
    elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        said = {"error": f"over {limit} s"}
    else:
        said = {"error": f"dies with status {status}"}
    return said | {"seconds": used.ru_utime + used.ru_stime}


def main() -> None:
    logging.disable(logging.CRITICAL)
    for line in sys.stdin:
        print(json.dumps(answer(int(sys.argv[1]), **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

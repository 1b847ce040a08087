#!/usr/bin/env python3
"""Networks from a grammar of layers, and how well mpopt judges them: a set that no rule was made for.

    bench/grammar.py --seed S --count N --out DIR [--jobs N]
    bench/grammar.py --score DIR MPOPT [MPOPT2] [--misses] [--brief]

A network is a stem (sound, images, tokens, tables, points, features with a mask), 2 to 28 layers and a head, drawn by
the seed: two thirds by PyTorch's exporters (grammar/modules.py, layers.py), the others as ONNX (graphs.py). Weights are
as initialised or as trained ones are (draws.py), batch norms' statistics are those of a pass of data. What is true is
measured (labels.py) on 16 samples of the declared inputs. Networks whose outputs are not finite in FP32, do not depend on
the inputs or depend on them chaotically are drawn again.

--score prints a row for each precision and binary, and what differs between two; --misses what the last one has wrong,
--brief only the rows. Making needs torch, onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

FOLDER = Path(__file__).resolve().with_suffix("")
sys.path += [str(FOLDER), str(FOLDER.parent / "accept")]

ATTEMPTS = 40
LONGEST = 4000  # nodes


def make_network(seed: list[int]) -> tuple:
    """A model, its inputs by name and what it is made of."""
    import exporting
    import graphs
    import modules
    import onnx
    import torch
    from draws import Draw

    torch.set_num_threads(1)
    d = Draw(*seed)
    if d.chance(1 / 3):
        model, inputs, names = graphs.build(d)
        by = "onnx"
    else:
        network, inputs, names = modules.build(d)
        model, by = exporting.export(d, network, inputs)
    onnx.checker.check_model(model)
    named = dict(zip([value.name for value in model.graph.input], inputs, strict=True))
    return model, named, {"made by": by, "style": d.style, "nodes": len(model.graph.node), "layers": names}


def make(seed: int, out: Path, index: int) -> str:
    """Writes a network; the reasons of those that were drawn before, a line each."""
    import labels

    reasons = []
    for attempt in range(ATTEMPTS):
        key = [seed, index, attempt]
        try:
            model, inputs, notes = make_network(key)
            if len(model.graph.node) > LONGEST:
                raise labels.Unfit("long")
            truth = labels.label(model, inputs, key)
        except Exception as error:  # of exporters and the runtime
            lines = str(error).strip().splitlines() or [""]
            reasons.append(lines[0] if isinstance(error, labels.Unfit) else f"{type(error).__name__}: {lines[0][:150]}")
            continue
        folder = out / f"{index:04}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
        found = {"seed": key, **notes, "inputs": {name: value.record() for name, value in inputs.items()}}
        (folder / "truth.json").write_text(json.dumps(found | truth, indent=1) + "\n", encoding="utf-8")
        return "\n".join(["made", *reasons])
    return "\n".join(["given up", *reasons])


def make_set(seed: int, count: int, out: Path, jobs: int) -> None:
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        notes = list(pool.map(partial(make, seed, out), range(count)))
    print(json.dumps(dict(collections.Counter(line for note in notes for line in note.splitlines()).most_common()), indent=1))
    truths = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("*/truth.json"))]
    for precision in ("fp16", "bf16"):
        print(precision, dict(collections.Counter(truth[precision]["verdict"] for truth in truths)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", type=Path, help="make a set in this folder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--score", nargs="+", metavar=("DIR", "MPOPT"), help="a set, and one or two binaries")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--brief", action="store_true")
    given = parser.parse_args()
    if given.out:
        make_set(given.seed, given.count, given.out, given.jobs)
    elif given.score and 2 <= len(given.score) <= 3:
        from scoring import score

        score(Path(given.score[0]), given.score[1:], given.misses, given.brief)
    else:
        parser.error("give --out DIR, or --score DIR MPOPT [MPOPT2]")
    return 0


if __name__ == "__main__":
    sys.exit(main())

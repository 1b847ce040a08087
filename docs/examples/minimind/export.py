"""Writes the model, as it is before the first step, as files that mpopt reads.

    python export.py FOLDER [--cast half|bfloat16] [--model MiniMindLM]

FOLDER gets model.pt2 (torch.export), model.pt (TorchScript) and batch.npz, batches from which
mpopt takes what tokens and labels look like."""

import argparse
import warnings
from pathlib import Path

import numpy as np
import torch

import model as models
import text

# A .pt2 file names the types of its results.
torch.utils._pytree._register_namedtuple(models.Result, serialized_type_name="model.Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cast", choices=["half", "bfloat16"],
                        help="cast the model, as a training in 16 bits does")
    parser.add_argument("--model", choices=["MiniMind", "MiniMindLM"], default="MiniMind",
                        help="the latter leaves the loss to the script; default: %(default)s")
    parser.add_argument("--batch", type=int, default=4, help="rows; default: %(default)s")
    parser.add_argument("--data", type=Path, default=text.FOLDER,
                        metavar="FOLDER", help="where the tokens are; default: %(default)s")
    options = parser.parse_args()

    torch.manual_seed(0)
    model = getattr(models, options.model)()
    if options.cast:
        model = getattr(model, options.cast)()
    rows = list(text.batches(options.data, 8, options.batch))
    arguments = rows[0] if options.model == "MiniMind" else rows[0][:1]
    options.folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # PyTorch's makers prefer the first form to the second.
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(model, arguments), options.folder / "model.pt2")
        torch.jit.trace(model, arguments).save(options.folder / "model.pt")
    tokens, labels = (torch.stack(each).numpy() for each in zip(*rows))
    np.savez(options.folder / "batch.npz", tokens=tokens, labels=labels)


if __name__ == "__main__":
    main()

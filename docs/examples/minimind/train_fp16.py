"""FP16 throughout: weights, gradients and the optimizer's state, with a fixed loss scale."""

import types

import torch

import text
import watching
from model import MiniMind

SCALE = 1024.0


def main(options):
    torch.manual_seed(options.seed)
    model = MiniMind()
    model.half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4)
    fixed = types.SimpleNamespace(loss_scale=SCALE)
    with watching.Watch(options, model, optimizer, fixed) as watch:
        for tokens, labels in text.batches(options.data, options.steps, options.batch):
            loss = model(tokens, labels)
            (loss * SCALE).backward()
            for weight in model.parameters():
                weight.grad /= SCALE
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if norm.isfinite():
                optimizer.step()
            optimizer.zero_grad()
            watch.step(loss)


if __name__ == "__main__":
    main(watching.read_options(__doc__))

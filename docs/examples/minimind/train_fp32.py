"""FP32 throughout: what the others are compared with."""

import torch

import text
import watching
from model import MiniMind


def main(options):
    torch.manual_seed(options.seed)
    model = MiniMind()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watching.Watch(options, model, optimizer) as watch:
        for tokens, labels in text.batches(options.data, options.steps, options.batch):
            loss = model(tokens, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            watch.step(loss)


if __name__ == "__main__":
    main(watching.read_options(__doc__))

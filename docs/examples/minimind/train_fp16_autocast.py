"""FP16 by autocast, with a loss scaler: weights in FP32, products in FP16."""

import torch

import text
import watching
from model import MiniMind


def main(options):
    torch.manual_seed(options.seed)
    model = MiniMind()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")
    with watching.Watch(options, model, optimizer, scaler) as watch:
        for tokens, labels in text.batches(options.data, options.steps, options.batch):
            with torch.autocast("cpu", dtype=torch.float16):
                loss = model(tokens, labels)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            watch.step(loss)


if __name__ == "__main__":
    main(watching.read_options(__doc__))

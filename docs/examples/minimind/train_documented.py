"""FP16 by autocast in the loop that tutorials print: gradients of several passes that accumulate, a
loss with a mask, an auxiliary loss, and a schedule of the learning rate."""

import math

import torch
from torch import nn

import text
import watching
from model import MiniMindLM

ACCUMULATION_STEPS = 4


def get_lr(current, total, lr):
    return lr / 10 + 0.5 * lr * (1 + math.cos(math.pi * current / total))


def main(options):
    torch.manual_seed(options.seed)
    loss_fct = nn.CrossEntropyLoss(reduction="none")
    model = MiniMindLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu")
    passes, rows = options.steps * ACCUMULATION_STEPS, options.batch // ACCUMULATION_STEPS
    with watching.Watch(options, model, optimizer, scaler, ACCUMULATION_STEPS) as watch:
        for step, (X, Y, loss_mask) in enumerate(text.masked_batches(options.data, passes, rows)):
            lr = get_lr(step, passes, 1e-3)
            for param_group in optimizer.param_groups:
                param_group["lr"] = lr

            with torch.autocast("cpu", dtype=torch.float16):
                res = model(X)
                loss = loss_fct(res.logits.view(-1, res.logits.size(-1)), Y.view(-1)).view(Y.size())
                loss = (loss * loss_mask).sum() / loss_mask.sum()
                loss += res.aux_loss
                loss = loss / ACCUMULATION_STEPS

            scaler.scale(loss).backward()

            if (step + 1) % ACCUMULATION_STEPS == 0:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad(set_to_none=True)

            watch.add(loss.item())


if __name__ == "__main__":
    main(watching.read_options(__doc__))

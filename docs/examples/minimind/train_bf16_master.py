"""BF16 model, FP32 master weights: the optimizer updates FP32 copies, which the model gets
rounded."""

import torch

import text
import watching
from model import MiniMind


def main(options):
    torch.manual_seed(options.seed)
    model = MiniMind()
    model.bfloat16()
    master_weights = [weight.detach().float() for weight in model.parameters()]
    optimizer = torch.optim.AdamW(master_weights, lr=1e-3)
    with watching.Watch(options, model, optimizer) as watch:
        for tokens, labels in text.batches(options.data, options.steps, options.batch):
            loss = model(tokens, labels)
            loss.backward()
            for master, weight in zip(master_weights, model.parameters()):
                master.grad, weight.grad = weight.grad.float(), None
            torch.nn.utils.clip_grad_norm_(master_weights, 1.0)
            optimizer.step()
            with torch.no_grad():
                for master, weight in zip(master_weights, model.parameters()):
                    weight.copy_(master)
            watch.step(loss)


if __name__ == "__main__":
    main(watching.read_options(__doc__))

# case: clipped by PyTorch
import torch
from accelerate import Accelerator

def train(args, model, optimizer, loader, criterion):
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        accelerator.backward(criterion(model(x), y))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds warning fix
        optimizer.step()
# case: plain backward
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()  # finds warning fix
    optimizer.step()
# case: by the accelerator
from accelerate import Accelerator
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
# case: never in FP16
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="bf16")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

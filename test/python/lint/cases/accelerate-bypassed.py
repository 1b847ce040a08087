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
# case: beside the plain loop that it is compared with
from accelerate import Accelerator

def plain(model, optimizer, loader):
    accelerator = Accelerator()
    model.to(accelerator.device)
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

def managed(model, optimizer, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()  # finds warning fix
        optimizer.step()
# case: a plain training beside the accelerator's
from accelerate import Accelerator
def train_plainly(model, optimizer, loader):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
def list_batches(loader):
    accelerator = Accelerator()
    return accelerator.prepare(loader)
# case: plain backward in BF16 without accumulation
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="bf16")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    criterion(model(x), y).backward()
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
# case: an optimizer that is not prepared
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
model, loader = accelerator.prepare(model, loader)
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    optimizer.step()  # finds warning
    optimizer.zero_grad()
# case: prepared
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model = Net()
optimizer = torch.optim.AdamW(model.parameters())
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    optimizer.step()
    optimizer.zero_grad()
# case: scaled twice
import torch
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
scaler = torch.amp.GradScaler("cuda")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    loss = criterion(model(x), y)
    accelerator.backward(scaler.scale(loss))  # finds warning
    optimizer.step()
# case: divided twice
from accelerate import Accelerator
def train(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.passes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            loss = loss / args.passes
            accelerator.backward(loss)  # finds warning
            optimizer.step()
# case: divided to be shown
from accelerate import Accelerator
def train(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.passes)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            train_loss += loss.item() / args.passes
            accelerator.backward(loss)
            optimizer.step()
# case: divided twice, in an object
from accelerate import Accelerator
class Trainer:
    def __init__(self, cfg, model, optimizer, loader):
        self.cfg, self.accelerator = cfg, Accelerator(gradient_accumulation_steps=cfg.passes)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)
    def train(self):
        for batch in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.model(batch).loss
                self.accelerator.backward(loss / self.cfg.passes)  # finds warning
                self.optimizer.step()
# case: the accelerator's scaler by hand
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
scaler = accelerator.scaler
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    scaler.step(optimizer)  # finds warning
    scaler.update()  # finds warning
# case: the accelerator's scaler is read
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="fp16")
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    accelerator.backward(criterion(model(x), y))
    optimizer.step()
    optimizer.zero_grad()
    print(accelerator.scaler.get_scale())

# case: two steps of one optimizer
def train(optimizer, scaler, one, other):
    scaler.scale(one).backward()
    scaler.step(optimizer)
    scaler.scale(other).backward()
    scaler.step(optimizer)  # finds error
    scaler.update()
# case: an update in every nth pass
import torch
scaler = torch.amp.GradScaler("cuda")
for i, x in enumerate(loader):
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)  # finds error
    if (i + 1) % 100 == 0:
        scaler.update()
# case: step and update in every nth pass
def train(model, optimizer, scaler, loader, n):
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        if (i + 1) % n == 0:
            scaler.step(optimizer)
            scaler.update()
# case: one branch or the other
def train(args, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    if args.clip:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
    if args.plain:
        scaler.step(optimizer)
    scaler.update()
# case: two optimizers
def train(first, second, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
# case: an update where the loss is finite
import torch
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # finds error
    if torch.isfinite(loss):
        scaler.update()
# case: a step and an update where the loss is finite
import torch
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    if torch.isfinite(loss):
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# case: an update where there is a scaler
def train(loader, optimizer, scaler=None):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        if scaler is not None:
            scaler.update()

# case: in every pass
def train(loader, model, criterion, optimizer, scaler, passes):
    for i, (x, y) in enumerate(loader):
        scaler.scale(criterion(model(x), y) / passes).backward()
        if (i + 1) % passes == 0:
            scaler.step(optimizer)
            optimizer.zero_grad()
        scaler.update()  # finds error
# case: where it steps
def train(loader, model, criterion, optimizer, scaler, passes):
    for i, (x, y) in enumerate(loader):
        scaler.scale(criterion(model(x), y) / passes).backward()
        if (i + 1) % passes == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
# case: passes that do not step leave
def train(loader, model, criterion, optimizer, scaler, passes):
    for i, (x, y) in enumerate(loader):
        scaler.scale(criterion(model(x), y) / passes).backward()
        if (i + 1) % passes != 0:
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
# case: with a new scale, which asks for no check
import torch
scaler = torch.amp.GradScaler("cuda")
for index, x in enumerate(loader):
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if index % 100 == 0 and scaler.get_scale() < 1:
        scaler.update(scaler.get_scale() * 2.0)

# case: a norm by hand
def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    total = sum(p.grad.norm() ** 2 for p in model.parameters())  # finds warning
    scaler.step(optimizer)
    scaler.update()
    return total
# case: a norm of all
import torch

def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    for p in model.parameters():
        print(torch.linalg.norm(p.grad))  # finds warning
    scaler.step(optimizer)
    scaler.update()
# case: unscaled before
def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    total = sum(p.grad.norm() for p in model.parameters())
    scaler.step(optimizer)
    scaler.update()
# case: sums over ranks, which a scale does not hurt, and questions
import torch.distributed as dist

def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad.div_(dist.get_world_size())
    scaler.step(optimizer)
    scaler.update()
# case: no scaler
def step(model, optimizer, loss):
    loss.backward()
    print(model.weight.grad.norm())
    optimizer.step()

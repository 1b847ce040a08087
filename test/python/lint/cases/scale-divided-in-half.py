# case: of a model that is in FP16
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    (loss_of(model(x), y) * scale_factor).backward()
    for p in model.parameters():
        p.grad /= scale_factor  # finds warning
    optimizer.step()
# case: by a method, a number and an assignment
import torch
model = torch.nn.Linear(4, 4).half()
for p in model.parameters():
    p.grad.div_(1024.0)  # finds warning
    p.grad = p.grad / loss_scale  # finds warning
    p.grad.data.div_(self.scale)  # finds warning
# case: FP32 copies, FP32 weights, a mean over processes
import torch
model = torch.nn.Linear(4, 4).half()
for p, q in zip(model.parameters(), copies):
    q.grad = p.grad.float() / scale
for p in model.parameters():
    p.grad /= world_size
    p.grad.div_(4)
other = torch.nn.Linear(4, 4)
for p in other.parameters():
    p.grad /= scale

# case: of what a region gives
import torch
model = torch.nn.Linear(4, 4)

def spread(f):
    f = f - f.mean(0)
    factor = torch.linalg.cholesky(f.t() @ f + torch.eye(4, dtype=f.dtype))  # finds error
    return factor.diagonal().log().sum()

with torch.autocast("cuda", dtype=torch.float16):
    features = model(x)
loss = spread(features)
# case: a method, and inside a region of a GPU
import torch
a = torch.zeros(4, 4, dtype=torch.bfloat16)
b = a.inverse()  # finds error
with torch.autocast("cuda", dtype=torch.bfloat16):
    c = torch.linalg.eigvalsh(a @ a)  # finds error
# case: widened, on the CPU, or of an unknown type
import torch
model = torch.nn.Linear(4, 4)
with torch.autocast("cuda", dtype=torch.float16):
    features = model(x)
torch.linalg.cholesky(features.float().t() @ features.float())
with torch.autocast("cpu", dtype=torch.bfloat16):
    torch.linalg.cholesky(model(x) @ model(x))
torch.linalg.svd(y)
torch.linalg.norm(features)

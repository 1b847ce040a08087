# case: a model on the processor
import torch
model = torch.nn.Linear(4, 4).to("cpu")
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):  # finds warning
        loss = torch.nn.functional.mse_loss(model(x), y)
# case: a model on the graphics card
import torch
model = torch.nn.Linear(4, 4).cuda()
with torch.autocast("cpu"):  # finds warning
    model(x)
with torch.autocast("cuda"):
    model(x)
# case: devices that are chosen, or change
import torch
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(4, 4).to(device)
other = torch.nn.Linear(4, 4).to("cpu")
other.cuda()
cast = torch.nn.Linear(4, 4).to(torch.bfloat16)
with torch.autocast("cuda"):
    model(x)
    other(x)
    cast(x)
with torch.autocast(device):
    model(x)

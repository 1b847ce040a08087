# case: a mean
import torch.nn.functional as F

def train(loader, model, optimizer, passes):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # finds warning
        if (i + 1) % passes == 0:
            optimizer.step()
            optimizer.zero_grad()
# case: a model of transformers, and a scaler
from transformers import AutoModel
model = AutoModel.from_pretrained("bert")

def train(args, loader, optimizer, scaler):
    for i, batch in enumerate(loader):
        outputs = model(**batch)
        scaler.scale(outputs.loss).backward()  # finds warning
        if i % args.passes == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
# case: divided
import torch.nn.functional as F

def train(loader, model, optimizer, passes):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss = loss / passes
        loss.backward()
        if (i + 1) % passes == 0:
            optimizer.step()
            optimizer.zero_grad()
# case: divided in place, if there is more than one pass
import torch.nn.functional as F

def train(args, loader, model, optimizer):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        if args.passes > 1:
            loss /= args.passes
        loss.backward()
        if (i + 1) % args.passes == 0:
            optimizer.step()
            optimizer.zero_grad()
# case: a sum, and a loss that the file does not show
import torch.nn.functional as F
from losses import compute

def train(loader, model, optimizer, passes):
    for i, (x, y) in enumerate(loader):
        F.mse_loss(model(x), y, reduction="sum").backward()
        compute(model(x), y).backward()
        if (i + 1) % passes == 0:
            optimizer.step()
            optimizer.zero_grad()
# case: the step in every pass, and something else now and then
import torch.nn.functional as F

def train(loader, model, optimizer):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 100 == 0:
            print(loss)
# case: a name for every nth pass
import torch
def train(model, optimizer, loader, n):
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()  # finds warning
        is_last = (i + 1) % n == 0
        if is_last:
            optimizer.step()
            optimizer.zero_grad()

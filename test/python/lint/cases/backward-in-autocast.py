# case: plain
import torch

def step(model, criterion, optimizer, x, y):
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
        loss.backward()  # finds warning fix
        optimizer.step()
# case: scaled, in a function that is called inside
import torch

def finish(scaler, loss):
    scaler.scale(loss).backward()  # finds warning

def step(model, criterion, scaler, x, y):
    with torch.amp.autocast("cuda", enabled=True):
        finish(scaler, criterion(model(x), y))
# case: a decorated function
import torch

@torch.autocast("cuda")
def step(model, criterion, x, y):
    loss = criterion(model(x), y)
    loss.backward()  # finds warning
# case: a context that is chosen before
import contextlib
import torch

def train(args, model, criterion, loader):
    context = torch.autocast("cuda") if args.amp else contextlib.nullcontext()
    for x, y in loader:
        with context:
            loss = criterion(model(x), y)
            loss.backward()  # finds warning fix
# case: a context manager of the file
import contextlib
import torch

@contextlib.contextmanager
def precision():
    with torch.autocast("cuda"):
        yield

def step(model, criterion, x, y):
    with precision():
        loss = criterion(model(x), y)
        loss.backward()  # finds warning fix
# case: outside
import torch

def step(model, criterion, x, y):
    with torch.autocast("cuda"):
        loss = criterion(model(x), y)
    loss.backward()
# case: a region that is off, and a context that does nothing
import contextlib
import torch

def step(model, criterion, x, y):
    with torch.autocast("cuda", enabled=False), contextlib.nullcontext():
        loss = criterion(model(x), y)
        loss.backward()
# case: a context manager that is a region for some types
import contextlib
import torch

@contextlib.contextmanager
def precision(name):
    if name == "fp32":
        yield
        return
    with torch.autocast("cuda", dtype={"fp16": torch.float16, "bf16": torch.bfloat16}[name]):
        yield

def train(model, opt, data, name):
    for x, y in data:
        with precision(name):
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()  # finds warning fix
        opt.step()
        opt.zero_grad()
# case: a function that trains or not, where it does not
import torch

def run(model, x, trains):
    y = model(x)
    if trains:
        y.mean().backward()
    return y

@torch.no_grad()
def evaluate(model, x):
    with torch.autocast("cuda"):
        return run(model, x, False)
# case: by a context of the file that hands its keywords on
import contextlib
import torch

@contextlib.contextmanager
def region(device="cuda", **kwargs):
    if new:
        with torch.amp.autocast(device, **kwargs):
            yield
    else:
        with torch.cuda.amp.autocast(**kwargs):
            yield

def off(x):
    with region(enabled=False):
        loss_of(x).backward()

def on(x):
    with region(dtype=torch.bfloat16):
        loss_of(x).backward()  # finds warning

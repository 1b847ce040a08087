# case: always on
import torch
scaler = torch.amp.GradScaler("cuda")  # finds note

def step(model, criterion, optimizer, x, y):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# case: on for FP16 alone
import torch

def train(args, model, criterion, optimizer, loader):
    dtype = torch.bfloat16
    scaler = torch.amp.GradScaler("cuda", enabled=args.dtype == "float16")
    for x, y in loader:
        with torch.autocast("cuda", dtype=dtype):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# case: one type or the other
import torch

def train(args, model, criterion, optimizer, loader):
    dtype = torch.bfloat16 if args.bf16 else torch.float16
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=dtype):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

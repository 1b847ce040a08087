# case: in each step
import torch
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    scaler = torch.amp.GradScaler("cuda")  # finds warning
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
# case: in the function that takes a step
import torch

def step(model, optimizer, x):
    scaler = torch.amp.GradScaler("cuda")  # finds warning
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)
    scaler.update()

def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        step(model, optimizer, x)
# case: a training for each setting
import torch
for rate in rates:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
# case: one step for each setting
import torch
for rate in rates:
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    scaler = torch.amp.GradScaler("cuda")
    scaler.scale(model(x).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
# case: by a function
import torch
def make(low):
    return torch.amp.GradScaler("cuda", enabled=low)
def train(model, loader):
    opt = torch.optim.AdamW(model.parameters())
    for x in loader:
        scaler = make(True)  # finds warning
        opt.zero_grad()
        scaler.scale(model(x).loss).backward()
        scaler.step(opt)
        scaler.update()
# case: of each epoch
import torch
optimizer = torch.optim.AdamW(model.parameters())
def train_epoch(model, loader):
    scaler = torch.amp.GradScaler("cuda")  # finds warning
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).loss).backward()
        scaler.step(optimizer)
        scaler.update()
for epoch in range(100):
    train_epoch(model, loader)
# case: of each fold
import torch
def train(model, loader):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        scaler.scale(model(x).loss).backward()
        scaler.step(optimizer)
        scaler.update()
for fold in range(5):
    train(build(), loaders[fold])

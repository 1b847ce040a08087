# case: skipped in a loop
import torch
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    if torch.isnan(loss):  # finds warning
        continue
    loss.backward()
    optimizer.step()
# case: other forms
import math
import torch
for x, y in loader:
    loss = criterion(model(x), y)
    if not math.isfinite(loss.item()):  # finds warning
        optimizer.zero_grad()
        continue
    if torch.isnan(loss).any() or torch.isinf(loss).any():  # finds warning
        continue
    if loss != loss:  # finds warning
        continue
    if torch.isfinite(loss):  # finds warning
        loss.backward()
    optimizer.step()
# case: in a function and a hook
import lightning as L
import torch
class Module(L.LightningModule):
    def training_step(self, batch, index):
        loss = self.compute(batch)
        if torch.isnan(loss):  # finds warning
            return None
        return loss
def step(model, x, optimizer):
    loss = model(x).loss
    if torch.isnan(loss):  # finds warning
        return
    loss.backward()
    optimizer.step()
# case: told, counted, ended
import logging
import sys
import torch
for x, y in loader:
    loss = criterion(model(x), y)
    if torch.isnan(loss):
        print("NaN in", x)
        continue
    if torch.isnan(loss):
        skipped += 1
        continue
    if not torch.isfinite(loss):
        raise FloatingPointError
    if torch.isfinite(loss):
        loss.backward()
    else:
        logging.warning("NaN")
    optimizer.step()
# case: no training, and another tensor
import torch
for x, y in loader:
    loss = criterion(model(x), y)
    if torch.isnan(loss):
        continue
    total += loss.item()
for x, y in loader:
    if torch.isnan(x).any():
        continue
    criterion(model(x), y).backward()
    optimizer.step()

# case: validation
import torch
import transformer_engine.pytorch as te

def main(model, train, test):
    optimizer = torch.optim.AdamW(model.parameters())
    for x in train:
        with torch.autocast("cuda", dtype=torch.bfloat16), te.fp8_autocast(enabled=True):
            loss = model(x).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        for x in test:
            total = model(x).mean()  # finds note
# case: in the region, too
import torch
import transformer_engine.pytorch as te

def main(model, train, test):
    for x in train:
        with te.fp8_autocast(enabled=True):
            loss = model(x).mean()
        loss.backward()
    with torch.no_grad(), te.fp8_autocast(enabled=True):
        total = model(x).mean()

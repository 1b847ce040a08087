# case: a bare one, and all exceptions
def train(loader, model, criterion, optimizer):
    for x, y in loader:
        try:
            criterion(model(x), y).backward()
            optimizer.step()
        except:  # finds warning
            print("failed")
    for x, y in loader:
        try:
            criterion(model(x), y).backward()
        except (Exception):  # finds warning
            continue
        optimizer.step()
# case: one error, or raised again
import torch

def train(loader, model, criterion):
    for x, y in loader:
        try:
            criterion(model(x), y).backward()
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
        try:
            criterion(model(x), y).backward()
        except Exception as error:
            if "out of memory" not in str(error):
                raise
# case: around the whole run, and around something else
def main(train, loader, model, criterion):
    try:
        for x, y in loader:
            criterion(model(x), y).backward()
    except Exception as error:
        print(error)
    for x, y in loader:
        try:
            log(x)
        except Exception:
            pass
# case: a loop that measures
def measure(loader, model):
    for x in loader:
        try:
            model(x).sum().backward()
        except Exception as error:
            print(error)

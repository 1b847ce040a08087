# case: imported
from torch.cuda.amp import GradScaler, autocast as ac  # finds note fix
scaler = GradScaler(init_scale=1024)

def step(model, x):
    with ac(True):
        return model(x)
# case: by the full path
import torch
scaler = torch.cuda.amp.GradScaler(enabled=True)  # finds note fix

def step(model, x):
    with torch.cuda.amp.autocast():  # finds note fix
        return model(x)
# case: handed on, so that calls are not all
from torch.cuda.amp import autocast  # finds note
contexts = {"amp": autocast}
# case: the module by a name
from torch.cuda import amp
scaler = amp.GradScaler()  # finds note
# case: the names that stay
import torch
from torch.amp import GradScaler
from torch.cuda import amp_is_no_such_name
with torch.autocast("cuda"), torch.amp.autocast("cuda"):
    pass
# case: where PyTorch is older
import torch
try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

def region(enabled):
    if hasattr(torch, "amp"):
        return torch.amp.autocast("cuda", enabled=enabled)
    else:
        return torch.cuda.amp.autocast(enabled)
scaler = torch.amp.GradScaler("cuda") if NEW else torch.cuda.amp.GradScaler()
# case: the name in torch itself, where PyTorch is older
import torch
try:
    from torch import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler
if OLD:
    scaler = torch.cuda.amp.GradScaler()
else:
    scaler = torch.GradScaler()

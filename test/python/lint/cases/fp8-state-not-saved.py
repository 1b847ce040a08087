# case: under a name
import torch
import transformer_engine.pytorch as te

def save(model, path):
    state = {k: v for k, v in model.state_dict().items() if not k.endswith("_extra_state")}  # finds warning
    torch.save(state, path)
# case: among others
import torch
import transformer_engine.pytorch as te
torch.save({"model": {k: v for k, v in net.state_dict().items() if "_extra_state" not in k},  # finds warning
            "step": step}, path)
# case: whole, and compared
import torch
import transformer_engine.pytorch as te
torch.save(model.state_dict(), path)
other = {k: v for k, v in model.state_dict().items() if "_extra_state" not in k}
check(other)
scales = {k: v for k, v in model.state_dict().items() if "_extra_state" in k}
torch.save(scales, "scales.pt")

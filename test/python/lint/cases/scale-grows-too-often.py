# case: every ten steps
import torch
from accelerate.utils import GradScalerKwargs
scaler = torch.amp.GradScaler("cuda", growth_interval=10)  # finds warning
other = torch.cuda.amp.GradScaler(2.0 ** 10, 2.0, 0.5, 50)  # finds warning
handler = GradScalerKwargs(growth_interval=20)  # finds warning
config = {
    "train_batch_size": 8,
    "fp16": {
        "enabled": True,
        "loss_scale_window": 10,  # finds warning
    },
}
# case: the default, some hundred, not known, not in use
import torch
scaler = torch.amp.GradScaler("cuda")
other = torch.amp.GradScaler("cuda", growth_interval=200)
third = torch.amp.GradScaler("cuda", growth_interval=args.interval)
last = torch.amp.GradScaler("cuda", growth_interval=10, enabled=False)
config = {"train_batch_size": 8, "fp16": {"enabled": False, "loss_scale_window": 10}}

# case: the second moment in BF16, with the default factor
import torch
from torchdistx.optimizers import AnyPrecisionAdamW
model = torch.nn.Linear(4, 4)
optimizer = AnyPrecisionAdamW(model.parameters(), lr=1e-4, momentum_dtype=torch.bfloat16, variance_dtype=torch.bfloat16)  # finds warning
# case: by an option, in a configuration
import torch
from megatron.core.optimizer import OptimizerConfig as Config
dtype = torch.bfloat16 if args.precision_aware else torch.float32
config = Config(lr=1e-4, adam_beta2=0.999, exp_avg_sq_dtype=dtype)  # finds warning
# case: FP16 that nothing scales
import torch
from optimizers import Lean
optimizer = Lean(torch.nn.Linear(4, 4).parameters(), variance_dtype="float16")  # finds warning
# case: a factor that BF16 sees
import torch
from torchdistx.optimizers import AnyPrecisionAdamW
optimizer = AnyPrecisionAdamW(torch.nn.Linear(4, 4).parameters(), betas=(0.9, 0.95), variance_dtype=torch.bfloat16)
# case: the first moment alone
import torch
from torchdistx.optimizers import AnyPrecisionAdamW
optimizer = AnyPrecisionAdamW(torch.nn.Linear(4, 4).parameters(), momentum_dtype=torch.bfloat16, variance_dtype=torch.float32)
# case: a library that scales what it keeps in FP16
import torch
from transformer_engine.pytorch.optimizers import FusedAdam
optimizer = FusedAdam(torch.nn.Linear(4, 4).parameters(), exp_avg_sq_dtype=torch.float16)
# case: a helper
import torch

class Test:
    def check(self):
        self.compare(param_dtype=torch.bfloat16, exp_avg_sq_dtype=torch.half)
# case: by hand, in a state that the optimizer keeps by name
import torch
class Own(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p, dtype=torch.bfloat16)
                    state["squares"] = torch.zeros_like(p, dtype=torch.bfloat16)
                    state["low"] = torch.zeros_like(p, dtype=torch.float16)
                    state["wide"] = torch.zeros_like(p)
                state["mean"].mul_(first).add_(p.grad, alpha=1 - first)
                state["squares"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)  # finds warning
                squares = state["squares"]
                squares.mul_(0.999).addcmul_(p.grad, p.grad, value=1 - 0.999)  # finds warning
                squares.mul_(0.9).addcmul_(p.grad, p.grad, value=0.1)
                squares.addcmul_(p.grad, p.data, value=0.1)
                state["low"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)  # finds warning
                state["wide"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)

# case: a cast without a scale
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel
model = DistributedDataParallel(net)
model.register_comm_hook(None, default_hooks.fp16_compress_hook)  # finds warning
other = DistributedDataParallel(net)
other.register_comm_hook(state=None, hook=bf16_compress_hook)  # finds note
model(x).sum().backward()
# case: a cast behind a scale
from torch.amp import GradScaler
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from torch.nn.parallel import DistributedDataParallel
scaler = GradScaler("cuda")
model = DistributedDataParallel(net)
model.register_comm_hook(None, default.fp16_compress_hook)
# case: PowerSGD
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_wrapper
state = powerSGD.PowerSGDState(process_group=None, matrix_approximation_rank=2, use_error_feedback=False)  # finds warning
model.register_comm_hook(state, powerSGD.powerSGD_hook)
fed = powerSGD.PowerSGDState(process_group=None, matrix_approximation_rank=2)
model.register_comm_hook(fed, fp16_compress_wrapper(powerSGD.powerSGD_hook))  # finds note
# case: hooks that lose nothing
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
model.register_comm_hook(None, default_hooks.allreduce_hook)
model.register_comm_hook(powerSGD_hook.PowerSGDState(None), powerSGD_hook.powerSGD_hook)
# case: a hook of one's own
def fp16_compress_hook(state, bucket):
    return bucket
model.register_comm_hook(None, fp16_compress_hook)
# case: a helper that prepares a model for a script that is not shown
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

def build(model):
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return model
# case: a scaler that another class holds
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

class Trainer:
    def build(self, model):
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)

    def step(self, x):
        self.inner.grad_scaler.scale(self.inner.model(x)).backward()

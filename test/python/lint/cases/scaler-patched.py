# case: the scaler of a library
def prepare(accelerator):
    unscale = accelerator.scaler._unscale_grads_

    def replacement(optimizer, inv_scale, found_inf, allow_fp16):
        return unscale(optimizer, inv_scale, found_inf, True)

    accelerator.scaler._unscale_grads_ = replacement  # finds warning
# case: by name
import torch
scaler = torch.amp.GradScaler("cuda")
setattr(scaler, "_maybe_opt_step", lambda optimizer, *a, **k: optimizer.step())  # finds warning
# case: a class of its own, and a look at the scaler's state
import torch

class Scaler(torch.amp.GradScaler):
    def _unscale_grads_(self, *arguments):
        return super()._unscale_grads_(*arguments)

scaler = Scaler("cuda")
state = scaler._per_optimizer_states

# case: the default
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.Adam(model.parameters())  # finds error
# case: given, and cast afterwards
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(params=model.parameters(), eps=1e-9)  # finds error
model.to(torch.float16)
# case: large enough
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.Adam(model.parameters(), eps=1e-4)
# case: BF16, and an optimizer without eps
import torch
first = torch.nn.Linear(4, 4).bfloat16()
second = torch.nn.Linear(4, 4).half()
optimizers = [torch.optim.Adam(first.parameters()), torch.optim.SGD(second.parameters(), lr=0.1)]
# case: Lightning's 16-true
import lightning as L
import torch
class Module(L.LightningModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)  # finds error
L.Trainer(precision="16-true").fit(Module())
# case: Lightning's 16-true and another eps, 16-mixed
import lightning as L
import torch
class Module(L.LightningModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3, eps=1e-4)
L.Trainer(precision="16-true").fit(Module())
# case: mixed precision keeps FP32 weights
import lightning as L
import torch
class Module(L.LightningModule):
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)
L.Trainer(precision="16-mixed").fit(Module())
# case: an engine with FP32 copies of the weights
import deepspeed
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.Adam(model.parameters())
engine, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer)

# case: clipped behind the engine's backward pass
import deepspeed
import torch
config = {"fp16": {"enabled": True}, "zero_optimization": {"stage": 2}}
engine, optimizer, _, _ = deepspeed.initialize(model=Net(), config=config)
for x, y in loader:
    loss = criterion(engine(x), y)
    engine.backward(loss)
    torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)  # finds warning
    engine.step()
# case: a configuration that is a file
import deepspeed
import torch
engine, optimizer, _, _ = deepspeed.initialize(model=model, config="ds.json")
for x, y in loader:
    engine.backward(criterion(engine(x), y))
    torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)  # finds note
    engine.step()
# case: backward of the loss
import deepspeed
config = {"fp16": {"enabled": True}, "zero_optimization": {"stage": 1}}
engine, _, _, _ = deepspeed.initialize(model=model, config=config)
for x, y in loader:
    loss = criterion(engine(x), y)
    loss.backward()  # finds warning
    engine.step()
# case: divided twice
import deepspeed
def train(model, loader):
    config = {"fp16": {"enabled": True}, "train_batch_size": 32, "gradient_accumulation_steps": 4}
    engine, _, _, _ = deepspeed.initialize(model=model, config=config)
    for x, y in loader:
        loss = criterion(engine(x), y)
        engine.backward(loss / 4)  # finds warning
        engine.step()
# case: by the engine
import deepspeed
config = {"fp16": {"enabled": True}, "gradient_clipping": 1.0, "train_batch_size": 8, "gradient_accumulation_steps": 4}
engine, _, _, _ = deepspeed.initialize(model=model, config=config)
for x, y in loader:
    engine.backward(criterion(engine(x), y))
    engine.step()
# case: BF16, where newer engines take the loss's own backward pass
import deepspeed
config = {"bf16": {"enabled": True}, "zero_optimization": {"stage": 1}}
engine, _, _, _ = deepspeed.initialize(model=model, config=config)
for x, y in loader:
    criterion(engine(x), y).backward()
    engine.step()
# case: Lightning, a hook before the scale is taken off
import lightning as L
import torch
class Module(L.LightningModule):
    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # finds warning
trainer = L.Trainer(precision="16-mixed")
# case: a callback that reads norms, the precision not shown
from lightning.pytorch import Callback
class Norms(Callback):
    def on_after_backward(self, trainer, module):
        for name, p in module.named_parameters():
            self.log(name, p.grad.norm())  # finds note
# case: behind unscaling
import lightning as L
import torch
class Module(L.LightningModule):
    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
trainer = L.Trainer(precision="16-mixed")
# case: never scaled
import lightning as L
import torch
class Module(L.LightningModule):
    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
trainer = L.Trainer(precision="bf16-mixed")
# case: a step by hand that passes by the trainer's scaler
import lightning as L
class Module(L.LightningModule):
    def training_step(self, batch, index):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = self.compute_loss(batch)
        loss.backward()  # finds warning fix
        optimizer.step()
trainer = L.Trainer(precision="16-mixed")
# case: a step by hand as Lightning has it
import lightning as L
class Module(L.LightningModule):
    def training_step(self, batch, index):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.compute_loss(batch))
        optimizer.step()
trainer = L.Trainer(precision="16-mixed")
# case: the module that the engine was made of
import deepspeed
import torch
def main(model):
    config = {"train_batch_size": 32, "fp16": {"enabled": True}, "zero_optimization": {"stage": 1}}
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for batch in loader:
        engine.backward(engine(batch))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds warning
        torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
        engine.step()
# case: Fabric's scale
import torch
from lightning.fabric import Fabric
fabric = Fabric(precision="16-mixed")
for x, y in loader:
    fabric.backward(criterion(model(x), y))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds warning
    optimizer.step()
# case: by Fabric, and without a scale
import torch
from lightning.fabric import Fabric
fabric = Fabric(precision="bf16-mixed")
for x, y in loader:
    fabric.backward(criterion(model(x), y))
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
# case: divided twice, by what the engine says
import deepspeed
def fit(model, data):
    config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "fp16": {"enabled": True}}
    engine, _, _, _ = deepspeed.initialize(model=model, config=config)
    for batch in data:
        loss = engine(**batch).loss / engine.gradient_accumulation_steps()
        engine.backward(loss)  # finds warning
        engine.step()

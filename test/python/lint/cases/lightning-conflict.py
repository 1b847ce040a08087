# case: on the CPU
import pytorch_lightning as pl
trainer = pl.Trainer(accelerator="cpu", precision="16-mixed")  # finds warning
# case: twice
from lightning.pytorch import Trainer
from lightning.pytorch.plugins import MixedPrecision
trainer = Trainer(precision="16-mixed", plugins=[MixedPrecision("16-mixed", "cuda")])  # finds warning
# case: a scaler of its own
import torch
import lightning as L
trainer = L.Trainer(precision="16-mixed")
scaler = torch.amp.GradScaler("cuda")  # finds warning
# case: as it should be
import lightning as L
trainer = L.Trainer(precision="bf16-mixed", accelerator="cpu", plugins=[])
other = L.Trainer(precision="16-mixed", accelerator="gpu")
# case: by Fabric's precision
import torch
from lightning.fabric import Fabric
fabric = Fabric(precision="16-mixed")
scaler = torch.amp.GradScaler("cuda")  # finds warning
# case: weights in FP16
import pytorch_lightning as pl
from models import Net
model = Net()
model.half()  # finds warning
trainer = pl.Trainer(max_epochs=3, precision=16)
trainer.fit(model=model, train_dataloaders=loader)
# case: weights in FP16 behind the training
import pytorch_lightning as pl
from models import Net
model = Net()
trainer = pl.Trainer(max_epochs=3, precision=16)
trainer.fit(model, loader)
model.half()
# case: weights in FP32 again
import pytorch_lightning as pl
from models import Net
model = Net().half()
model.float()
trainer = pl.Trainer(max_epochs=3, precision="16-mixed")
trainer.fit(model, loader)

# case: cast, then given to an optimizer
import torch
model = torch.nn.Linear(4, 4).cuda()
model.half()  # finds error
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# case: cast after the optimizer was made, behind a wrapper
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args):
    model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    optimizer = torch.optim.AdamW(model.parameters())
    model.to(torch.bfloat16)  # finds warning
# case: a model that a function of the file makes
import torch as th

def build():
    net = th.nn.Linear(4, 4)
    return net.to(dtype=th.float16)  # finds error

def run():
    net = build()
    opt = th.optim.Adam([{"params": net.parameters(), "lr": 1e-3}], eps=1e-4)
# case: weights that are loaded in 16 bits
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.float16)  # finds error
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
# case: a class whose methods share the model
import torch

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 4)
        self.model = self.model.half()  # finds error
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
# case: inference alone
import torch
model = torch.nn.Linear(4, 4).half().eval()
with torch.no_grad():
    model(torch.zeros(4).half())
# case: a frozen model beside the one that is trained
import torch
teacher = torch.nn.Linear(4, 4).half()
student = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
# case: FP32 copies of the weights
import torch
from apex.fp16_utils import FP16_Optimizer
model = torch.nn.Linear(4, 4).half()
optimizer = FP16_Optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
# case: cast back before the training
import torch
model = torch.nn.Linear(4, 4)
model.half()
model.float()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
# case: classes of other files, by every form of cast
import torch
from rig import Net, make_net
first = Net().to(torch.bfloat16)  # finds warning
second = Net().half()  # finds error
third = make_net(3).to(device="cuda", dtype=torch.half)  # finds error
optimizers = [torch.optim.AdamW(net.parameters(), lr=1e-4) for net in (first,)]
torch.optim.AdamW(first.parameters()), torch.optim.SGD(second.parameters()), torch.optim.SGD(third.parameters())
# case: parameters one by one
import torch
model = torch.nn.Linear(4, 4)
for name, p in model.named_parameters():
    p.data = p.data.to(torch.bfloat16)  # finds warning
optimizer = torch.optim.AdamW(model.parameters())
# case: parameters one by one, and those that are trained back again
import torch
model = torch.nn.Linear(4, 4)
model.to(torch.float16)
for p in model.parameters():
    if p.requires_grad:
        p.data = p.data.float()
optimizer = torch.optim.AdamW(model.parameters())
# case: dtypes as strings and as arguments
import torch
from torch import nn
from transformers import AutoModel
from own.models import Diffuser
layer = nn.Linear(4, 4, dtype=torch.bfloat16)  # finds warning
model = AutoModel.from_pretrained("x", dtype="bfloat16")  # finds warning
other = Diffuser.from_pretrained("y", torch_dtype="float16")  # finds error
for each in (layer, model, other):
    pass
optimizer = torch.optim.AdamW([{"params": layer.parameters()}, {"params": model.parameters()}, {"params": other.parameters()}])
# case: a dtype by a condition, an expression and a table
import torch
from torch import nn

def main(accelerator, args):
    weight_dtype = torch.float32
    if accelerator.mixed_precision == "fp16":
        weight_dtype = torch.float16
    elif accelerator.mixed_precision == "bf16":
        weight_dtype = torch.bfloat16
    unet, vae = nn.Linear(4, 4), nn.Linear(4, 4)
    unet.to(accelerator.device, dtype=weight_dtype)  # finds error
    vae.to(accelerator.device, dtype=weight_dtype)
    optimizer = torch.optim.AdamW(unet.parameters())
    net = nn.Linear(4, 4)
    net.to(torch.bfloat16 if args.bf16 else torch.float32)  # finds warning
    kind = {"bf16": torch.bfloat16, "fp32": torch.float32}[args.dtype]
    head = nn.Linear(4, 4).to(kind)  # finds warning
    chosen = torch.optim.AdamW if args.plain else bnb.optim.AdamW8bit
    optimizers = torch.optim.SGD(net.parameters()), chosen(head.parameters())
# case: a pipeline for validation that holds the trained model
import torch
from library import Pipeline, UNet, ModelEMA

def validate(pipeline, device, dtype):
    pipeline = pipeline.to(device, dtype=dtype)  # finds error
    return pipeline(1)

def unwrap(model):
    return model._orig_mod if is_compiled(model) else model

def main(dtype=torch.float16):
    unet = UNet(1)
    optimizer = torch.optim.AdamW(unet.parameters())
    ema = ModelEMA(unet)
    for step, x in enumerate(loader):
        unet(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            validate(Pipeline(unet=unwrap(unet)), "cuda", dtype)
            ema.to("cuda", dtype=dtype)
main()
# case: a pipeline of a copy, of frozen modules, or behind the training
import copy
import torch
from library import Pipeline, UNet

unet, vae = UNet(1), UNet(2)
vae.half()
optimizer = torch.optim.AdamW(unet.parameters())
for step, x in enumerate(loader):
    unet(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 100 == 0:
        Pipeline(copy.deepcopy(unet), vae).to("cuda", dtype=torch.float16)
    if step == 1000:
        unet.half()
        torch.save(unet.state_dict(), "last.pt")
        break
Pipeline(unet, vae).to("cuda", torch.float16)
# case: adapters of a frozen model, which a validation casts with it
import torch
from peft import LoraConfig
from library import Pipeline, UNet, cast_training_params

unet = UNet(1)
unet.requires_grad_(False)
unet.to("cuda", dtype=torch.float16)
unet.add_adapter(LoraConfig(4))
cast_training_params(unet, dtype=torch.float32)
trained = list(filter(lambda p: p.requires_grad, unet.parameters()))
optimizer = torch.optim.AdamW([{"params": trained, "lr": 1e-4}])
for x in loader:
    unet(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    Pipeline(unet).to("cuda", dtype=torch.float16)  # finds error
# case: cast for a validation and back, which leaves the weights rounded
import copy
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
for x in loader:
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    model.half()  # finds warning
    model(x.half())
    model.float()
    other = copy.deepcopy(model).half()
    other(x.half())
# case: the same of models that a loop makes one by one
import torch
for size in (4, 8):
    model = torch.nn.Linear(size, size)
    optimizer = torch.optim.AdamW(model.parameters())
    model(x).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    model.half()
    model(x.half())
    model.float()
# case: steps by hand
import torch
low, wide = torch.nn.Linear(4, 4).to(torch.bfloat16), torch.nn.Linear(4, 4)
for x in loader:
    (low(x.bfloat16()).float() - wide(x)).square().mean().backward()
    with torch.no_grad():
        for p, q in zip(low.parameters(), wide.parameters()):
            p -= 1e-4 * p.grad  # finds warning
            p.add_(p.grad, alpha=-1e-4)  # finds warning
            p.data = p.data - 1e-4 * p.grad  # finds warning
            q -= 1e-4 * q.grad
            p.mul_(0.999)
# case: cast in a branch that leaves before the training
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
def main():
    if args.test:
        model.half()
        return model(x)
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
main()
# case: cast where the adapters are trained, which are another module
import torch
from library import Pipeline, Layers
pipeline = Pipeline.from_pretrained("x")
dtype = torch.float16 if args.fp16 else torch.float32
if args.lora:
    pipeline.unet.to("cuda", dtype=dtype)
    trained = Layers(pipeline.unet)
else:
    trained = pipeline.unet
optimizer = torch.optim.AdamW(trained.parameters())
# case: the same network is cast in any case
import torch
from library import Pipeline, Layers
pipeline = Pipeline.from_pretrained("x")
dtype = torch.float16 if args.fp16 else torch.float32
pipeline.unet.to("cuda", dtype=dtype)  # finds error
if args.lora:
    trained = Layers(pipeline.unet)
else:
    trained = pipeline.unet
optimizer = torch.optim.AdamW(trained.parameters())
# case: training by a function of another file, and a cast behind it
import torch
from engine import train
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(model.parameters())
train(model, optimizer)
model.half()
torch.save(model, "x.pt")
# case: FP16 copies of the weights for inference in another method
import torch

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def export(self):
        self.model.half()

    def fit(self):
        for x in self.loader:
            self.model(x).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
# case: a dtype by an option of the script
import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--weight-dtype", choices=["float32", "bfloat16"], default="float32")
parser.add_argument("-d", "--dtype", default="float16", help="of the head")
args = parser.parse_args()

def main(args):
    model, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    model.to(getattr(torch, args.weight_dtype))  # finds warning
    head.to(dtype=getattr(torch, args.dtype))  # finds error
    torch.optim.SGD(model.parameters(), lr=1), torch.optim.SGD(head.parameters(), lr=1)

main(args)
# case: an optimizer that a table or a name chooses
import torch
first, second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
first.half()  # finds error
second.half()  # finds error
kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
one = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[args.kind](first.parameters(), lr=0.1)
other = getattr(torch.optim, args.kind)(second.parameters(), lr=0.1)
# case: Lightning's true precisions
import lightning as L
trainer = L.Trainer(precision="16-true")  # finds error
trainer.fit(module)
other = L.Trainer(precision="bf16-true")  # finds warning
other.fit(module)
# case: Lightning's true precision, where nothing is trained, and mixed precision
import lightning as L
trainer = L.Trainer(precision="16-true")
trainer.test(module)
other = L.Trainer(precision="16-mixed")
other.fit(module)
# case: the field of a dataclass
import torch
from nets import Net
from dataclasses import dataclass, field
from typing import Literal
@dataclass
class Options:
    dtype: Literal["float32", "bfloat16"] = "float32"
    kept: str = field(default="float16")
    third: torch.dtype = torch.bfloat16
def main(args: Options):
    model = Net()
    model.to(getattr(torch, args.dtype))  # finds warning
    other = Net().to(dtype=getattr(torch, args.kept))  # finds error
    last = Net().to(Options().third)  # finds warning
    torch.optim.AdamW(model.parameters())
    torch.optim.AdamW(other.parameters())
    torch.optim.AdamW(last.parameters())
# case: fields that name FP32, and fields of no dataclass
import torch
from nets import Net
from dataclasses import dataclass
@dataclass
class Options:
    dtype: str = "float32"
class Other:
    kind: str = "float16"
def main(args):
    model = Net()
    model.to(getattr(torch, args.dtype))
    other = Net().to(getattr(torch, args.kind))
    torch.optim.AdamW(model.parameters())
    torch.optim.AdamW(other.parameters())
# case: options of click
import click
import torch
from nets import Net
@click.command()
@click.option("--dtype", type=click.Choice(["float16", "float32"]), default="float32")
def main(dtype):
    model = Net().to(getattr(torch, dtype))  # finds error
    torch.optim.AdamW(model.parameters())
# case: OmegaConf
import torch
from nets import Net
from omegaconf import OmegaConf
cfg = OmegaConf.create({"model": {"dtype": "bfloat16"}})
model = Net().to(getattr(torch, cfg.model.dtype))  # finds warning
torch.optim.AdamW(model.parameters())
# case: an imported class, moved and cast
import torch
from models import ResNet
net = ResNet().cuda().half()  # finds error
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
# case: an object of a class of the file whose base is imported
import torch
from nets import Transformer
class Flow(Transformer):
    pass
flow = Flow(2).train()
flow.requires_grad_(True)
flow.to(torch.float16)  # finds error
optimizer = torch.optim.SGD(flow.parameters(), lr=0.1)
# case: an option chooses the precision of the trainer
import argparse
import lightning.pytorch as pl
parser = argparse.ArgumentParser()
parser.add_argument("--precision", default="bf16-true")
args = parser.parse_args()
trainer = pl.Trainer(max_epochs=1, precision=args.precision)  # finds warning
trainer.fit(model, data)
# case: an option without such a choice
import argparse
import lightning.pytorch as pl
parser = argparse.ArgumentParser()
parser.add_argument("--precision", default="bf16-mixed", choices=["32-true", "bf16-mixed", "16-mixed"])
args = parser.parse_args()
trainer = pl.Trainer(max_epochs=1, precision=args.precision)
trainer.fit(model, data)
# case: a step that changes nothing
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for x in loader:
    model(x).sum().backward()
    optimizer.step()
# case: a learning rate that is set later
import torch
model = torch.nn.Linear(4, 4).half()  # finds error
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for step, x in enumerate(loader):
    for group in optimizer.param_groups:
        group["lr"] = 0.1 * step
    model(x).sum().backward()
    optimizer.step()
# case: a dtype that the arguments of a call choose
import torch
def choose(fp16, bf16):
    if fp16:
        return torch.float16
    elif bf16:
        return torch.bfloat16
    return torch.float32
model = torch.nn.Linear(4, 4).to(choose(False, True))  # finds warning
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).sum().backward()
    optimizer.step()
# case: an optimizer that keeps FP32 copies of its groups
import torch
from fused import FusedLAMBAMP
model = torch.nn.Linear(4, 4)
model.half()
optimizer = torch.optim.AdamW(model.parameters())
for group, master in zip(optimizer.param_groups, optimizer.param_groups_fp32):
    compare(group, master)
# case: groups of parameters in lists that are added and filtered
import torch
def group(net, head):
    low = [{"params": p, "lr": 1e-5} for n, p in net.named_parameters() if "norm" in n]
    chosen = low + others(head)
    return [each for each in chosen if each["lr"]]
net, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
optimizer = torch.optim.AdamW(group(net, head))
net.to(torch.bfloat16)  # finds warning
net(x).mean().backward()
optimizer.step()
# case: lists of parameters of two modules
import torch
net, head = torch.nn.Linear(4, 4).to(torch.bfloat16), torch.nn.Linear(4, 4).bfloat16()  # finds warning
optimizer = torch.optim.AdamW(list(net.parameters()) + list(head.parameters()))
head(net(x)).mean().backward()
optimizer.step()
# case: a dtype of the copies that are not trained
import torch
from transformers import AutoModelForCausalLM

def build(path, is_actor):
    dtype = torch.float32 if is_actor else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=dtype)
    model.to(dtype)
    optimizer = None
    if is_actor:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    return model, optimizer
# case: a dtype of the copies that are trained
import torch
from transformers import AutoModelForCausalLM

def build(path, is_actor):
    dtype = torch.bfloat16 if is_actor else torch.float32
    model = AutoModelForCausalLM.from_pretrained(path, torch_dtype=dtype)  # finds warning
    optimizer = None
    if is_actor:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    return model, optimizer

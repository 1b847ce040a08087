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

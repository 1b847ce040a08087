# case: a tensor is cast inside
import torch

def step(model, x):
    with torch.autocast("cuda", dtype=torch.float16):
        return model(x.half())  # finds note
# case: under an alias, to another type than the region's
import torch
from torch.cuda.amp import autocast as mixed  # noqa: MP763

def step(model, x, y):
    with mixed(dtype=torch.bfloat16):
        out = model(x)
        return out.to(torch.float16) + y  # finds warning
# case: in a function that is called from inside
import torch

def prepare(x):
    return x.type(torch.float16)  # finds note

def step(model, x):
    with torch.autocast("cuda"):
        return model(prepare(x))
# case: outside
import torch

def step(model, x):
    x = x.half()
    with torch.autocast("cuda"):
        return model(x)
# case: where autocast is off
import torch

def step(model, x):
    with torch.autocast("cuda"):
        with torch.autocast("cuda", enabled=False):
            return model(x.half())
# case: to FP32, and to another tensor's type
import torch

def step(model, x, y):
    with torch.autocast("cuda"):
        return model(x.float()) + x.to(y.dtype)
# case: a module in another type
import torch
model = torch.nn.Linear(4, 4).to(torch.bfloat16)
with torch.autocast("cuda", dtype=torch.float16):
    out = model(x)  # finds warning
with torch.autocast("cuda", dtype=torch.bfloat16):
    out = model(x)
# case: inference
import torch
with torch.inference_mode(), torch.autocast("cuda"):
    embeddings = torch.cat([a, b]).to(dtype=torch.float16)
with torch.autocast("cuda"):
    embeddings = torch.cat([a, b]).to(dtype=torch.float16)  # finds note
# case: a cast that a question about the type decides
import torch
class Backend(torch.nn.Module):
    def forward(self, image):
        if self.fp16 and image.dtype != torch.float16:
            image = image.half()
        return self.model(image)
with torch.autocast("cuda"):
    Backend()(torch.zeros(4)).sum().backward()
# case: the type of another tensor
import torch
model = torch.nn.Linear(4, 4)
with torch.autocast("cuda", dtype=torch.float16):
    out = model(x)
    scale = (weight * 2.0).float().to(out.dtype)
loss = (out * scale).float().sum()
loss.backward()
# case: a test
import torch
def test_norm():
    x = torch.rand(4)
    with torch.autocast("cuda"):
        assert norm(x.half()).dtype == torch.float16
# case: where the script asks whether it computes in 16 bits
import torch

def mix(self, mlp, x, amp):
    with torch.autocast("cuda"):
        y = torch.relu(mlp @ x)
        if self._fp16:
            y = y.half()
        if amp:
            x = torch.relu(x).half()
        return y, torch.relu(x).half()  # finds note
# case: what a region in FP32 computed, and the inputs of a model in 16 bits
import torch
from transformers import AutoModel

@torch.autocast("cuda", dtype=torch.float32)
def shift(norm, x, scale):
    return (norm(x) * (scale + 1.0)).to(torch.bfloat16)

low = AutoModel.from_pretrained("x", torch_dtype=torch.bfloat16)
wide = AutoModel.from_pretrained("x")
for batch in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        a = low(pixels=batch["pixels"].to(torch.bfloat16).to("cuda"))
        b = wide(pixels=torch.relu(batch["pixels"]).to(torch.bfloat16))  # finds note
# case: an operand of an op that autocast keeps in FP32
import torch

def attend(x, y):
    with torch.autocast("cuda", dtype=torch.float16):
        return torch.softmax((x * y).half(), -1)  # finds warning
# case: an operand that a kernel asks for
import torch

class Attention(torch.nn.Module):
    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=1)
        qkv = torch.cat([q, k, v], dim=1)
        before = qkv.dtype
        out, _ = self.flash_attn(qkv.reshape(2, -1, 3).half().contiguous())  # finds note
        return self.proj(out.to(before))

net = Attention()
for x in batches:
    with torch.autocast("cuda"):
        loss = net(x).sum()
    loss.backward()

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

# case: a module of Apex
from apex import amp
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")  # finds note
with amp.scale_loss(loss, optimizer) as scaled:  # finds note
    scaled.backward()
# case: PyTorch's
from torch.cuda import amp
scaler = amp.GradScaler()

# case: a generator under no_grad
import torch
from models import make_generator, make_discriminator
G, D = make_generator().cuda(), make_discriminator().cuda()
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
scaler = torch.amp.GradScaler("cuda")
for real in loader:
    with torch.amp.autocast("cuda"):
        with torch.no_grad():
            fake = G(torch.randn(8, 64).cuda())
        d_loss = torch.relu(1 - D(real)).mean() + torch.relu(1 + D(fake)).mean()
    opt_d.zero_grad()
    scaler.scale(d_loss).backward()
    scaler.step(opt_d)
    with torch.amp.autocast("cuda"):
        g_loss = -D(fake).mean()
    opt_g.zero_grad()
    scaler.scale(g_loss).backward()
    scaler.step(opt_g)  # finds error
    scaler.update()
# case: it runs with gradients, too, or by something else
import torch
from models import Net, Trainer
policy, model, parts = Net(), Net(), Net()
first, second, third = (torch.optim.Adam(policy.parameters()), torch.optim.Adam(model.parameters()),
                        torch.optim.Adam(parts.parameters()))
for x in loader:
    with torch.no_grad():
        before, validation, other = policy(x), model(x), parts(x)
    (policy(x) - before).mean().backward()
    first.step()
    loss_of(model, x).backward()
    second.step()
    parts.encoder(x).mean().backward()
    third.step()

# case: on one path
def step(args, model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if args.clip:
        scaler.unscale_(optimizer)  # finds error
    scaler.step(optimizer)
    scaler.update()
# case: two optimizers
def step(first, second, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(first)
    scaler.unscale_(second)
    scaler.step(first)
    scaler.step(second)
    scaler.update()
# case: two branches, and two steps
def step(args, optimizer, scaler, loss, other):
    scaler.scale(loss).backward()
    if args.clip:
        scaler.unscale_(optimizer)
    if not args.clip:
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    scaler.scale(other).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
# case: the scaler is asked before
def clip(self):
    self.scaler.unscale_(self.optimizer)
    if self.scaler._per_optimizer_states[id(self.optimizer)]["stage"] is not OptState.UNSCALED:
        self.scaler.unscale_(self.optimizer)
# case: in each pass, and update in every nth
def train(model, optimizer, scaler, loader, n):
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        scaler.unscale_(optimizer)  # finds error
        if (i + 1) % n == 0:
            scaler.step(optimizer)
            scaler.update()
# case: where the step is
def train(model, optimizer, scaler, loader, n):
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        if (i + 1) % n == 0:
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
# case: update under a name for every nth pass
def train(model, optimizer, scaler, loader, n):
    for i, x in enumerate(loader):
        scaler.scale(model(x).mean() / n).backward()
        scaler.unscale_(optimizer)  # finds error
        ready = (i + 1) % n == 0
        if ready:
            scaler.step(optimizer)
            scaler.update()

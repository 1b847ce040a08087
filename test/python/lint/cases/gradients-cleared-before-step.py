# case: between
def step(optimizer, loss):
    loss.backward()
    optimizer.zero_grad()  # finds error
    optimizer.step()
# case: with a scaler
def step(optimizer, scaler, loss):
    scaler.scale(loss).backward()
    optimizer.zero_grad(set_to_none=True)  # finds error
    scaler.step(optimizer)
    scaler.update()
# case: before and behind
def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
# case: two networks
def step(first, second, model, x):
    fake = model(x)
    fake.mean().backward()
    first.step()
    second.zero_grad()
    model(fake).mean().backward()
    second.step()
# case: the backward pass is not shown
def step(self, first, second, x):
    self.compute(x).backward()
    first.step()
    second.zero_grad()
    self.backward_second(x)
    second.step()

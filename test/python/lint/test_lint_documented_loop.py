"""A training loop with accumulation, a mask, an auxiliary loss and a schedule, as tutorials have it, and its faults."""

from __future__ import annotations

import pytest
from mpopt.lint import linter

HEAD = """\
import torch
from torch import nn
%s
scaler = torch.amp.GradScaler("cuda")
model = MiniMindLM(config).to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)

for epoch in range(args.epochs):
    for step, (X, Y, loss_mask) in enumerate(train_loader):
        X = X.to(args.device)
        Y = Y.to(args.device)
        loss_mask = loss_mask.to(args.device)
        lr = get_lr(epoch * iter_per_epoch + step, args.epochs * iter_per_epoch, args.learning_rate)
        for param_group in optimizer.param_groups:
            param_group['lr'] = lr
"""
OWN, IMPORTED = 'loss_fct = nn.CrossEntropyLoss(reduction="none")', "from losses import loss_fct"
FORWARD = """\
        with torch.amp.autocast("cuda"):
            res = model(X)
"""
LOSS = """\
            loss = loss_fct(res.logits.view(-1, res.logits.size(-1)), Y.view(-1)).view(Y.size())
            loss = (loss * loss_mask).sum() / loss_mask.sum()
            loss += res.aux_loss
            loss = loss / args.accumulation_steps
"""
STEP = """\
        scaler.scale(loss).backward()
        if (step + 1) % args.accumulation_steps == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
"""
LOOP = HEAD % OWN + FORWARD + LOSS + STEP


def find(text):
    return {finding.rule: text.splitlines()[finding.line - 1].strip() for finding in linter.lint_text(text)
            if finding.severity != "note"}


@pytest.mark.parametrize("head", [OWN, IMPORTED])
def test_the_loop_is_right(head):
    assert find(HEAD % head + FORWARD + LOSS + STEP) == {}


@pytest.mark.parametrize("old, new, rule, line", [
    ("            optimizer.zero_grad(set_to_none=True)\n", "", "MP732", "scaler.step(optimizer)"),
    ("            loss = loss / args.accumulation_steps\n", "", "MP727", "scaler.scale(loss).backward()"),
    ("scaler.step(optimizer)", "optimizer.step()", "MP724", "optimizer.step()"),
    ("/ loss_mask.sum()", "/ Y.numel()", "MP754", "loss = (loss * loss_mask).sum() / Y.numel()"),
    ("            scaler.unscale_(optimizer)\n", "", "MP721",
     "torch.nn.utils.clip_grad_norm_(model.parameters(), args.grad_clip)"),
    ('GradScaler("cuda")', 'GradScaler("cuda", growth_interval=10)', "MP739",
     'scaler = torch.amp.GradScaler("cuda", growth_interval=10)'),
    ("        scaler.scale(loss)", "        if torch.isnan(loss):\n            continue\n        scaler.scale(loss)", "MP752",
     "if torch.isnan(loss):")])
def test_each_fault_is_found(old, new, rule, line):
    text = LOOP.replace(old, new)
    assert text != LOOP and find(text) == {rule: line}


@pytest.mark.parametrize("head, severity", [(OWN, "warning"), (IMPORTED, "note")])
def test_a_loss_outside_of_the_region(head, severity):
    """What an imported loss does with 16-bit values is not known."""
    outside = LOSS.replace("\n            ", "\n        ").replace("            loss = loss_fct", "        loss = loss_fct", 1)
    found = linter.lint_text(HEAD % head + FORWARD.replace("model(X)", "nn.Linear(4, 4)(X)") + outside + STEP)
    told = {("MP703", "error"), ("MP757", "note")}
    assert {(finding.rule, finding.severity) for finding in found} - told == {("MP711", severity)}


def test_rows_of_a_pass_divide_no_loss():
    """An integer quotient is that of sizes."""
    text = LOOP.replace("            loss = loss / args.accumulation_steps\n", "")
    rows = "rows = args.batch_size // args.accumulation_steps\n"
    assert find(text.replace("scaler = ", rows + "scaler = ", 1)) == {"MP727": "scaler.scale(loss).backward()"}
    assert find(LOOP.replace("scaler = ", rows + "scaler = ", 1)) == {}


@pytest.mark.parametrize("enters, found", [("return self", {"MP711"}), ("self.region.__enter__()", set())])
def test_a_context_of_the_file_around_the_loop(enters, found):
    """A log is no region."""
    log = f"class Log:\n    def __enter__(self):\n        {enters}\n    def __exit__(self, *_):\n        pass\n"
    outside = LOSS.replace("\n            ", "\n        ").replace("            loss = loss_fct", "        loss = loss_fct", 1)
    head, loop = (HEAD % OWN).split("for epoch", 1)
    body = "for epoch" + loop + FORWARD + outside + STEP
    text = head + log + "with Log() as log:\n" + "".join(f"    {line}\n" for line in body.splitlines())
    assert set(find(text)) == found

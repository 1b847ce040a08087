"""Faults to plant in the example, each with its mend.

A fault is a change of a few words in copies of the example's files. Which commands have to name
it, by which rule and where, is in `predicted` and `seen`; none of them may after the mend."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from steps import ADAM, TRAININGS, Training

BY_LINT = "mpopt lint --fix"


@dataclasses.dataclass(frozen=True)
class Edit:
    """`old`, which the file holds once, becomes `new`."""

    file: str
    old: str
    new: str

    def apply(self, folder: Path) -> None:
        path = folder / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} holds {text.count(self.old)} times: {self.old!r}")
        path.write_text(text.replace(self.old, self.new))


@dataclasses.dataclass(frozen=True)
class Told:
    """A command names the fault.

    by     `lint`, `check`, `monitor` or `confirm`
    where  regular expression on the place: the line of code (lint), the op and its tensor
           (check, confirm), the layer or, of a whole step, the message (monitor)
    step   of the monitor and of confirm: the last one at which that may be"""

    by: str
    rule: str
    where: str
    step: int | None = None

    def is_about(self, place: str) -> bool:
        return re.search(self.where, place) is not None


@dataclasses.dataclass(frozen=True)
class Fault:
    """`planted` is what goes wrong; the mend is to leave it out, and to do `mend` in its place,
    or what a command does. `around` stays; `mended` is the training after the mend, where that
    is another. `steps` of `batch` rows are trained with the monitor; with probes `probed`, or
    none."""

    name: str
    title: str
    training: Training
    planted: tuple[Edit, ...]
    predicted: tuple[Told, ...]
    seen: tuple[Told, ...]
    steps: int
    probed: int = 0
    batch: int = 2
    around: tuple[Edit, ...] = ()
    mend: tuple[Edit, ...] | str = ()
    mended: Training | None = None
    #: Of the training with the fault beside the mended one (docs/monitor.md).
    type: int = 2


def with_options(name: str, *changes: tuple[str, str]) -> Training:
    """A training whose options of mpopt are changed."""
    training, options = TRAININGS[name], " ".join(TRAININGS[name].options)
    for old, new in changes:
        if old not in options:
            raise ValueError(f"{name} has no option {old}")
        options = options.replace(old, new)
    return dataclasses.replace(training, options=tuple(options.split()))


_CLIP = Edit("train_fp16_autocast.py", "            scaler.unscale_(optimizer)\n", "")

_NO_SCALER = tuple(Edit("train_fp16_autocast.py", *words) for words in (
    (", with a loss scaler", ""),
    ('    scaler = torch.amp.GradScaler("cpu")\n', ""),
    ("optimizer, scaler)", "optimizer)"),
    ("scaler.scale(loss).backward()", "loss.backward()"),
    ("            scaler.unscale_(optimizer)\n", ""),
    ("scaler.step(optimizer)", "optimizer.step()"),
    ("            scaler.update()\n", ""),
))
_LOSS = """        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), \
ignore_index=IGNORE)
"""
#: The mean over the tokens of all passes of a step, half a million of them.
_SMALL_LOSS = Edit("model.py", _LOSS, """        total = F.cross_entropy(logits.float()\
.flatten(0, 1), labels.flatten(),
                                ignore_index=IGNORE, reduction="sum")
        return total / 2**19
""")
_HIGH = Edit("train_fp16.py", "SCALE = 1024.0", "SCALE = 2.0**24")
_EPSILON = Edit("train_fp16.py", ", eps=1e-4", "")
_MASK = Edit("model.py", "scores = scores.masked_fill(mask, MASKED)",
             "scores = scores + mask.type_as(scores) * -1e9")
_PENALTY = Edit("model.py", _LOSS, f"""{_LOSS.replace("return", "loss =", 1)}\
        return loss + 1e-7 * logits.square().sum()
""")
_NORM = Edit("model.py", """\
        wide = x.float()
        mean = wide.square().mean(-1, keepdim=True)
        return (wide * torch.rsqrt(mean + self.eps)).type_as(x) * self.weight
""", """\
        mean = x.square().mean(-1, keepdim=True)
        return x / torch.sqrt(mean + self.eps) * self.weight
""")
#: One value of 400 at the first token, as trained models of this kind have them, and a last
#: norm that leaves it out.
_MASSIVE = Edit("model.py", "            self.embed.weight[PAD] = 0\n", """\
            self.embed.weight[PAD] = 0
            self.embed.weight[1, 0] = 400
            self.norm.weight[0] = 0
""")
_FINE_TUNING = ADAM.replace("1e-3", "2e-5")
_SLOW = Edit("train_bf16.py", "lr=1e-3", "lr=2e-5")

_LOOP = "train_documented.py"
_KEPT = Edit(_LOOP, "                optimizer.zero_grad(set_to_none=True)\n", "")
_UNDIVIDED = Edit(_LOOP, "                loss = loss / ACCUMULATION_STEPS\n", "")
_PAST_SCALER = Edit(_LOOP, "scaler.step(optimizer)", "optimizer.step()")
#: A start of the loss scale at which gradients overflow, as they do sooner or later at any.
_HIGH_START = Edit(_LOOP, 'GradScaler("cpu")', 'GradScaler("cpu", init_scale=2.0**24)')
#: In step 2, the second of the passes.
_EMPTY = Edit("text.py", """\
    for tokens, labels in batches(folder, passes, size):
        loss_mask = (labels != IGNORE).float()
""", """\
    for number, (tokens, labels) in enumerate(batches(folder, passes, size)):
        loss_mask = (labels != IGNORE).float() * (number != 9)
""")
_CLAMP = Edit(_LOOP, "/ loss_mask.sum()", "/ loss_mask.sum().clamp(min=1)")
_DIVISOR = Edit(_LOOP, "/ loss_mask.sum()", "/ Y.numel()")
_MASKED_LOSS = """\
loss = loss_fct(res.logits.view(-1, res.logits.size(-1)), Y.view(-1)).view(Y.size())
                loss = (loss * loss_mask).sum() / loss_mask.sum()
                loss += res.aux_loss
                loss = loss / ACCUMULATION_STEPS
"""
_OUTSIDE = (
    Edit(_LOOP, f"                {_MASKED_LOSS}", f"            {_MASKED_LOSS.replace(' ' * 16, ' ' * 12)}"),
    Edit(_LOOP, "from torch import nn\n", ""),
    Edit(_LOOP, '    loss_fct = nn.CrossEntropyLoss(reduction="none")\n', ""),
    Edit(_LOOP, "import MiniMindLM", "import MiniMindLM, loss_fct"),
    Edit("model.py", "\n\nclass MiniMind(", '''

loss_fct = nn.CrossEntropyLoss(reduction="none")


class MiniMind('''),
)

FAULTS = (
    Fault("clip", "gradients are clipped before they are unscaled",
          TRAININGS["fp16_autocast"], (_CLIP,), mend=BY_LINT,
          predicted=(Told("lint", "MP721", r"clip_grad_norm_"),),
          seen=(Told("monitor", "MP411", "", 0),), steps=26),
    Fault("no-scaler", "FP16 autocast without a scaler, a loss divided by 2^19 tokens",
          with_options("fp16_autocast", ("--scaler=dynamic", "--scaler=none")),
          _NO_SCALER, around=(_SMALL_LOSS,),
          mended=TRAININGS["fp16_autocast"],
          predicted=(Told("lint", "MP729", r"autocast\("),
                     Told("check", "MP401", r"attention\.(query|key)"),
                     Told("check", "MP411", "")),
          seen=(Told("monitor", "MP503", r"mlp\.(gate|up|down)", 28),
                Told("monitor", "MP508", r"attention\.(query|key)|mlp_norm", 28),
                Told("confirm", "MP401", r"attention\.(query|key)", 0)), steps=29, probed=2),
    Fault("scale", "a fixed loss scale of 2^24",
          with_options("fp16", ("--scaler=1024", "--scaler=16777216")),
          (_HIGH,), mend=(Edit("train_fp16.py", "SCALE = 1024.0", "SCALE = 2.0**16"),),
          mended=with_options("fp16", ("--scaler=1024", "--scaler=65536")),
          predicted=(Told("check", "MP402", ""),),
          seen=(Told("monitor", "MP507", "", 21), Told("confirm", "MP402", "", 0)),
          steps=24, probed=1),
    Fault("epsilon", "Adam's eps of 1e-8 in FP16", with_options("fp16", (",eps=1e-4", "")),
          (_EPSILON,), mended=TRAININGS["fp16"],
          predicted=(Told("lint", "MP741", r"AdamW\("), Told("check", "MP407", "")),
          seen=(Told("monitor", "MP407", "", 0), Told("monitor", "MP501", "embed", 8)),
          steps=12),
    Fault("mask", "a mask of -1e9, and rows that are padding", TRAININGS["fp16"],
          (_MASK,),
          predicted=(Told("lint", "MP747", r"-1e9"), Told("check", "MP411", r"attention")),
          seen=(Told("monitor", "MP501", r"blocks\.0\.attention", 2),
                Told("confirm", "MP208", r"softmax", 2)), steps=12, probed=3),
    Fault("loss", "a penalty on logits that is added up in FP16", TRAININGS["fp16"],
          (_PENALTY,), mend=(Edit(_PENALTY.file, _PENALTY.old, _PENALTY.new.replace(
              "logits.square()", "logits.float().square()")),),
          predicted=(Told("check", "MP209", r"sum"),),
          seen=(Told("monitor", "MP501", "", 0), Told("confirm", "MP209", r"sum", 0)),
          steps=9, probed=1, batch=4),
    Fault("norm", "RMSNorm in FP16, and a massive activation", TRAININGS["fp16"],
          (_NORM,), around=(_MASSIVE,),
          predicted=(Told("check", "MP209", r"attention_norm"),),
          seen=(Told("confirm", "MP209", r"attention_norm", 0),), steps=12, probed=1, type=0),
    Fault("updates", "fine-tuning in BF16 without master weights",
          with_options("bf16", (ADAM, _FINE_TUNING)), (_SLOW,),
          around=(Edit("train_bf16_master.py", "lr=1e-3", "lr=2e-5"),),
          mended=with_options("bf16_master", (ADAM, _FINE_TUNING)),
          predicted=(Told("lint", "MP701", r"bfloat16"), Told("check", "MP409", "")),
          seen=(Told("monitor", "MP409", r"blocks\.0\.attention\.query", 8),),
          steps=100, batch=4),
    Fault("zero-grad", "gradients of earlier steps are kept", TRAININGS["documented"], (_KEPT,),
          predicted=(Told("lint", "MP732", r"scaler\.step"),), seen=(), steps=12, batch=4, type=0),
    Fault("undivided", "the loss of a pass is not divided by the passes", TRAININGS["documented"],
          (_UNDIVIDED,), predicted=(Told("lint", "MP727", r"backward"),), seen=(), steps=12, batch=4),
    Fault("past-scaler", "optimizer.step() after unscale_", TRAININGS["documented"],
          (_PAST_SCALER,), around=(_HIGH_START,),
          predicted=(Told("lint", "MP724", r"optimizer\.step"),),
          seen=(Told("monitor", "MP501", ""),), steps=12, batch=4),
    Fault("empty-mask", "a micro-batch without a token that counts", TRAININGS["documented"],
          (_EMPTY,), mend=(_EMPTY, _CLAMP), predicted=(),
          seen=(Told("monitor", "MP501", "micro-batch 1", 2),), steps=12, batch=4, type=0),
    Fault("divisor", "the mask is missing in the divisor", TRAININGS["documented"],
          (_DIVISOR,), predicted=(Told("lint", "MP754", r"numel"),), seen=(), steps=12, batch=4),
    Fault("outside", "an imported loss outside of the region",
          dataclasses.replace(TRAININGS["documented"], project=True),
          _OUTSIDE, predicted=(Told("lint", "MP711", r"loss"),), seen=(), steps=12, batch=4, type=0),
)

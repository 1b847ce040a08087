"""Contents of FP8 scales, and inputs of modules: the largest magnitude of each input over that of the history that the
module's scale comes from, or over what the scale itself holds. Read by public names: `fp8_meta` of TransformerEngine's modules, and buffers
called `amax_history` or `fp8_amax_history_input`, `scale` or `fp8_scale_input`, those of torchao's delayed scaling and of one's own layers. Scales that are made of the tensor itself have
no history, and clip nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch

from mpopt import _modules
from mpopt.monitor.alerts import Alert
from mpopt.monitor.hooks import in_backward
from mpopt.monitor.judging import Judge, Run, Step, number

HISTORY = re.compile(r"^(?:fp8_)?amax_history(?:_(?:x|input))?$")
SCALE = re.compile(r"^(?:fp8_)?scale(?:_(?:x|input))?$")
#: Inputs are E4M3.
LARGEST = 448.0


def find_scale(module: torch.nn.Module) -> torch.Tensor | None:
    """What a module's input is multiplied by before it is stored; None if it is not known."""
    meta = getattr(module, "fp8_meta", None)
    if isinstance(meta, dict):
        scale = getattr(meta.get("scaling_fwd"), "scale", None)
        return scale[0] if isinstance(scale, torch.Tensor) and scale.dim() == 1 and len(scale) else None
    found = next((buffer for name, buffer in module.named_buffers(recurse=False) if SCALE.match(name)), None)
    return found.reshape(()) if found is not None and found.numel() == 1 else None


def find_history(module: torch.nn.Module) -> torch.Tensor | None:
    """The magnitudes of the last steps of a module's input; None if it has no delayed scale."""
    meta = getattr(module, "fp8_meta", None)
    if isinstance(meta, dict) and (forward := meta.get("scaling_fwd")) is not None:
        history = getattr(forward, "amax_history", None)
        # A column for each tensor, of which the input is the first.
        return history[:, 0] if isinstance(history, torch.Tensor) and history.dim() == 2 and history.shape[1] else None
    return next((buffer for name, buffer in module.named_buffers(recurse=False) if HISTORY.match(name) and buffer.numel()), None)


class AmaxHooks:
    """Compares inputs with histories while a step runs, on the device: `take` gives the largest ratio of each module, the number of its
    passes, and of those that were larger than its history."""

    def __init__(self, model: torch.nn.Module):
        self._modules = [(_modules.plain_name(name), module) for name, module in model.named_modules()
                         if hasattr(module, "fp8_meta") or any(HISTORY.match(held) for held, _ in module.named_buffers(recurse=False))]
        self._handles: list = []
        self._seen: dict[str, torch.Tensor] = {}

    def attach(self) -> None:
        if not self._handles:
            self._handles = [module.register_forward_pre_hook(self._hook_of(name)) for name, module in self._modules]

    def detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._seen = {}

    def _hook_of(self, name: str):
        def see(module: torch.nn.Module, arguments: tuple) -> None:
            if in_backward():
                return
            given = next((each for each in arguments if isinstance(each, torch.Tensor) and each.is_floating_point() and each.numel()), None)
            if given is None or not module.training or not torch.is_grad_enabled() or (history := find_history(module)) is None:
                return
            with torch.no_grad():
                most = history.detach().float().max()
                if (scale := find_scale(module)) is not None:
                    # A margin, and an algorithm that takes the last step alone, are in the scale.
                    most = torch.where((most > 0) & (scale > 0), LARGEST / scale.float(), most)
                # A history that is empty yet says nothing.
                ratio = torch.where(most > 0, given.detach().abs().amax().float() / most, torch.zeros_like(most))
                now = torch.stack([ratio, torch.ones_like(ratio), (ratio > 1).float()])
                before = self._seen.get(name)
                self._seen[name] = now if before is None else torch.stack([torch.maximum(now[0], before[0]), *(now[1:] + before[1:])])
        return see

    def take(self) -> Iterator[tuple[str, torch.Tensor]]:
        seen, self._seen = self._seen, {}
        yield from seen.items()


class OutgrownAmax(Judge):
    """MP516: inputs that are larger than the history of their scale."""

    #: A binade past the history, in so many steps of the last ones: a batch of unlike data is one.
    TWICE, OFTEN, WINDOW = 2.0, 4, 16

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"outgrown": {}}

    def see_step(self, step: Step) -> Iterator[Alert]:
        for name, (ratio, passes, larger) in step.amax.items():
            recent = self.memory["outgrown"].setdefault(name, [])
            recent.append(ratio)
            del recent[:-self.WINDOW]
            grown = [each for each in recent if each > self.TWICE]
            if self.begins(f"amax {name}", len(grown) >= self.OFTEN, pause=self.WINDOW):
                of_passes = f", in {larger:.0f} of the {passes:.0f} passes of the last" if passes > 1 else ""
                yield Alert("MP516", "warning", name, step.step,
                            f"step {step.step}: the input of '{name}' was up to {number(max(grown))} times as large as the amax history that its "
                            f"FP8 scale comes from, in {len(grown)} of {len(recent)} steps{of_passes}: what is past it is clipped (saturates); keep "
                            "the maximum over all passes of a step and over many steps, or scale by the tensor itself")

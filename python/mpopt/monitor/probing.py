"""A fixed batch, on which the model is computed in each sample: weights that change while what it gives does not
are not those that it computes with."""

from collections.abc import Iterator, Mapping

import torch

from mpopt.monitor.hooks import plain
from mpopt.monitor.replay import untouched


def list_outputs(output) -> Iterator[torch.Tensor]:
    """The float tensors of what a model gave."""
    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, Mapping | list | tuple):
        for part in output.values() if isinstance(output, Mapping) else output:
            yield from list_outputs(part)


class Probe:
    """Computes the model on one batch, as evaluation does; gradients, buffers and random numbers stay."""

    def __init__(self, model: torch.nn.Module, batch):
        self._model = model
        self._arguments = () if isinstance(batch, Mapping) else tuple(batch) if isinstance(batch, tuple | list) else (batch,)
        self._keywords = dict(batch) if isinstance(batch, Mapping) else {}

    def look(self, parameters: list[torch.Tensor], device_type: str, autocast: torch.dtype | None
             ) -> tuple[int, torch.Tensor]:
        """The number of tensors that the model gives, and two sums of each followed by the norms of parameters."""
        modes = [(module, module.training) for module in self._model.modules()]
        try:
            # The caller's region stays in force with the casts that it keeps: only its dtype is asked for again.
            with untouched(self._model, parameters), torch.no_grad(), \
                    torch.autocast(device_type, autocast, enabled=autocast is not None):
                self._model.eval()
                given = list(list_outputs(self._model(*self._arguments, **self._keywords)))
        finally:
            for module, mode in modes:
                module.training = mode
        sums = [part for value in map(plain, given) for part in (value.float().sum(), value.float().norm())]
        norms = torch.empty(len(parameters), dtype=torch.float32, device=parameters[0].device)
        torch.ops.mpopt.norms([plain(parameter) for parameter in parameters], norms)
        return len(given), torch.cat([*(each.detach().reshape(1).to(norms.device) for each in sums), norms])

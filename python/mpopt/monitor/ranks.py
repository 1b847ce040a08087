"""Ranks that hold the same parameters, and whether they do (MP511)."""

import statistics
from collections.abc import Iterator, Sequence

import torch
import torch.distributed as distributed

from mpopt._command import Error
from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Sample, number


def own_rank() -> int:
    """This process's rank, 0 where none are."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    return 0


def name_rank() -> str:
    """Behind a message: which rank it is of; empty where there is one alone."""
    if own_rank() or distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return f" (rank {own_rank()} of {distributed.get_world_size()})"
    return ""


def splits_layers(model: torch.nn.Module, parameters: Sequence[torch.Tensor]) -> bool:
    """Tensor parallelism: ranks hold parts of layers, and read what others computed. FSDP2 shards parameters, too,
    and gathers them before they are used."""
    gathered = any(kind.__name__ == "FSDPModule" for module in model.modules() for kind in type(module).__mro__)
    return any(sum(placement.is_shard() for placement in getattr(parameter, "placements", ())) > gathered
               for parameter in parameters)


class Ranks:
    """Gathers the norms of replicated parameters, in one collective a sample. Every rank takes
    part in the same step, by the number of its steps alone."""

    def __init__(self, group, parameters: Sequence[torch.Tensor]):
        self._group = group
        self.world = distributed.get_world_size(group)
        # Shards differ, as they have to.
        self._indices = [index for index, parameter in enumerate(parameters)
                         if not hasattr(parameter, "to_local")]
        self._parameters = [parameters[index] for index in self._indices]

    @classmethod
    def of(cls, model, ranks, parameters: Sequence[torch.Tensor]) -> "Ranks | None":
        """The ranks of DDP, or of the group `ranks` (True: all). None if there are none."""
        if ranks is False or not (distributed.is_available() and distributed.is_initialized()):
            if ranks not in (None, False):
                raise Error("ranks: torch.distributed is not initialised")
            return None
        group = ranks
        if ranks is None:
            if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
                return None
            group = model.process_group
        found = cls(None if group is True else group, parameters)
        return found if found.world > 1 and found._indices else None

    def gather(self):
        """The norms of all ranks, rank by rank, and what to wait for before they are read.
        None if parameters lie on several devices."""
        devices = {parameter.device for parameter in self._parameters}
        if len(devices) != 1:
            return None
        own = torch.empty(len(self._parameters), device=devices.pop())
        torch.ops.mpopt.norms([parameter.detach() for parameter in self._parameters], own)
        every = torch.empty(self.world * own.numel(), device=own.device)
        work = distributed.all_gather_into_tensor(every, own, group=self._group, async_op=True)
        return every, work

    def unpack(self, numbers: Sequence[float]) -> dict[int, list[float]]:
        """Norms on each rank by the parameter's index."""
        count = len(self._indices)
        return {index: list(numbers[place::count]) for place, index in enumerate(self._indices)}


class RanksAgree(Judge):
    """MP511: replicated parameters that differ between ranks. Norms are sums of the same numbers
    in the same order, but processors and threads may differ: 1e-5 is left to them."""

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        for index, norms in sample.ranks.items():
            # NaN on all ranks is not a disagreement; sorted last, on some it is.
            comparable = [float("inf") if norm != norm else norm for norm in norms]
            usual = statistics.median_low(comparable)
            apart = [rank for rank, norm in enumerate(comparable)
                     if norm != usual and abs(norm - usual) > self.run.thresholds["rank-difference"] * abs(usual)]
            name = self.run.parameters[index]
            if not self.begins(name, bool(apart)):
                continue
            others = ", ".join(f"{number(norms[rank])} on rank {rank}" for rank in apart[:4])
            yield Alert("MP511", "error", self.run.layers[index], sample.at["ranks"],
                        f"step {sample.at['ranks']}: the norm of '{name}' is {others} and "
                        f"{usual:.6g} on the other ranks: replicas train apart; broadcast the "
                        "parameters at the start and after loading, and let every update go through "
                        "DDP with the same optimizer state")

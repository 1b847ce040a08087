"""Numbers that a device computed, brought to the host together.

A step only adds vectors to a pack, on the device's own stream. When a window closes, the
vectors of each device become one and one copy is queued; the pack is read once that copy
has come, which nobody waits for."""

import torch


class Pack:
    """FP32 vectors with tags, of which the second member is the step that they belong to."""

    def __init__(self):
        self._entries: list[tuple[tuple, torch.Tensor]] = []
        self._works: list = []

    def add(self, tag: tuple, vector: torch.Tensor, work=None) -> None:
        """`vector` has one axis. It must not be written again, but by the collective `work`."""
        self._entries.append((tag, vector))
        if work is not None:
            self._works.append(work)

    def close(self, step: int) -> "Pending":
        """Queues the copies of what belongs to steps before `step`, and keeps the rest."""
        for work in self._works:
            work.wait()
        devices: dict[torch.device, list[tuple[tuple, torch.Tensor]]] = {}
        for entry in self._entries:
            if entry[0][1] < step:
                devices.setdefault(entry[1].device, []).append(entry)
        self._entries = [entry for entry in self._entries if entry[0][1] >= step]
        self._works = []
        copies = []
        for device, entries in devices.items():
            whole, event = torch.cat([vector for _, vector in entries]), None
            if device.type != "cpu":
                host = torch.empty(whole.shape, dtype=whole.dtype,
                                   pin_memory=device.type == "cuda")
                whole = host.copy_(whole, non_blocking=True)
                if device.type == "cuda":
                    event = torch.cuda.Event()
                    event.record(torch.cuda.current_stream(device))
            copies.append(([(tag, vector.numel()) for tag, vector in entries], whole, event))
        return Pending(copies)


class Pending:
    """The copies of a pack."""

    def __init__(self, copies):
        self._copies = copies

    def is_there(self) -> bool:
        """Whether the copies have come; asks, does not wait."""
        return all(event is None or event.query() for _, _, event in self._copies)

    def read(self) -> list[tuple[tuple, list[float]]]:
        """The vectors by their tags; waits for the copies if they are not there."""
        found = []
        for tags, whole, event in self._copies:
            if event is not None:
                event.synchronize()
            numbers, first = whole.tolist(), 0
            for tag, count in tags:
                found.append((tag, numbers[first:first + count]))
                first += count
        return found

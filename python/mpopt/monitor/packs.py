"""Numbers that a device computed, brought to the host together.

A step only adds vectors to a pack, on the device's own stream. When a window closes, the
vectors of each device become one and one copy is queued; the pack is read once that copy
has come, which nobody waits for."""

import torch


class Pack:
    """FP32 vectors with tags, of which the second member is the step that they belong to."""

    def __init__(self):
        self._entries: list[tuple[tuple, torch.Tensor, object]] = []

    def add(self, tag: tuple, vector: torch.Tensor, work=None) -> None:
        """`vector` has one axis. After its step it must not be written again, but by the
        collective `work`."""
        self._entries.append((tag, vector, work))

    def close(self, step: int) -> "Pending":
        """Queues the copies of what belongs to steps before `step`, and keeps the rest. What a
        collective was to bring that failed, since a rank died, is left out."""
        devices: dict[torch.device, list[tuple[tuple, torch.Tensor]]] = {}
        kept = []
        for tag, vector, work in self._entries:
            if tag[1] >= step:
                kept.append((tag, vector, work))
            elif work is None or _is_done(work):
                devices.setdefault(vector.device, []).append((tag, vector))
        self._entries = kept
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


def _is_done(work) -> bool:
    """Waits for a collective, on a CUDA device by its stream alone; whether it succeeded."""
    try:
        work.wait()
    except RuntimeError:
        return False
    return True


class Pending:
    """The copies of a pack."""

    def __init__(self, copies):
        self._copies = copies

    def is_there(self) -> bool:
        """True if the copies have come; asks, does not wait."""
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

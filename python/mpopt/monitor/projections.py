"""Few numbers of a tensor by which two runs are compared element by element.

Each element is multiplied by a sign that is drawn once for its place, and added to one of 32 sums.
The sums of the difference of two tensors are those of one less those of the other, and the mean of
their squares is the square of the difference's norm, over 32, with a deviation of a quarter of it
(Alon, Matias and Szegedy, The space complexity of approximating the frequency moments, 1996). The
norm comes with them.

Of a tensor with more than 65,536 elements as many are looked at and compared, in stretches of 1021 that
are evenly spread: that costs no more than the record does. The length is a prime, so that stretches
begin at all places of the tensor's own rows."""

import base64
import functools
import hashlib
import struct
from collections.abc import Sequence

import torch

#: Sums of a tensor.
COUNT = 32
#: Elements that are looked at, at most, and of a stretch.
_MOST, _STRETCH = 1 << 16, 1021
_FORM = struct.Struct(f"<{COUNT + 1}f")


@functools.lru_cache(maxsize=8)
def _signs(device: torch.device) -> torch.Tensor:
    """FP32 [65,536], the same everywhere."""
    bits = b"".join(hashlib.sha256(f"sign {block}".encode()).digest()
                    for block in range(_MOST // 256))
    drawn = torch.frombuffer(bytearray(bits), dtype=torch.uint8)
    drawn = (drawn[:, None] >> torch.arange(8, dtype=torch.uint8) & 1).flatten()
    signs = drawn.float() * 2 - 1
    # A copy from memory that is not pinned would be waited for.
    return signs.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else \
        signs.to(device)


def project(tensor: torch.Tensor) -> torch.Tensor:
    """FP32 [33]: the sums and the norm; nothing is waited for."""
    flat = tensor.detach().reshape(-1)
    if flat.numel() > _MOST:
        stretches = flat.numel() // _STRETCH
        every = -(-stretches // (_MOST // _STRETCH))
        flat = flat[:stretches * _STRETCH].view(stretches, _STRETCH)[::every].reshape(-1)
    flat = flat.float()
    # No matrix product: autocast, or TF32, would round it.
    signed = flat * _signs(flat.device)[:flat.numel()]
    if left := -signed.numel() % COUNT:
        signed = torch.nn.functional.pad(signed, (0, left))
    return torch.cat([signed.view(-1, COUNT).sum(0),
                      torch.linalg.vector_norm(flat).reshape(1)])


def encode(numbers: Sequence[float]) -> str:
    return base64.b64encode(_FORM.pack(*numbers)).decode()

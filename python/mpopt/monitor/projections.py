"""Few numbers of a tensor by which two runs are compared element by element.

Each element is multiplied by a sign that is drawn once for its place, and added to one of 32 sums.
The sums of the difference of two tensors are those of one less those of the other, and the mean of
their squares is the square of the difference's norm, over 32, with a deviation of a quarter of it
(Alon, Matias and Szegedy, The space complexity of approximating the frequency moments, 1996). The
norm comes with them.

The elements are taken as rows of 1021, a prime, so that they are not rows of the tensor, and a sign is
that of the row times that of the column. Of a tensor with more than 64 rows as many are looked at,
evenly spread: it is they that are compared, and they cost no more than the record does."""

import base64
import functools
import hashlib
import struct
from collections.abc import Sequence

import torch

#: Sums of a tensor.
COUNT = 32
_COLUMNS = 1021
#: As many as a tensor of 256 kB has.
_ROWS = 64
_FORM = struct.Struct(f"<{COUNT + 1}f")


@functools.lru_cache(maxsize=8)
def _signs(word: str, count: int, device: torch.device) -> torch.Tensor:
    """The first `count` signs of an endless list, FP32."""
    bits = b"".join(hashlib.sha256(f"{word} {block}".encode()).digest()
                    for block in range((count + 255) // 256))
    drawn = torch.frombuffer(bytearray(bits), dtype=torch.uint8)
    places = torch.arange(8, dtype=torch.uint8)
    drawn = (drawn[:, None] >> places & 1).flatten()[:count]
    return (drawn.float() * 2 - 1).to(device)


def project(tensor: torch.Tensor) -> torch.Tensor:
    """FP32 [33]: the sums and the norm; nothing is waited for."""
    # No matrix product: autocast, or TF32, would round it.
    flat = tensor.detach().reshape(-1)
    rows = flat.numel() // _COLUMNS
    columns = _signs("column", COUNT * COUNT, flat.device)
    rest = flat[rows * _COLUMNS:].float()
    norm = torch.linalg.vector_norm(rest)
    sums = rest * columns[:rest.numel()]
    if rows:
        chosen = flat[:rows * _COLUMNS].view(rows, _COLUMNS)[::-(-rows // _ROWS)].float()
        norm = torch.hypot(norm, torch.linalg.vector_norm(chosen))
        signs = _signs("row", _ROWS, flat.device)[:chosen.shape[0], None]
        whole = (chosen * signs).sum(0) * columns[:_COLUMNS]
        whole[:rest.numel()] += sums
        sums = whole
    sums = torch.nn.functional.pad(sums, (0, -sums.numel() % COUNT))
    return torch.cat([sums.view(-1, COUNT).sum(0), norm.reshape(1)])


def encode(numbers: Sequence[float]) -> str:
    return base64.b64encode(_FORM.pack(*numbers)).decode()

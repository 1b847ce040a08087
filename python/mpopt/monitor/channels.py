"""Sizes of a module's output by channel, on the device."""

import torch

_SECOND = (torch.nn.modules.conv._ConvNd, torch.nn.modules.batchnorm._NormBase, torch.nn.GroupNorm)
_LAST = (torch.nn.Linear, torch.nn.LayerNorm, torch.nn.Embedding, torch.nn.RMSNorm)


def channel_axis(module: torch.nn.Module, value: torch.Tensor) -> int | None:
    """The axis whose indices are channels; None where the module does not say, or there are
    fewer than two of them."""
    axis = 1 if isinstance(module, _SECOND) else -1 if isinstance(module, _LAST) else None
    if axis is None or value.dim() < 2 or value.shape[axis] < 2 or not value.numel():
        return None
    return axis % value.dim()


def channel_sizes(value: torch.Tensor, axis: int) -> torch.Tensor:
    """FP32 [2]: root mean square of the largest channel, and of the median one of those that
    are not 0 throughout (0 if all are)."""
    if value.device.type != "cpu":
        return sizes_by_ops(value, axis)
    result = torch.empty(2)
    torch.ops.mpopt.channels(value, axis, result)
    return result


def sizes_by_ops(value: torch.Tensor, axis: int) -> torch.Tensor:
    """The same on any device; nothing is waited for."""
    others = [other for other in range(value.dim()) if other != axis]
    # Sums of squares have no room in 16 bits.
    wide = torch.float32 if value.element_size() < 4 else None
    norms = torch.linalg.vector_norm(value, dim=others, dtype=wide).float()
    sizes = norms / (value.numel() / value.shape[axis]) ** 0.5
    ordered = torch.where(sizes > 0, sizes, torch.inf).sort().values
    filled = (sizes > 0).sum()
    # An index in brackets would be read by the host.
    middle = (filled - 1).clamp(min=0).div(2, rounding_mode="floor").reshape(1)
    median = ordered.gather(0, middle)
    return torch.cat([sizes.max().reshape(1), torch.where(filled > 0, median, 0.0)])

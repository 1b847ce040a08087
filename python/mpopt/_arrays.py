"""Arrays and tensors that the user gives, for the tool to read."""

import pathlib


def to_numpy(value):
    """An array of numbers. Of a tensor of PyTorch, on whatever device, too; NumPy has no
    BF16 and no FP8, FP32 holds both."""
    import numpy

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.is_floating_point() and value.dtype.itemsize < 4:
            value = value.float()
        value = value.numpy()
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"numbers, not {array.dtype}")
    return array


def save(file: pathlib.Path, **values) -> None:
    """As an .npz archive."""
    import numpy

    numpy.savez(file, **{name: to_numpy(value) for name, value in values.items()})

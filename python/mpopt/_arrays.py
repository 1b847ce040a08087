"""Arrays and tensors that the user gives, for the tool to read."""

import pathlib


def to_numpy(value):
    """An array of numbers, from an array or a PyTorch tensor on any device. BF16 and FP8,
    which NumPy lacks, become FP32, which holds their values exactly."""
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
    """Writes the arrays to `file`, an .npz archive."""
    import numpy

    numpy.savez(file, **{name: to_numpy(value) for name, value in values.items()})

"""Precisions as PyTorch, Lightning, Accelerate and NumPy give them: the tool reads their names."""


def find(value) -> str:
    """The name of a precision for `--precision`. `value`: its name, another spelling, a dtype of
    PyTorch or NumPy, or a `torch.autocast`."""
    if hasattr(value, "fast_dtype"):
        # Without a GPU a context for one is off: which says nothing about the training.
        return f"autocast-{_dtype(value.fast_dtype)}"
    return _dtype(value)


def _dtype(value) -> str:
    """`float16` of `torch.float16`, `numpy.float16` and `dtype('float16')`."""
    text = value.__name__ if isinstance(value, type) else str(value)
    return text.removeprefix("torch.")

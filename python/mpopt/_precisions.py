"""Precisions as PyTorch, Lightning, Accelerate and NumPy spell them."""

from mpopt._command import Error

#: Those of the command line.
PRECISIONS = ("auto", "as-is", "fp16", "bf16", "autocast-fp16", "autocast-bf16")
#: A dtype is that of the whole model, `mixed` is autocast, and 32 bits change nothing.
_ALIASES = {
    "as-is": ("no", "fp32", "f32", "float", "float32", "32", "32-true"),
    "fp16": ("f16", "half", "float16", "16-true"),
    "bf16": ("bfloat16", "bf16-true"),
    "autocast-fp16": ("16", "16-mixed", "fp16-mixed", "float16-mixed", "autocast-float16", "amp"),
    "autocast-bf16": ("bf16-mixed", "bfloat16-mixed", "autocast-bfloat16"),
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in (name, *aliases)}


def find(value) -> str:
    """The precision of the command line. `value`: its name, another spelling, a dtype of
    PyTorch or NumPy, or a `torch.autocast`. `mpopt.Error` if there is none."""
    if hasattr(value, "fast_dtype"):
        # Without a GPU a context for one is off: which says nothing about the training.
        value = f"autocast-{_dtype(value.fast_dtype)}"
    name = _dtype(value).lower().replace("_", "-")
    if name == "auto":
        return name
    if name not in _NAMES:
        raise Error(f"precision: {value!r} is none of {', '.join(PRECISIONS)}, and no dtype or "
                    "precision of a framework (torch.float16, '16-mixed', 'bf16-true')")
    return _NAMES[name]


def _dtype(value) -> str:
    """`float16` of `torch.float16`, `numpy.float16` and `dtype('float16')`."""
    text = value.__name__ if isinstance(value, type) else str(value)
    return text.removeprefix("torch.")

"""Inputs that `python -m mpopt.run` feeds a model: arrays of a file, or random ones."""

import pathlib

import numpy

from mpopt import _array_files, _command, _json_files

_KINDS = {"float16": "float16", "float": "float32", "double": "float64", "bool": "bool",
          **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u")
             for bits in (8, 16, 32, 64)}}


def dtype_of(value) -> numpy.dtype:
    """The NumPy dtype of a session's input (`tensor(float)`)."""
    name = value.type.removeprefix("tensor(").removesuffix(")")
    if name not in _KINDS:
        raise _command.Error(f"input '{value.name}' is a {value.type}, which numpy has not")
    return numpy.dtype(_KINDS[name])


# -- from a file -----------------------------------------------------------------------------

def _check(value, array, many: bool, file) -> None:
    """Checks that the array has the input's shape, or one axis more in front: of steps."""
    rank, wanted = array.ndim - many, dtype_of(value)
    if rank != len(value.shape):
        raise _command.Error(f"'{value.name}' has {array.ndim} axes in '{file}' and "
                             f"{len(value.shape)} in the model")
    for axis, size in enumerate(value.shape):
        if isinstance(size, int) and array.shape[axis + many] != size:
            raise _command.Error(f"axis {axis} of '{value.name}' has {array.shape[axis + many]} "
                                 f"elements in '{file}' and {size} in the model")
    if not numpy.can_cast(array.dtype, wanted, casting="same_kind"):
        raise _command.Error(f"'{value.name}' is {array.dtype} in '{file}' and {wanted} in the "
                             "model")


def load_steps(file, session):
    """The feeds of an .npz file, one for each step."""
    arrays, inputs = _array_files.read(file), session.get_inputs()
    missing = [value.name for value in inputs if value.name not in arrays]
    if missing:
        raise _command.Error(f"'{file}' has no array '{missing[0]}'")
    unknown = set(arrays) - {value.name for value in inputs}
    if unknown:
        raise _command.Error(f"the model has no input '{sorted(unknown)[0]}'")
    many = {value.name: arrays[value.name].ndim == len(value.shape) + 1 for value in inputs}
    for value in inputs:
        _check(value, arrays[value.name], many[value.name], file)
    lengths = {len(arrays[name]) for name in many if many[name]}
    if len(lengths) > 1:
        raise _command.Error(f"the arrays in '{file}' have different numbers of steps")
    count = lengths.pop() if lengths else 1
    if count == 0:
        raise _command.Error(f"the arrays in '{file}' have no steps")
    for step in range(count):
        # A step of an input without axes is a number, not an array.
        yield count, {value.name: numpy.asarray(
            arrays[value.name][step] if many[value.name] else arrays[value.name],
            dtype_of(value)) for value in inputs}


# -- drawn -----------------------------------------------------------------------------------

#: Of an input that the ledger does not name.
_UNIT = {"lo": 0.0, "hi": 1.0}


def read_assumptions(ledger: pathlib.Path) -> dict[str, dict]:
    """The assumptions of a ledger by input: `lo`, `hi`, `shape` (-1: dynamic), and `mean`
    and `std` where they are assumed."""
    try:
        content = _json_files.read(ledger)
        shapes = {probe["tensor"]: [int(size) for size in probe["shape"]]
                  for probe in content["probes"]
                  if probe["role"] == "input" and probe.get("shape") is not None}
        assumed = {}
        for entry in content["assumptions"]:
            numbers = {key: float(entry[key]) for key in ("lo", "hi", "mean", "std")
                       if entry.get(key) is not None}
            if not numbers["lo"] <= numbers["hi"]:
                raise ValueError("an empty range")
            assumed[entry["input"]] = {**numbers, "shape": shapes.get(entry["input"], [])}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise _command.Error(f"'{ledger}' is no ledger of probes") from None
    return assumed


def _shape(value, assumed, dims, least) -> list[int]:
    """The shape of a random array: dynamic dims are as in `dims`, else as assumed, else 2 or as
    in `least`."""
    sizes = assumed.get("shape", [])
    if len(sizes) != len(value.shape):
        sizes = [-1] * len(value.shape)
    return [size if isinstance(size, int)
            else dims.get(size, known if known >= 0 else max(least.get(size, 2), 2))
            for size, known in zip(value.shape, sizes, strict=True)]


def _integers(dtype, assumed) -> tuple[int, int] | None:
    """The least and the largest integer to draw; None if it may be any."""
    limits = numpy.iinfo(dtype)
    first, last = max(assumed["lo"], limits.min), min(assumed["hi"], limits.max)
    if "mean" in assumed and "std" in assumed:
        # As wide as a uniform distribution of that deviation: the indices that count from
        # the end are possible, and some kernels refuse them.
        half = 3**0.5 * assumed["std"]
        first = max(first, round(assumed["mean"] - half))
        last = min(last, round(assumed["mean"] + half))
    return (int(first), int(last)) if 0 <= last - first <= 2**31 else None


def find_unbounded(session, assumed) -> list[str]:
    """The inputs that may be any whole number."""
    return [value.name for value in session.get_inputs() if (dtype := dtype_of(value)).kind in "iu" and
            _integers(dtype, assumed.get(value.name, _UNIT)) is None]


def draw_steps(count, session, assumed, dims, seed=0):
    """Feeds within the assumed bounds: normal where a distribution is assumed, uniform
    where only bounds are, and for integers."""
    random = numpy.random.default_rng(seed)
    # A program says from which size on it runs.
    least = session.least_dims() if hasattr(session, "least_dims") else {}
    for _ in range(count):
        feed = {}
        for value in session.get_inputs():
            dtype = dtype_of(value)
            entry = assumed.get(value.name, _UNIT)
            shape = _shape(value, entry, dims, least)
            lo, hi = entry["lo"], entry["hi"]
            if dtype.kind == "f" and "mean" in entry and "std" in entry:
                values = numpy.clip(random.normal(entry["mean"], entry["std"], shape), lo, hi)
            elif dtype.kind == "f":
                limit = float(numpy.finfo(dtype).max)
                values = random.uniform(max(lo, -limit), min(hi, limit), shape)
            elif dtype.kind == "b":
                values = random.integers(0, 2, shape)
            else:
                values = random.integers(*(_integers(dtype, entry) or (0, 1)), shape, endpoint=True)
            feed[value.name] = numpy.asarray(values, dtype)
        yield count, feed


def read_dims(texts, session) -> dict[str, int]:
    """Sizes of the model's dynamic dimensions, from `--dim NAME=N`."""
    known = {size for value in session.get_inputs() for size in value.shape}
    dims = {}
    for text in texts:
        name, _, size = text.rpartition("=")
        if not name or not size.isdecimal():
            raise _command.Error(f"--dim: '{text}' is not NAME=N")
        if name not in known:
            raise _command.Error(f"--dim: the model has no symbolic dimension '{name}'")
        dims[name] = int(size)
    return dims

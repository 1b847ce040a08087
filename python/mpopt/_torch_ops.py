"""The probe ops of PyTorch: `torch.ops.mpopt.probe`.

LibTorch has no stable C++ interface, so the library only works with the version of
PyTorch that it was built for."""

from mpopt import _files
from mpopt import recorder as _recorder
from mpopt._command import Error


def load() -> bool:
    """Loads the op library into PyTorch, once; false if this mpopt has none. Fails if it
    was built for another version."""
    import torch

    library = _files.find("lib", "libmpopt_torch.so")
    if library is None:
        return False
    # Before the library is: one for another version may not even load.
    built = library.with_suffix(".version")
    wanted = built.read_text().strip() if built.exists() else ""
    if wanted and _release(torch.__version__) != _release(wanted):
        raise RuntimeError(f"the op library was built for PyTorch {wanted}, and this is "
                           f"{torch.__version__}: install torch=={_release(wanted)}, or build mpopt "
                           "against this one")
    _recorder.library()  # with what ends it in children of `multiprocessing`
    torch.ops.load_library(str(library))
    # Without that file the library itself finds out, says so and registers nothing.
    if not hasattr(torch.ops.mpopt, "probe"):
        raise RuntimeError(f"{library} registered no ops")
    _keep_in_graphs()
    return True


def require() -> None:
    """Loads the op library; `mpopt.Error` of one line that says what to install if it cannot be."""
    try:
        if not load():
            raise Error("the op library for PyTorch is not there: install a wheel of mpopt, or set "
                        "MPOPT_BUILD to the folder of a build with PyTorch")
    except (RuntimeError, OSError) as error:
        raise Error(str(error).strip().splitlines()[0]) from error


def _keep_in_graphs() -> None:
    """Graphs of PyTorch (`torch.fx`, Inductor's) drop ops that give and change nothing. Not
    by effects, which order ops by tokens: graphs inside of others take none."""
    import torch
    from torch.fx.node import has_side_effect

    for name in ("begin_run", "probe", "probe_channels"):
        has_side_effect(getattr(torch.ops.mpopt, name).default)


def _release(version: str) -> str:
    """Builds for different devices (2.13.0+cpu) have the same interface."""
    return version.split("+")[0]


def record_gradients(enabled: bool = True) -> None:
    """Sets whether probes also record the gradients of their tensors. Initially they do if
    the variable MPOPT_PROBE_GRADIENTS is set."""
    import torch

    if not load():
        raise RuntimeError("this mpopt was built without the op library for PyTorch")
    torch.ops.mpopt.record_gradients(enabled)

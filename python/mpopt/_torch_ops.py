"""The probe ops of PyTorch: `torch.ops.mpopt.probe`.

LibTorch has no stable C++ interface, so the op library only works with the version of
PyTorch that it was built for. Every other one from 2.4 on gets the same ops from Python
(`_torch_fallback`). MPOPT_TORCH_OPS=python takes those in any case, MPOPT_TORCH_OPS=library
never."""

import os
import pathlib
import sys

from mpopt import _files
from mpopt import recorder as _recorder
from mpopt._command import Error

#: The oldest PyTorch with all that the fallback and the monitor call (`torch.get_autocast_dtype`).
OLDEST = (2, 4)
#: Why the ops are those of `_torch_fallback`; None where they are the library's.
_reason: str | None = None
_announced = False


def load() -> bool:
    """Registers the ops with PyTorch, once; false if this mpopt has no recorder."""
    import torch

    choice = os.environ.get("MPOPT_TORCH_OPS", "")
    if choice not in ("", "python", "library"):
        raise RuntimeError(f"MPOPT_TORCH_OPS is '{choice}': it can be 'python' or 'library'")
    if hasattr(torch.ops.mpopt, "probe"):
        return True
    library = _files.find("lib", "libmpopt_torch.so")
    why = "MPOPT_TORCH_OPS says so" if choice == "python" else _misfit(library, torch.__version__)
    if choice == "library" and why:
        raise RuntimeError(why)
    if _files.find("lib", "libmpopt_record.so") is None:
        return False
    _recorder.library()  # with what ends it in children of `multiprocessing`
    if not why:
        # Without the file that names its version the loader or the library itself finds out.
        try:
            torch.ops.load_library(str(library))
        except OSError as error:
            why = str(error).splitlines()[0]
        if not why and not hasattr(torch.ops.mpopt, "probe"):
            why = f"{library} registered no ops"
    if why:
        _register_from_python(torch.__version__, why)
    _keep_in_graphs()
    return True


def _register_from_python(version: str, why: str) -> None:
    global _reason
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise RuntimeError(f"PyTorch {version} is older than {OLDEST[0]}.{OLDEST[1]}: "
                           "install a newer one to use probes and the monitor")
    from mpopt import _torch_fallback

    _torch_fallback.register(os.environ.get("MPOPT_PROBE_GRADIENTS", "") not in ("", "0"))
    _reason = why


def _misfit(library: pathlib.Path | None, running: str) -> str | None:
    """Why the op library cannot serve this PyTorch. Before it is loaded: one for another
    version may not even load."""
    if library is None:
        return "this mpopt has no op library for PyTorch"
    built = library.with_suffix(".version")
    wanted = built.read_text().strip() if built.exists() else ""
    if not wanted or _release(running) == _release(wanted):
        return None
    return f"the op library was built for PyTorch {_release(wanted)}, and this is {running}"


def require() -> None:
    """Registers the ops for a caller that is about to use them, and announces the fallback in
    one line, once; `mpopt.Error` of one line that says what to install if it cannot be."""
    global _announced
    try:
        if not load():
            raise Error("the recorder for PyTorch is missing: install a wheel of mpopt, or set "
                        "MPOPT_BUILD to the folder of a build")
    except (RuntimeError, OSError) as error:
        raise Error(str(error).strip().splitlines()[0]) from error
    if _reason and not _announced:
        _announced = True
        print(f"mpopt: note: {_reason}: probes and the monitor run from Python, with the same results and "
              "more time a call (docs/probes.md)", file=sys.stderr)


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

    require()
    torch.ops.mpopt.record_gradients(enabled)

"""The probe op of PyTorch: `torch.ops.mpopt.probe`."""

from mpopt import _files


def load() -> None:
    """Loads the op library into PyTorch, once. Fails if there is none, or if it was
    built for another version: LibTorch has no stable C++ interface."""
    import torch

    library = _files.find("lib", "libmpopt_torch.so")
    if library is None:
        return
    built = _files.find("lib", "libmpopt_torch.version")
    wanted = built.read_text().strip() if built else ""
    if wanted and torch.__version__.split("+")[0] != wanted.split("+")[0]:
        raise RuntimeError(f"the op library was built for PyTorch {wanted}, and this is "
                           f"{torch.__version__}")
    torch.ops.load_library(str(library))

"""Registers the probe op with PyTorch when both are there.

A probed TorchScript archive can be loaded after `import mpopt`, before or after
`import torch`; a program that never imports PyTorch does not pay for it."""

import importlib.abc
import importlib.util
import pathlib
import sys
import warnings


def library_folder() -> pathlib.Path | None:
    """The folder of the installed PyTorch's libraries, found without importing it."""
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = pathlib.Path(next(iter(spec.submodule_search_locations))) / "lib"
    return folder if folder.is_dir() else None


def _load() -> None:
    from mpopt import _torch_ops

    try:
        _torch_ops.load()
    except Exception as error:  # noqa: BLE001: importing torch must not fail for us
        warnings.warn(f"mpopt: models with probes cannot be loaded: {error}",
                      RuntimeWarning, stacklevel=2)


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Waits for the import of torch and steps aside."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _load()

        spec.loader.exec_module = exec_module
        return spec


def install() -> None:
    """Loads the op library now if torch was imported, else when it is."""
    if "torch" in sys.modules:
        _load()
    elif not any(isinstance(finder, _AfterTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTorch())

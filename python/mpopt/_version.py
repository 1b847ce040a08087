"""The version of the installed package, whose name in indexes of packages is `mpopt-precision`.

PyPI's `mpopt` is another project, a solver of optimal control problems, whose module has the
same name: where both are installed, each has overwritten files of the other."""

import importlib.metadata
import pathlib

DISTRIBUTION = "mpopt-precision"

try:
    __version__ = importlib.metadata.version(DISTRIBUTION)
except importlib.metadata.PackageNotFoundError:  # a source tree
    __version__ = "0+source"


def other_package(folder: pathlib.Path) -> str | None:
    """One line on the other `mpopt`, if it is installed in `folder`, where this package lies."""
    if any(folder.glob("mpopt-[0-9]*.dist-info")):
        return (f"another package named 'mpopt' is installed in {folder}, and the two overwrite each other's files: "
                f"pip uninstall mpopt, then install the wheel of {DISTRIBUTION} again")
    return None

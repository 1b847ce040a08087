"""The version of the installed package."""

import importlib.metadata

try:
    __version__ = importlib.metadata.version("mpopt")
except importlib.metadata.PackageNotFoundError:  # a source tree
    __version__ = "0+source"

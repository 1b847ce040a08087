"""Paths of the package's parts that are not Python.

In an installed wheel they lie beside this file. In a source tree they are in a build
folder, which the environment variable MPOPT_BUILD names."""

import os
import pathlib

_PACKAGE = pathlib.Path(__file__).resolve().parent


def find(kind: str, name: str) -> pathlib.Path | None:
    """The file `name` in the package's folder `kind` (`bin`, `lib`), or of a build."""
    candidates = [_PACKAGE / kind / name]
    if build := os.environ.get("MPOPT_BUILD"):
        candidates.insert(0, pathlib.Path(build) / kind / name)
        candidates.insert(1, pathlib.Path(build) / name)
    for candidate in candidates:
        if candidate.exists():
            return candidate
    return None


def binary() -> pathlib.Path:
    """Path of the command-line tool."""
    found = find("bin", "mpopt")
    if found is None:
        raise FileNotFoundError(
            "the mpopt package has no mpopt binary: it was not installed from a wheel; "
            "set MPOPT_BUILD to the folder of a build")
    return found

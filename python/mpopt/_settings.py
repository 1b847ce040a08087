"""The settings of a project: the nearest `mpopt.toml`, or `pyproject.toml` with a table `[tool.mpopt]`."""

import pathlib
import re
from collections.abc import Mapping

from mpopt import _command, _input_files
from mpopt._command import Error, PathLike

FILE, PACKAGE = "mpopt.toml", "pyproject.toml"
#: Bytes of a file of settings.
LARGEST = 1 << 20
# A header of the table `tool.mpopt` or of one inside of it.
_HEADER = re.compile(rb"^\s*\[{1,2}\s*tool\.mpopt[\].]", re.MULTILINE)


def find(folder: PathLike | None = None) -> pathlib.Path | None:
    """The nearest file of settings in a folder or above it; default: the working directory."""
    here = pathlib.Path(folder or ".").resolve()
    for each in (here, *here.parents):
        if (each / FILE).is_file():
            return each / FILE
        if _has_table(each / PACKAGE):
            return each / PACKAGE
    return None


def _has_table(package: pathlib.Path) -> bool:
    """True for a file with a table of mpopt; one that cannot be read has none."""
    try:
        return package.is_file() and bool(_HEADER.search(_input_files.read(package, LARGEST)))
    except (Error, OSError):
        return False


def read(path: pathlib.Path, section: str) -> Mapping:
    """A table of the settings, empty where there is none."""
    with _command.argument(f"config: '{path}'"):
        data = _input_files.read(path, LARGEST)
    try:
        import tomllib
    except ImportError as error:
        if section.encode() not in data:
            return {}
        raise Error(f"config: reading '{path}' takes Python 3.11; config='none' leaves it out") from error
    with _command.argument(f"config: '{path}'"):
        table = tomllib.loads(data.decode("utf-8"))
        if path.name == PACKAGE:
            table = table.get("tool", {}).get("mpopt", {})
        found = table.get(section, {})
        if not isinstance(found, dict):
            raise ValueError(f"'{section}' is no table")
        return found

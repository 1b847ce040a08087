"""`python -m mpopt`, and the command `mpopt` of the wheel: the tool itself."""

import os
import pathlib
import sys

from mpopt import _command, _files, _version


def main() -> None:
    """Becomes the tool, so that signals, streams and the exit status are its own."""
    if other := _version.other_package(pathlib.Path(__file__).resolve().parent.parent):
        sys.exit(f"mpopt: error: {other}")
    try:
        binary = str(_files.binary())
    except FileNotFoundError as error:
        sys.exit(f"mpopt: error: {error}")
    os.execve(binary, ["mpopt", *sys.argv[1:]], _command.environment())


if __name__ == "__main__":
    main()

"""`python -m mpopt`, and the command `mpopt` of the wheel: the tool itself."""

import os
import pathlib
import sys
from typing import NoReturn

from mpopt import _command, _files, _version


def refuse(why: object) -> NoReturn:
    """Ends with the status of an error: 1 would say that there are findings."""
    # Only here, since it loads argparse.
    from mpopt import _console

    _console.print_error("mpopt", why)
    sys.exit(2)


def main() -> None:
    """Becomes the tool, so that signals, streams and the exit status are its own."""
    if other := _version.other_package(pathlib.Path(__file__).resolve().parent.parent):
        refuse(other)
    try:
        binary = str(_files.binary())
    except FileNotFoundError as error:
        refuse(error)
    os.execve(binary, ["mpopt", *sys.argv[1:]], _command.environment())


if __name__ == "__main__":
    main()

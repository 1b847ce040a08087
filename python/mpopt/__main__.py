"""`python -m mpopt`, and the command `mpopt` of the wheel: the tool itself."""

import os
import sys

from mpopt import _command, _files


def main() -> None:
    """Becomes the tool, so that signals, streams and the exit status are its own."""
    try:
        binary = str(_files.binary())
    except FileNotFoundError as error:
        sys.exit(f"mpopt: error: {error}")
    os.execve(binary, ["mpopt", *sys.argv[1:]], _command.environment())


if __name__ == "__main__":
    main()

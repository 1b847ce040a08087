"""Files that a command writes: whole or not at all, and none that it reads.

As the tool has both (lib/Driver/Output.cpp, lib/Driver/OutputConflicts.cpp)."""

import os
import secrets
import stat
import sys
from collections.abc import Sequence

from mpopt._command import Error, PathLike

#: An option, or the kind of what is read, and its path.
Named = tuple[str, PathLike]


def _identify(path: PathLike, stream: int) -> tuple | None:
    """A regular file, or the place where one would be made; `-` is `stream`. None for what
    cannot be overwritten: devices and pipes."""
    try:
        status = os.fstat(stream) if path == "-" else os.stat(path)
        return (status.st_dev, status.st_ino, "") if stat.S_ISREG(status.st_mode) else None
    except (OSError, ValueError):
        if path == "-":
            return None
    # A link that leads nowhere is a file in the folder that it leads to.
    folder, name = os.path.split(os.path.realpath(path))
    try:
        status = os.stat(folder or ".")
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, name


def check(outputs: Sequence[Named], inputs: Sequence[Named]) -> None:
    """`mpopt.Error` if an output would be written over an input, or over another output."""
    written: dict[tuple, Named] = {}
    for what, path in outputs:
        place = _identify(path, stream=1)
        if place is None:
            continue
        if place in written:
            raise Error(f"two outputs go to '{os.fspath(path)}'")
        written[place] = what, path
    for kind, path in inputs:
        place = _identify(path, stream=0)
        if place is not None and place in written:
            what, output = written[place]
            raise Error(f"{what}: '{os.fspath(output)}' would overwrite {kind} '{os.fspath(path)}'")


def is_stream(path: PathLike) -> bool:
    """True for a device, a pipe and the name of an open file, which are written in place."""
    text = os.fspath(path)
    if text == "-" or text.startswith(("/dev/std", "/dev/fd/", "/proc/")):
        return True
    return os.path.exists(text) and not os.path.isfile(text) and not os.path.isdir(text)


def _write_stream(path: str, data: bytes) -> None:
    if path == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    with open(path, "ab", buffering=0) as file:
        file.write(data)


def _write_file(path: str, data: bytes) -> None:
    target = os.path.realpath(path)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = None
    if os.path.isdir(target):
        raise IsADirectoryError(None, "Is a directory")
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f"{name[:200]}.{secrets.token_hex(3)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            if mode is not None:
                os.fchmod(descriptor, mode)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def write(path: PathLike, data: str | bytes) -> None:
    """Writes a file: under a temporary name beside it, then renamed; a link is written through.
    `-` is standard output. `mpopt.Error` if that fails; the file is then as it was."""
    text = os.fspath(path)
    encoded = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    try:
        (_write_stream if is_stream(text) else _write_file)(text, encoded)
    except BrokenPipeError:
        # The reader of the pipe has closed it.
        if text == "-":
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError) as error:
        shown = "standard output" if text == "-" else f"'{text}'"
        raise Error(f"cannot write {shown}: {getattr(error, 'strerror', None) or error}") from error

"""The bytes of files that a user named: bounded, and of what has an end.

The same as the tool's own (lib/Support/InputFile.cpp): a device is refused, a pipe is read if
something writes to it, and no reader waits for one that nothing does."""

import os
import select
import stat

from mpopt._command import FileError, PathLike

#: Seconds in which a pipe without a writer gets one.
PATIENCE = 2.0


class Unreadable(FileError):
    """`reason` does not name the file."""

    def __init__(self, path: PathLike, reason: str):
        super().__init__(f"{os.fspath(path)}: {reason}")
        self.reason = reason


def _kind_fault(mode: int) -> str:
    """Why a file of this kind is not read; empty if it is."""
    if stat.S_ISDIR(mode):
        return "is a directory"
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        return ""
    return "is a device, not a file"


def _why(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "cannot be read: there is not enough memory"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _read_stream(descriptor: int, path: PathLike, limit: int) -> bytes:
    parts, left = [], limit
    while part := os.read(descriptor, 1 << 20):
        left -= len(part)
        if left < 0:
            raise Unreadable(path, f"is larger than {_size(limit)}")
        parts.append(part)
    return b"".join(parts)


def _size(limit: int) -> str:
    return f"{limit >> 20} MB" if limit >> 20 else f"{limit} bytes"


def _read_pipe(descriptor: int, path: PathLike, limit: int) -> bytes:
    """The bytes of a pipe that was opened without waiting for a writer: without a writer reads
    end at once, with a slow one they raise BlockingIOError."""
    select.select([descriptor], [], [], PATIENCE)
    try:
        if not (begun := os.read(descriptor, 1)):
            raise Unreadable(path, "is a pipe that nothing writes to")
    except BlockingIOError:
        begun = b""
    os.set_blocking(descriptor, True)
    return begun + _read_stream(descriptor, path, limit - len(begun))


def _open(path: PathLike) -> int:
    if path == "-":
        return os.dup(0)
    # Without O_NONBLOCK the open itself would wait for a pipe's writer.
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)


def read(path: PathLike, limit: int) -> bytes:
    """The bytes of a file of at most `limit` of them; `-` is standard input. `Unreadable` for
    one that is larger, no file or not there."""
    try:
        descriptor = _open(path)
    except (OSError, ValueError) as error:
        raise Unreadable(path, _why(error)) from error
    try:
        status = os.fstat(descriptor)
        if path == "-":
            return _read_stream(descriptor, path, limit)
        if fault := _kind_fault(status.st_mode):
            raise Unreadable(path, fault)
        if stat.S_ISFIFO(status.st_mode):
            return _read_pipe(descriptor, path, limit)
        if status.st_size > limit:
            raise Unreadable(path, f"is larger than {_size(limit)}")
        return _read_stream(descriptor, path, limit)
    except (OSError, MemoryError) as error:
        raise Unreadable(path, _why(error)) from error
    finally:
        os.close(descriptor)


def check(path: PathLike) -> os.stat_result:
    """Refuses what is no regular file, for readers that open it themselves."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise Unreadable(path, _why(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(path, _kind_fault(status.st_mode) or "is a pipe, not a file")
    return status

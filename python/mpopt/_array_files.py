"""Archives of arrays that a user named."""

import os
import zipfile

from mpopt import _input_files
from mpopt._command import Error, PathLike

#: Bytes of arrays that an archive unpacks to, but for those that lie in it as they are.
MOST_UNPACKED = 4 << 30


def _check_size(file: PathLike) -> None:
    """Refuses what is no regular file, and an archive that unpacks to far more than it is."""
    size = _input_files.check(file).st_size
    with zipfile.ZipFile(file) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(MOST_UNPACKED, 2 * size):
        raise Error(f"'{os.fspath(file)}' cannot be read: it unpacks to more than {MOST_UNPACKED >> 30} GB")


def read(file: PathLike) -> dict:
    """The arrays of an .npz archive by name. `mpopt.Error` if it is none."""
    import numpy

    try:
        _check_size(file)
        with numpy.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Error:
        raise
    except Exception as error:  # noqa: BLE001: NumPy passes on those of zipfile, zlib and of Python's tokenizer.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Error(f"'{os.fspath(file)}' cannot be read: {reason}") from None
    for name, array in arrays.items():
        if not isinstance(array, numpy.ndarray):
            raise Error(f"'{name}' in '{os.fspath(file)}' is no array")
    return arrays

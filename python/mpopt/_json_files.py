"""Bounded JSON: reports, ledgers, lists of ops."""

import json
import typing

from mpopt import _input_files
from mpopt._command import PathLike
from mpopt._input_files import Unreadable

#: A report or a ledger has about a kilobyte for each tensor; Python takes up to 20 times the bytes.
LARGEST = 64 << 20
#: Levels of arrays and objects, as in lib/Support/BoundedJson.cpp.
DEEPEST = 64
#: A double has at most 309 digits before its point.
MOST_DIGITS = 400


def _refuse_constant(name: str):
    raise ValueError(f"{name} is not a number of JSON")


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has {len(text)} digits")
    return int(text)


def parse(text: str | bytes) -> typing.Any:
    """The value of a text; `ValueError` of one line if it is not JSON, or nests deeper than DEEPEST."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8") from error
    except RecursionError as error:
        raise ValueError("is nested too deep to be JSON of mpopt") from error
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from error
    if _is_too_deep(value):
        raise ValueError("is nested too deep to be JSON of mpopt")
    return value


def _is_too_deep(value) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)
                 if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def read(path: PathLike) -> typing.Any:
    """The value in a file. `Unreadable`, a `mpopt.Error`, if there is none."""
    data = _input_files.read(path, LARGEST)
    try:
        return parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable(path, "is not UTF-8") from error
    except MemoryError as error:
        raise Unreadable(path, "cannot be read: there is not enough memory") from error
    except ValueError as error:
        raise Unreadable(path, str(error)) from error

"""Records (kernels/include/mpopt/Kernels/RecordFile.h) whose checksums are right: what is read behind them."""

from __future__ import annotations

import ctypes
import hashlib
import random
from collections.abc import Iterator

from mpopt import recorder
from mpopt.monitor import reading

_HEADER, _EXTENT, _COPY = (ctypes.sizeof(each) for each in (reading._Header, reading._Extent, reading._Copy))


def _checksum(seed: int, data: bytes) -> int:
    function = recorder.library().mpopt_checksum
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
    return function(seed, data, len(data))


def _put(data: bytearray, at: int, number: int) -> None:
    data[at:at + 8] = number.to_bytes(8, "little")


def tie(record: bytes, ledger: bytes) -> bytes:
    """The record as one of a ledger."""
    made = bytearray(record)
    at = reading._Header.ledger.offset
    made[at:at + 32] = hashlib.sha256(ledger).digest()
    _sign_header(made)
    return bytes(made)


def _sign_header(data: bytearray) -> None:
    at = reading._Header.checksum.offset
    _put(data, at, _checksum(0, bytes(data[:at])))


def _list_copies(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Where an extent, and each of its copies, begins and how long the copy is."""
    at = _HEADER
    while at + _EXTENT <= len(data):
        extent = reading._Extent.from_buffer_copy(data, at)
        if not 0 < extent.copy_bytes <= len(data):
            return
        for copy in (at + _EXTENT, at + _EXTENT + extent.copy_bytes):
            yield at, copy, extent.copy_bytes
        at += _EXTENT + 2 * extent.copy_bytes


def of_record(data: bytes, rng: random.Random) -> bytes:
    """Numbers of a record that are others, under a checksum that fits."""
    made = bytearray(data)
    copies = [each for each in _list_copies(data) if each[1] + each[2] <= len(data)]
    if not copies:
        return data
    for _ in range(rng.choice((1, 1, 2, 8))):
        extent, copy, length = rng.choice(copies)
        at = copy + _COPY + rng.randrange(length - _COPY)
        if rng.random() < .2:
            at = extent + rng.randrange(reading._Extent.checksum.offset)
        number = rng.choice((0, 1, 0xff, 0x7f, 0x80, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0x7ff0000000000000, 0x7ff8000000000000))
        size = rng.choice((1, 4, 8))
        made[at:at + size] = (number & (1 << 8 * size) - 1).to_bytes(size, "little")
        field = reading._Extent.checksum.offset
        _put(made, extent + field, _checksum(0, bytes(made[extent:extent + field])))
        sequence = int.from_bytes(made[copy:copy + 8], "little")
        _put(made, copy + 8, _checksum(sequence, bytes(made[copy + _COPY:copy + length])))
    return bytes(made[:len(data)])

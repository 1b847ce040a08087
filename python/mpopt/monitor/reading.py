"""Record files, read and merged without the tool (RecordFile.h has the layout)."""

import contextlib
import ctypes
import hashlib
import os
import pathlib
from collections.abc import Sequence

from mpopt import _input_files, recorder
from mpopt._command import Error, PathLike
from mpopt.monitor.record import Ledger
from mpopt.recorder import KINDS, Record

_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64
#: A record has 4 kilobytes for each tensor that was probed, twice.
LARGEST = 1 << 30
_EXTENT_MAGIC, _ENDIAN = 0x42505845, 0x01020304


class _Header(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_char * 8), ("endian", _U32), ("version", _U32),
                ("header_bytes", _U32), ("record_bytes", _U32), ("ledger", ctypes.c_uint8 * 32),
                ("pid", _U64), ("start_ns", _U64), ("host", ctypes.c_char * 64),
                ("runtime", ctypes.c_char * 64), ("checksum", _U64), ("closed", _U64)]


class _Extent(ctypes.Structure):
    _fields_ = [("magic", _U32), ("probe", _U32), ("kind", _U32), ("channels", _U32),
                ("copy_bytes", _U64), ("checksum", _U64)]


class _Copy(ctypes.Structure):
    _fields_ = [("sequence", _U64), ("checksum", _U64)]


class RunFile:
    """One record file: the records by probe and kind, in the order in which they began.

    ledger  SHA-256 of its ledger, 64 hex digits
    closed  whether the process ended it in order

    Raises `mpopt.Error` for what is no record of this version."""

    def __init__(self, path: PathLike):
        self.path = os.fspath(path)
        data = _input_files.read(path, LARGEST)
        size = ctypes.sizeof(_Header)
        if len(data) < size or not data.startswith(b"MPREC\r\n\x1a"):
            raise Error(f"{self.path}: is no record of probes")
        header = _Header.from_buffer_copy(data)
        if (header.endian, header.version, header.header_bytes, header.record_bytes) != (
                _ENDIAN, 1, size, ctypes.sizeof(Record)):
            raise Error(f"{self.path}: is a record of another version or machine")
        self.ledger, self.closed = bytes(header.ledger).hex(), header.closed == 1
        self.records: dict[tuple[int, int], Record] = {}
        self._read(data, size)

    def _read(self, data: bytes, offset: int) -> None:
        checksum = recorder.library().mpopt_checksum
        checksum.restype, checksum.argtypes = _U64, [_U64, ctypes.c_char_p, ctypes.c_size_t]
        head, record_bytes = ctypes.sizeof(_Extent), ctypes.sizeof(Record)
        copy_head = ctypes.sizeof(_Copy)
        while offset + head <= len(data):
            extent = _Extent.from_buffer_copy(data, offset)
            if extent.magic != _EXTENT_MAGIC or extent.copy_bytes < copy_head + record_bytes:
                return  # The rest was not written whole.
            offset += head
            best, sequence = None, 0
            for place in (offset, offset + extent.copy_bytes):
                if place + extent.copy_bytes > len(data):
                    continue
                copy = _Copy.from_buffer_copy(data, place)
                body = data[place + copy_head:place + extent.copy_bytes]
                if copy.sequence > sequence and \
                        checksum(copy.sequence, body, len(body)) == copy.checksum:
                    best, sequence = Record.from_buffer_copy(body), copy.sequence
            if best is not None and best.kind < len(KINDS):
                self.records[best.probe, best.kind] = best
            offset += 2 * extent.copy_bytes


def find_ledger(record: PathLike, digest: str) -> pathlib.Path:
    """The ledger of a record among the `*.probes.json` beside it; `mpopt.Error` if it is not
    there."""
    folder = pathlib.Path(record).resolve().parent
    for path in sorted(folder.glob("*.probes.json")):
        with contextlib.suppress(_input_files.Unreadable):
            _input_files.check(path)
            if hashlib.sha256(_input_files.read(path, recorder.LARGEST_LEDGER)).hexdigest() == digest:
                return path
    raise Error(f"{os.fspath(record)}: its ledger ({digest[:12]}...) is not in '{folder}'")


def read(records: PathLike | Sequence[PathLike], ledger: PathLike | None = None
         ) -> dict[tuple[str, str], Record]:
    """The merged records of a run's files, those of its ranks, by the name of what was recorded
    and the kind (`value`, `gradient`, `parameter`, `optimizer`, `scalar`), in the order in which
    they began. Merging is exact and in any order the same. `mpopt.Error` for files of different
    ledgers."""
    paths = [records] if isinstance(records, str | os.PathLike) else list(records)
    if not paths:
        raise Error("there is no record to read")
    files = [RunFile(path) for path in paths]
    if len({file.ledger for file in files}) > 1:
        raise Error(f"{files[1].path}: is a record of another ledger than '{files[0].path}'")
    path = find_ledger(paths[0], files[0].ledger) if ledger is None else pathlib.Path(ledger)
    known = Ledger.read(path)
    merge = recorder.library().mpopt_record_merge
    merge.argtypes = [ctypes.POINTER(Record)] * 2
    merged: dict[tuple[str, str], Record] = {}
    for file in files:
        for (probe, kind), record in file.records.items():
            if probe >= len(known.probes):
                raise Error(f"{file.path}: has a record of probe {probe}, which '{path}' has not")
            key = known.probes[probe]["tensor"], KINDS[kind]
            if key in merged:
                merge(ctypes.byref(merged[key]), ctypes.byref(record))
            else:
                merged[key] = record
    return merged


def mean(record: Record) -> float:
    """Over finite values; NaN if there are none."""
    return _number("mpopt_record_mean", record)


def root_mean_square(record: Record) -> float:
    """Over finite values; NaN if there are none."""
    deviation = _number("mpopt_record_stddev", record)
    return (deviation ** 2 + mean(record) ** 2) ** 0.5


def _number(function: str, record: Record) -> float:
    call = getattr(recorder.library(), function)
    call.restype, call.argtypes = ctypes.c_double, [ctypes.POINTER(Record)]
    return call(ctypes.byref(record))

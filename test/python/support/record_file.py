"""Reads .mprec files (kernels/include/mpopt/Kernels/RecordFile.h) for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FORMATS = ["f16", "bf16", "e4m3", "e5m2", "f32"]
NEVER = 2**64 - 1

HEADER = np.dtype([
    ("magic", "S8"), ("endian", "u4"), ("version", "u4"), ("header_bytes", "u4"),
    ("record_bytes", "u4"), ("ledger", "V32"), ("pid", "u8"), ("start_ns", "u8"),
    ("host", "S64"), ("runtime", "S64"), ("checksum", "u8"), ("closed", "u8")])
EXTENT = np.dtype([("magic", "u4"), ("probe", "u4"), ("kind", "u4"), ("channels", "u4"),
                   ("copy_bytes", "u8"), ("checksum", "u8")])
COPY = np.dtype([("sequence", "u8"), ("checksum", "u8")])
EDGE = np.dtype([("beyond_max", "u8"), ("not_finite", "u8"), ("rounds_to_zero", "u8")])
SUM = np.dtype([("limb", "u8", 34), ("lost", "u8")])
RECORD = np.dtype(
    [(name, "u4") for name in ("version", "bytes", "probe", "kind", "dtype", "flags",
                               "channels", "rank")]
    + [("dim_min", "i8", 8), ("dim_max", "i8", 8)]
    + [(name, "u8") for name in ("calls", "skipped", "count", "nan", "pos_inf", "neg_inf",
                                 "zero")]
    + [(name, "f8") for name in ("min", "max", "absmax", "min_nonzero")]
    + [(name, "u8") for name in ("first_step", "last_step", "first_nan_step",
                                 "first_inf_step", "absmax_step", "min_nonzero_step")]
    + [("first_overflow_step", "u8", 5), ("first_flush_step", "u8", 5),
       ("histogram", "u8", 280), ("edge", EDGE, 5), ("sum", SUM), ("sum_squares", SUM)])
assert RECORD.itemsize == 3296 and HEADER.itemsize == 216


def read(path: Path) -> tuple[np.void, dict[int, tuple[np.void, np.ndarray]]]:
    """The header, and each probe's newest record with its channel ranges."""
    data = Path(path).read_bytes()
    header = np.frombuffer(data, HEADER, 1)[0]
    assert header["magic"] == b"MPREC\r\n\x1a" and header["record_bytes"] == RECORD.itemsize
    probes = {}
    at = HEADER.itemsize
    while at < len(data):
        extent = np.frombuffer(data, EXTENT, 1, at)[0]
        at += EXTENT.itemsize
        starts = [at, at + int(extent["copy_bytes"])]
        start = max(starts, key=lambda s: np.frombuffer(data, COPY, 1, s)[0]["sequence"])
        record = np.frombuffer(data, RECORD, 1, start + COPY.itemsize)[0]
        ranges = np.frombuffer(data, "f8", 2 * int(record["channels"]),
                               start + COPY.itemsize + RECORD.itemsize).reshape(-1, 2)
        probes[int(extent["probe"])] = (record, ranges)
        at += 2 * int(extent["copy_bytes"])
    return header, probes


def exact(total: np.void) -> float:
    """An exact sum as a double."""
    number = sum(int(limb) << (64 * i) for i, limb in enumerate(total["limb"]))
    if number >> (64 * 34 - 1):
        number -= 1 << (64 * 34)
    return number / 2**1074 if number == 0 else float(_ratio(number))


def _ratio(number: int):
    from fractions import Fraction
    return Fraction(number, 1 << 1074)

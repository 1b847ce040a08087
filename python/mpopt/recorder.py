"""The recorder that all op libraries of a process share (Kernels/Recorder.h)."""

import ctypes
import hashlib
import os
import pathlib
import weakref
from collections.abc import Mapping

from mpopt import _files, _input_files, _json_files, _output_files
from mpopt._command import Error, PathLike, argument

LARGEST_LEDGER = _json_files.LARGEST
NEVER = 2**64 - 1
FORMATS = ("f16", "bf16", "e4m3", "e5m2", "f32")
_BINS, _LIMBS, _DIMS = 280, 34, 8
# The subject of a record, by its kind's number.
KINDS = ("value", "gradient", "parameter", "optimizer", "scalar")
_SCALAR = KINDS.index("scalar")
# Flags of a record: its steps are those of runs, or the number of a probe's own calls.
STEPS_SHARED, STEPS_COUNTED = 16, 32
# Statistics as outputs lack a histogram and sums, and most shapes.
NO_DISTRIBUTION, NO_SHAPE = 64, 128
# The numbers of element types, by their names in the ledger.
DTYPES = {"f32": 1, "ui8": 2, "i8": 3, "ui16": 4, "i16": 5, "i32": 6, "i64": 7, "i1": 9,
          "f16": 10, "f64": 11, "ui32": 12, "ui64": 13, "bf16": 16, "f8E4M3FN": 17,
          "f8E4M3FNUZ": 18, "f8E5M2": 19, "f8E5M2FNUZ": 20}
_U32, _U64, _F64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_double


class _Edge(ctypes.Structure):
    _fields_ = [("beyond_max", _U64), ("not_finite", _U64), ("rounds_to_zero", _U64)]


class _ExactSum(ctypes.Structure):
    _fields_ = [("limb", _U64 * _LIMBS), ("lost", _U64)]


class Record(ctypes.Structure):
    """`mpopt_record` (Kernels/Record.h), version 1."""

    _fields_ = [
        *((name, _U32) for name in ("version", "bytes", "probe", "kind", "dtype", "flags",
                                    "channels", "rank")),
        ("dim_min", ctypes.c_int64 * _DIMS), ("dim_max", ctypes.c_int64 * _DIMS),
        *((name, _U64) for name in ("calls", "skipped", "count", "nan", "pos_inf", "neg_inf",
                                    "zero")),
        *((name, _F64) for name in ("min", "max", "absmax", "min_nonzero")),
        *((name, _U64) for name in ("first_step", "last_step", "first_nan_step",
                                    "first_inf_step", "absmax_step", "min_nonzero_step")),
        ("first_overflow_step", _U64 * len(FORMATS)), ("first_flush_step", _U64 * len(FORMATS)),
        ("histogram", _U64 * _BINS), ("edge", _Edge * len(FORMATS)),
        ("sum", _ExactSum), ("sum_squares", _ExactSum),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", _U32), ("rank", _U32),
                ("dims", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("channel_axis", ctypes.c_int32), ("reserved", _U32)]


class _Status(ctypes.Structure):
    _fields_ = [("probes", _U64), ("calls", _U64), ("skipped", _U64), ("flushes", _U64),
                ("bytes", _U64), ("error", ctypes.c_int32), ("enabled", ctypes.c_int32),
                ("period", _U32), ("reserved", _U32), ("path", ctypes.c_char * 1024)]


def _load() -> ctypes.CDLL:
    file = _files.find("lib", "libmpopt_record.so")
    if file is None:
        raise Error("this mpopt was built without the recorder library")
    library = ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL)
    recorder, record = ctypes.c_void_p, ctypes.POINTER(Record)
    for name, result, arguments in (
            ("open", recorder, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p]),
            ("set_step", None, [recorder, _U64]), ("begin_run", None, [recorder, ctypes.c_int]),
            ("enable", None, [recorder, ctypes.c_int]),
            ("set_period", None, [recorder, _U32]), ("flush", ctypes.c_int, [recorder]),
            ("flush_if_due", None, [recorder]),
            ("close", ctypes.c_int, [recorder]),
            ("begin", ctypes.c_int, [recorder, _U32, _U32, ctypes.POINTER(_U64)]),
            ("merge", ctypes.c_int, [recorder, record, ctypes.c_void_p]),
            ("observe", None, [recorder, _U32, _U32, ctypes.POINTER(_Tensor), ctypes.c_void_p]),
            ("follow", recorder, [ctypes.c_char_p, ctypes.c_char_p]), ("generation", _U64, []),
            ("read", ctypes.c_int, [recorder, _U32, _U32, record, ctypes.c_void_p, _U32]),
            ("get_status", None, [recorder, ctypes.POINTER(_Status)])):
        function = getattr(library, f"mpopt_recorder_{name}")
        function.restype, function.argtypes = result, arguments
    library.mpopt_recorder_end.restype, library.mpopt_recorder_end.argtypes = None, []
    library.mpopt_sum_squares.restype, library.mpopt_sum_squares.argtypes = _F64, [ctypes.c_void_p, _U64]
    library.mpopt_add_squares.argtypes = [ctypes.POINTER(_Tensor), ctypes.c_void_p, ctypes.c_void_p]
    library.mpopt_record_init.argtypes = [record, _U32, _U32]
    library.mpopt_record_init.restype = None
    return library


_library = None
#: Functions of a recorder in it, by their name.
_functions: dict = {}


def library() -> ctypes.CDLL:
    """libmpopt_record.so, loaded once and before any op library that needs it."""
    global _library
    if _library is None:
        _library = _load()
        _end_with_process(_library)
    return _library


def _end_with_process(library: ctypes.CDLL) -> None:
    """Children of `multiprocessing` end by `os._exit`, which passes the library's own end
    over: their finalizers run."""
    from multiprocessing import util

    def install(_=None):
        # Last, when queues and pools have ended. A child forgets its parent's.
        util.Finalize(None, library.mpopt_recorder_end, exitpriority=-100)

    install()
    util.register_after_fork(library, install)


def ledger_hash(ledger: PathLike) -> bytes:
    """The SHA-256 of a ledger's bytes, which ties records to it."""
    return hashlib.sha256(_input_files.read(ledger, LARGEST_LEDGER)).digest()


# The open recorders of each ledger that somebody still has.
_open: dict[bytes, "weakref.WeakSet[Recorder]"] = {}
# The path pattern of each recorder by handle; the library never frees one.
_patterns: dict[int, str] = {}


class Recorder:
    """The process's recorder for one ledger; several objects share it. Also a context
    manager that closes it.

    record  path pattern of the file: %p is the process id, %h the host, %l the ledger's
            first hex digits. Default: that of the recorder that the ledger has, else the
            variable MPOPT_RECORD, else `mpopt-%p.mprec`.
    beside  allows another recorder of the ledger with another file at the same time, as
            sessions of ONNX Runtime have; otherwise that raises `Error`

    Probed TorchScript archives record to the one that was opened last, and after it was
    closed still to that one, until there is another. A session of ONNX Runtime keeps its
    first recorder."""

    def __init__(self, ledger: PathLike | bytes, record: PathLike | None = None,
                 runtime: str = "python", *, beside: bool = False):
        digest = ledger if isinstance(ledger, bytes) else ledger_hash(ledger)
        self._handle = None
        self._ledger = None if isinstance(ledger, bytes) else pathlib.Path(ledger)
        self._scalars: dict[str, int] | None = None
        if record is not None and self._ledger is not None:
            _output_files.check([("record", record)], [("the ledger", self._ledger)])
        others = _open.setdefault(digest, weakref.WeakSet())
        if record is not None and not beside:
            for other in others:
                if other._handle and other._pattern != str(record):
                    raise Error(f"the probes of this ledger record to '{other._pattern}': close "
                                "that recorder first, or name no other file")
        pattern = None if record is None else str(record).encode()
        self._handle = library().mpopt_recorder_open(pattern, digest, runtime.encode())
        if not self._handle:
            raise MemoryError
        self._shared = self._handle
        self._pattern = _patterns.setdefault(
            self._handle, str(record) if record is not None else
            os.environ.get("MPOPT_RECORD") or "mpopt-%p.mprec")
        others.add(self)

    def _call(self, name: str, *arguments):
        if not self._handle:
            raise ValueError("the recorder is closed")
        function = _functions.get(name)
        if function is None:
            function = _functions[name] = getattr(library(), f"mpopt_recorder_{name}")
        return function(self._handle, *arguments)

    def set_step(self, step: int) -> None:
        """Assigns the calls of all probes from now on to `step`. Without it runs are counted:
        see `begin_run`."""
        self._call("set_step", step)

    def begin_run(self, here: bool = True) -> None:
        """The model runs once more, on this thread: until its next one, the thread's calls
        belong to this run, unless `set_step` says otherwise. `probe_session` and probed
        TorchScript archives do this by themselves; also after `close`.

        here  False: on some other thread. Calls of threads that announced nothing have their
              run's number only where one thread announces all, and `--confirm` takes the
              others as in no order"""
        # The library never frees a recorder: a session that outlives this object records on.
        library().mpopt_recorder_begin_run(self._shared, int(here))

    def enable(self, enabled: bool = True) -> None:
        """Sets whether probes record; if not, a probe costs one call."""
        self._call("enable", int(enabled))

    def set_period(self, period: int) -> None:
        """Record the steps that are multiples of `period`."""
        self._call("set_period", period)

    def flush(self) -> None:
        """Writes the file; `OSError` if that fails."""
        if code := self._call("flush"):
            raise OSError(code, f"cannot write {self.path}")

    def scalar(self, name: str, value: float) -> None:
        """Records a number of this step that the model does not hold. Ledgers of `--train`
        have `loss_scale`, by which the loss is multiplied: `--confirm` needs it to judge
        gradients at another scale. `ValueError` if the ledger has no scalar of the name."""
        if self._scalars is None:
            if self._ledger is None:
                raise ValueError("a recorder that was made of a hash knows no names of scalars")
            with argument("the ledger"):
                self._scalars = {probe["tensor"]: probe["id"] for probe in _json_files.read(self._ledger)["probes"]
                                 if probe["role"] == "scalar"}
        if name not in self._scalars:
            known = ", ".join(self._scalars) or "none: mpopt --instrument --train writes them"
            raise ValueError(f"the ledger has no scalar '{name}' ({known})")
        number = _F64(value)
        tensor = _Tensor(ctypes.addressof(number), DTYPES["f64"], 0, None, None, -1, 0)
        self._call("observe", self._scalars[name], _SCALAR, ctypes.byref(tensor), None)

    def read(self, probe: int, kind: int = 0) -> Record | None:
        """The record of a probe so far, of a kind by its number in `KINDS`; None if it was
        never called."""
        record = Record()
        if not self._call("read", probe, kind, ctypes.byref(record), None, 0):
            return None
        return record

    def begin(self, probe: int, kind: int = 0) -> int | None:
        """Counts a call of a probe whose statistics are merged in later, and says which
        step it belongs to; None if it is not to be recorded."""
        step = _U64()
        return step.value if self._call("begin", probe, kind, ctypes.byref(step)) else None

    def merge(self, record: Record) -> None:
        """Adds a record that was made elsewhere; `ValueError` if it is malformed."""
        if not self._call("merge", ctypes.byref(record), None):
            raise ValueError("a malformed record")

    @property
    def status(self) -> Mapping[str, int]:
        """`probes`, `calls`, `skipped`, `flushes`, `bytes` and `error` (an errno)."""
        status = _Status()
        self._call("get_status", ctypes.byref(status))
        return {name: getattr(status, name)
                for name in ("probes", "calls", "skipped", "flushes", "bytes", "error")}

    @property
    def path(self) -> str:
        """Path of the record file; empty before the first probe has run."""
        if not self._handle:
            return self._last_path
        status = _Status()
        self._call("get_status", ctypes.byref(status))
        return status.path.decode()

    def close(self) -> None:
        """Flushes, and marks the file as ended in order, until a session that is still
        there runs again."""
        if self._handle:
            self._last_path = self.path
            library().mpopt_recorder_close(self._handle)
            self._handle = None

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def new_record(probe: int, kind: int = 0) -> Record:
    """An empty record, to be filled in and merged."""
    record = Record()
    library().mpopt_record_init(ctypes.byref(record), probe, kind)
    if record.bytes != ctypes.sizeof(Record):
        raise Error("libmpopt_record.so is of another version than this package")
    return record

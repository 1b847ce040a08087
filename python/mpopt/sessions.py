"""Probed ONNX models in ONNX Runtime."""

import pathlib
import re
from collections.abc import Sequence

from mpopt import _files
from mpopt._command import Error, PathLike
from mpopt.recorder import Recorder, library


def op_library() -> pathlib.Path:
    """The custom op library, for `SessionOptions.register_custom_ops_library`. ONNX
    Runtime 1.16 and newer."""
    found = _files.find("lib", "libmpopt_ort.so")
    if found is None:
        raise Error("this mpopt was built without the op library for ONNX Runtime")
    library()  # the recorder it shares with everything else in this process
    return found


def find_ledger_hash(model: PathLike) -> bytes:
    """The hash that a probed model carries: of its metadata, which lie at the end of
    the file."""
    with open(model, "rb") as file:
        file.seek(0, 2)
        size = file.tell()
        for length in (1 << 16, 1 << 24, size):
            file.seek(max(0, size - length))
            found = re.findall(rb"mpopt\.ledger_sha256\x12\x40([0-9a-f]{64})", file.read())
            if found:
                return bytes.fromhex(found[-1].decode())
            if length >= size:
                break
    raise Error(f"'{model}' has no probes: write it with mpopt.instrument")


def probe_session(model: PathLike, *, record: PathLike | None = None,
                  providers: Sequence | None = None, sess_options=None, **arguments):
    """An `onnxruntime.InferenceSession` of a probed model whose probes record. Its
    attribute `recorder` is the `Recorder`; call `session.recorder.flush()` to have the
    file up to date, `.close()` at the end.

    record        path pattern of the record file (see `Recorder`)
    sess_options  yours, to which the op library is added
    providers     default: CPU

    Optimisations are as in `sess_options`; docs/instrument.md says what fusions a probe
    can prevent."""
    import onnxruntime

    digest = find_ledger_hash(model)
    options = sess_options or onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(op_library()))
    recorder = Recorder(digest, record, f"onnxruntime {onnxruntime.__version__}")
    try:
        session = onnxruntime.InferenceSession(
            str(model), options, providers=providers or ["CPUExecutionProvider"], **arguments)
    except Exception:
        recorder.close()
        raise
    session.recorder = recorder
    return session

"""Probed ONNX models in ONNX Runtime."""

import functools
import os
import pathlib
import re
from collections.abc import Sequence

from mpopt import _files, _input_files, _output_files
from mpopt._command import Error, PathLike, argument
from mpopt._statistic_outputs import record_outputs
from mpopt.recorder import Recorder, library


def op_library() -> pathlib.Path:
    """Path of the custom op library, for `SessionOptions.register_custom_ops_library` of
    ONNX Runtime 1.16 or newer. Raises `mpopt.Error` if this build has none."""
    found = _files.find("lib", "libmpopt_ort.so")
    if found is None:
        raise Error("this mpopt was built without the op library for ONNX Runtime")
    library()  # the recorder it shares with everything else in this process
    return found


def find_ledger_hash(model: PathLike) -> bytes:
    """The SHA-256 of the ledger, from a probed model's metadata, which lie at the end of
    the file. Raises `mpopt.Error` if it has none."""
    with argument("the model"):
        _input_files.check(model)
    with argument("the model"), open(os.fspath(model), "rb") as file:
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
    sess_options  `SessionOptions`, to which the op library is added; default: new ones
    providers     execution providers; default: CPU
    arguments     further arguments of `InferenceSession`

    Each run is a step of its own: 0, 1 and so on over all sessions of this model. To count
    otherwise, call `session.recorder.set_step(n)` before each run.

    Where probes are outputs (`probe_with="outputs"`) `run` records them and returns the
    other outputs; ways to run that return no arrays raise `Error`.

    Optimisations are as in `sess_options`; docs/instrument.md says what fusions a probe
    can prevent."""
    import onnxruntime

    digest = find_ledger_hash(model)
    if record is not None:
        _output_files.check([("record", record)], [("the model", model)])
    options = sess_options or onnxruntime.SessionOptions()
    missing = None
    try:
        options.register_custom_ops_library(str(op_library()))
    except Error as error:
        missing = error  # Probes that are outputs do without.
    recorder = Recorder(digest, record, f"onnxruntime {onnxruntime.__version__}",
                        beside=True)
    try:
        session = _session_class()(
            str(model), options, providers=providers or ["CPUExecutionProvider"], **arguments)
    except Exception:
        recorder.close()
        raise
    session.recorder = recorder
    if not record_outputs(session, recorder) and missing:
        recorder.close()
        raise missing
    return session


@functools.cache
def _session_class() -> type:
    """Sessions that tell the recorder of each run, so that calls of different probes in one
    run have one step. Made when ONNX Runtime is needed."""
    import onnxruntime

    class ProbedSession(onnxruntime.InferenceSession):
        recorder: Recorder

    def announcing(name):
        original = getattr(onnxruntime.InferenceSession, name)

        @functools.wraps(original)
        def run(self, *arguments, **keywords):
            self.recorder.begin_run(here=name != "run_async")
            return original(self, *arguments, **keywords)

        return run

    for name in ("run", "run_async", "run_with_iobinding", "run_with_ort_values",
                 "run_with_ortvaluevector"):
        if hasattr(onnxruntime.InferenceSession, name):
            setattr(ProbedSession, name, announcing(name))
    return ProbedSession

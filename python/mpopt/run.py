"""Runs a probed ONNX model and leaves a record for `mpopt --confirm`.

    python -m mpopt.run probed.onnx --data x.npz | --random N
                        [--device cpu|cuda] [--record FILE] [--dim NAME=N] [--confirm]

`--data`: arrays under the inputs' names, each of the input's rank for one step, or with
one axis more in front for many. `--random N`: N steps drawn from what the ledger says is
assumed of the inputs. Ctrl-C ends the run after the step it is in; the record is whole."""

import argparse
import json
import pathlib
import signal
import sys
import time

import numpy

from mpopt import _command, sessions
from mpopt.recorder import FORMATS, Recorder, new_record

_KINDS = {"float16": "float16", "float": "float32", "double": "float64", "bool": "bool",
          **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u")
             for bits in (8, 16, 32, 64)}}
_COUNTS = ("f16", "bf16", "e4m3", "e5m2")


class Progress:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self, total: int, stream=sys.stderr):
        self._total, self._stream, self._start = total, stream, time.monotonic()
        self._shown = -1.0

    def update(self, done: int, note: str = "") -> None:
        now = time.monotonic()
        if not self._stream.isatty() or (now - self._shown < 0.1 and done < self._total):
            return
        self._shown = now
        rate = done / max(now - self._start, 1e-9)
        filled = 30 * done // max(self._total, 1)
        self._stream.write(f"\r[{'#' * filled:30}] {done}/{self._total} steps, {rate:.3g}/s{note}")
        self._stream.flush()

    def end(self) -> None:
        if self._shown >= 0:
            self._stream.write("\n")


class Interrupt:
    """Ctrl-C sets a flag; a second one ends the program as usual."""

    def __init__(self):
        self.asked = False

    def __enter__(self):
        self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, *_):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_):
        signal.signal(signal.SIGINT, self._before)


def dtype_of(value) -> numpy.dtype:
    """Of an input of a session (`tensor(float)`)."""
    name = value.type.removeprefix("tensor(").removesuffix(")")
    if name not in _KINDS:
        raise _command.Error(f"input '{value.name}' is a {value.type}, which numpy has not")
    return numpy.dtype(_KINDS[name])


def load_steps(file, session):
    """The feeds of an .npz file, one for each step."""
    with numpy.load(file, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs = session.get_inputs()
    missing = [value.name for value in inputs if value.name not in arrays]
    if missing:
        raise _command.Error(f"'{file}' has no array '{missing[0]}'")
    unknown = set(arrays) - {value.name for value in inputs}
    if unknown:
        raise _command.Error(f"the model has no input '{sorted(unknown)[0]}'")
    many = {value.name: arrays[value.name].ndim == len(value.shape) + 1 for value in inputs}
    for value in inputs:
        if not many[value.name] and arrays[value.name].ndim != len(value.shape):
            raise _command.Error(
                f"'{value.name}' has {arrays[value.name].ndim} axes in '{file}' and "
                f"{len(value.shape)} in the model")
    lengths = {len(arrays[name]) for name in many if many[name]}
    if len(lengths) > 1:
        raise _command.Error(f"the arrays in '{file}' have different numbers of steps")
    count = lengths.pop() if lengths else 1
    for step in range(count):
        yield count, {value.name: (arrays[value.name][step] if many[value.name]
                                   else arrays[value.name]).astype(dtype_of(value), copy=False)
                      for value in inputs}


def draw_steps(count, session, assumptions, dims, seed=0):
    """Feeds within the assumed bounds: normal where a distribution is assumed, uniform
    where only bounds are."""
    random = numpy.random.default_rng(seed)
    assumed = {entry["input"]: entry for entry in assumptions}
    for _ in range(count):
        feed = {}
        for value in session.get_inputs():
            shape = [size if isinstance(size, int) else dims.get(size, 2) for size in value.shape]
            dtype = dtype_of(value)
            entry = assumed.get(value.name, {"lo": 0, "hi": 1, "mean": None, "std": None})
            lo, hi = float(entry["lo"]), float(entry["hi"])
            if dtype.kind == "f" and entry.get("std") is not None:
                values = numpy.clip(random.normal(entry["mean"], entry["std"], shape), lo, hi)
            elif dtype.kind == "f":
                limit = float(numpy.finfo(dtype).max)
                values = random.uniform(max(lo, -limit), min(hi, limit), shape)
            elif dtype.kind == "b":
                values = random.integers(0, 2, shape)
            else:
                limits = numpy.iinfo(dtype)
                # Of a wide integer nobody knows what it counts.
                first, last = max(lo, limits.min), min(hi, limits.max)
                if last - first > 2**31:
                    first, last = 0, 1
                values = random.integers(int(first), int(last), shape, endpoint=True)
            feed[value.name] = values.astype(dtype)
        yield count, feed


def statistics_record(probe: int, step: int, counts, values):
    """A record of the outputs that `--probe-with outputs` adds (docs/instrument.md):
    without a histogram and sums."""
    record = new_record(probe)
    record.calls = 1
    record.dtype = 11 if values.dtype == numpy.float64 else 1
    record.count, record.nan, record.pos_inf, record.neg_inf, record.zero = map(int, counts[:5])
    record.min, record.max, record.absmax, record.min_nonzero = map(float, values)
    record.first_step = record.last_step = step
    record.absmax_step = record.min_nonzero_step = step
    if record.nan:
        record.first_nan_step = step
    if record.pos_inf or record.neg_inf:
        record.first_inf_step = step
    for index, name in enumerate(_COUNTS):
        overflow, flush = int(counts[5 + 2 * index]), int(counts[6 + 2 * index])
        edge = record.edge[FORMATS.index(name)]
        edge.beyond_max = edge.not_finite = overflow
        edge.rounds_to_zero = flush
        if overflow:
            record.first_overflow_step[index] = step
        if flush:
            record.first_flush_step[index] = step
    return record


def open_session(model, ledger, options):
    """A session that records, by ops or by outputs."""
    import onnxruntime

    providers = {"cpu": ["CPUExecutionProvider"],
                 "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"]}[options.device]
    if options.device == "cuda" and providers[0] not in onnxruntime.get_available_providers():
        raise _command.Error("this onnxruntime has no CUDA: install onnxruntime-gpu")
    session_options = onnxruntime.SessionOptions()
    session_options.log_severity_level = 3
    if not options.optimize:
        session_options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    if ledger["probe_with"] == "op":
        return sessions.probe_session(model, record=options.record, providers=providers,
                                      sess_options=session_options)
    session = onnxruntime.InferenceSession(str(model), session_options, providers=providers)
    session.recorder = Recorder(sessions.find_ledger_hash(model), options.record,
                                f"onnxruntime {onnxruntime.__version__}")
    return session


def run_steps(session, feeds, ledger) -> tuple[int, bool]:
    """How many steps ran, and whether ctrl-C ended them."""
    outputs = [value.name for value in session.get_outputs()]
    probes = ([] if ledger["probe_with"] == "op" else
              [probe["id"] for probe in ledger["probes"]
               if f"mpopt.probe.{probe['id']}.counts" in outputs])
    progress, done = None, 0
    with Interrupt() as interrupt:
        for total, feed in feeds:
            progress = progress or Progress(total)
            session.recorder.set_step(done)
            results = dict(zip(outputs, session.run(outputs, feed), strict=True))
            for probe in probes:
                name = f"mpopt.probe.{probe}"
                session.recorder.merge(statistics_record(
                    probe, done, results[name + ".counts"], results[name + ".values"]))
            done += 1
            progress.update(done)
            if interrupt.asked:
                break
    if progress:
        progress.end()
    return done, interrupt.asked


def parse(arguments) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mpopt.run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=pathlib.Path, metavar="FILE.npz")
    source.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--record", metavar="FILE", help="default: mpopt-PID.mprec")
    parser.add_argument("--ledger", type=pathlib.Path, help="default: MODEL.probes.json")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--optimize", action="store_true",
                        help="with ONNX Runtime's optimisations, which probes can hinder")
    parser.add_argument("--confirm", action="store_true", help="then run mpopt --confirm")
    return parser.parse_args(arguments)


def main(arguments=None) -> int:
    """The exit status: 0, 2 for wrong input, 130 after ctrl-C; with `--confirm` its."""
    options = parse(arguments)
    ledger_file = options.ledger or pathlib.Path(f"{options.model}.probes.json")
    try:
        dims = {name: int(size) for name, _, size in (text.partition("=") for text in options.dim)}
        ledger = json.loads(ledger_file.read_text())
        session = open_session(options.model, ledger, options)
        feeds = (load_steps(options.data, session) if options.data else
                 draw_steps(options.random, session, ledger["assumptions"], dims, options.seed))
        done, interrupted = run_steps(session, feeds, ledger)
        session.recorder.flush()
        path = session.recorder.path
        session.recorder.close()
    except (_command.Error, OSError, ValueError) as error:
        print(f"mpopt: error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    print(f"{path}: {done} steps" + (" (interrupted)" if interrupted else ""))
    if interrupted:
        return 130
    if not options.confirm:
        return 0
    import subprocess

    from mpopt import _files

    return subprocess.run([_files.binary(), "--confirm", path, "--ledger", ledger_file],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

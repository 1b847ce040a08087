"""Runs a probed ONNX model or exported program and leaves a record for `mpopt --confirm`.

    python -m mpopt.run probed.onnx --data x.npz | --random N
                        [--device cpu|cuda] [--record FILE] [--dim NAME=N] [--confirm]

`--data`: arrays under the inputs' names, each of the input's rank for one step, or with
one axis more in front for many. `--random N`: N steps drawn from what the ledger says is
assumed of the inputs. Ctrl-C ends the run after the step it is in; the record is whole."""

import argparse
import pathlib
import signal
import sys
import time

from mpopt import _command, _console, _feeds, _input_files, _output_files, _programs, sessions


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


def read_steps(text) -> int:
    """The number of steps in `--random N`; `Error` unless it is a positive integer."""
    if not text.isdecimal() or int(text) == 0:
        raise _command.Error(f"--random: at least one step, not '{text}'")
    return int(text)


def open_session(model, ledger, options):
    """A `probe_session` of `model`, or what runs a program alike, as the command-line options
    say."""
    if _programs.is_program_file(model):
        if options.optimize:
            raise _command.Error("--optimize is for ONNX, and this is an exported program")
        return _programs.ProgramSession(model, ledger, options.record, options.device)
    import onnxruntime

    providers = {"cpu": ["CPUExecutionProvider"],
                 "cuda": ["CUDAExecutionProvider", "CPUExecutionProvider"]}[options.device]
    if options.device == "cuda" and providers[0] not in onnxruntime.get_available_providers():
        raise _command.Error("this onnxruntime has no CUDA: install onnxruntime-gpu")
    session_options = onnxruntime.SessionOptions()
    session_options.log_severity_level = 4  # What fails is raised, too.
    if not options.optimize:
        session_options.graph_optimization_level = (
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return sessions.probe_session(model, record=options.record, providers=providers,
                                  sess_options=session_options)


def run_steps(session, feeds) -> tuple[int, bool]:
    """Runs each feed as one step. Returns the number of steps, and whether ctrl-C ended them."""
    progress, done = None, 0
    with Interrupt() as interrupt:
        for total, feed in feeds:
            progress = progress or Progress(total)
            session.recorder.set_step(done)
            session.run(None, feed)
            done += 1
            progress.update(done)
            if interrupt.asked:
                break
    if progress:
        progress.end()
    return done, interrupt.asked


def parse(arguments) -> argparse.Namespace:
    parser = _console.Parser(prog="python -m mpopt.run", description=__doc__,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=pathlib.Path, metavar="FILE.npz")
    source.add_argument("--random", metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--record", metavar="FILE", help="default: mpopt-PID.mprec")
    parser.add_argument("--ledger", type=pathlib.Path, help="default: MODEL.probes.json")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N",
                        help="size of a symbolic dimension; default: as instrumented, else 2")
    parser.add_argument("--optimize", action="store_true",
                        help="with ONNX Runtime's optimisations, which probes can hinder")
    parser.add_argument("--confirm", action="store_true", help="then run mpopt --confirm")
    return parser.parse_args(arguments)


def check_files(options: argparse.Namespace, ledger_file: pathlib.Path) -> None:
    """Refuses a model that is no file, and a record over what the run reads."""
    _input_files.check(options.model)
    if options.record:
        data = [("the data", options.data)] if options.data else []
        _output_files.check([("--record", options.record)],
                            [("the model", options.model), ("the ledger", ledger_file), *data])


def main(arguments=None) -> int:
    """The exit status: 0, 2 for wrong input, 130 after ctrl-C; with `--confirm` that of
    `mpopt --confirm`."""
    try:
        options = parse(arguments)
        ledger_file = options.ledger or pathlib.Path(f"{options.model}.probes.json")
        check_files(options, ledger_file)
        steps = None if options.random is None else read_steps(options.random)
        assumptions = _feeds.read_assumptions(ledger_file)
        session = open_session(options.model, ledger_file, options)
        dims = _feeds.read_dims(options.dim, session)
        feeds = (_feeds.load_steps(options.data, session) if options.data else
                 _feeds.draw_steps(steps, session, assumptions, dims, options.seed))
        if unbounded := _feeds.find_unbounded(session, assumptions) if steps else []:
            _console.print_error("mpopt", f"0 and 1 are drawn for {', '.join(unbounded)}, which may be any whole number: "
                                 "--data, or --input of --instrument, gives values of a run", "warning")
        done, interrupted = run_steps(session, feeds)
        session.recorder.flush()
        path = session.recorder.path
        session.recorder.close()
    except Exception as error:  # noqa: BLE001, ONNX Runtime's have no base class
        if not (isinstance(error, (_command.Error, OSError, ValueError, OverflowError, MemoryError))
                or type(error).__module__.startswith("onnxruntime")):
            raise
        _console.print_error("mpopt", (str(error).splitlines() or [""])[0])
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

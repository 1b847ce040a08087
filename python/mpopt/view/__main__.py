"""python -m mpopt.view RUN.mprec|FOLDER|REPORT.json ... [--port N] [-o FILE.html]"""

import argparse
import sys

from mpopt import _console
from mpopt._command import Error
from mpopt.view import sources


def _make_parser() -> argparse.ArgumentParser:
    parser = _console.Parser(
        prog="python -m mpopt.view", description="Shows reports and records in a browser, and follows those that grow.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a record (.mprec) of a training or of an instrumented model, a report (--format json), or a folder of these")
    parser.add_argument("--port", type=int, default=0, help="of the loopback address; default: a free one")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="writes one page, and serves nothing")
    return parser


def serve(shown: sources.Sources, port: int) -> None:
    try:
        from mpopt.view import server
    except ImportError as error:
        raise Error("the live view needs starlette and uvicorn: pip install 'mpopt-precision[view]' (-o FILE.html writes a page without)") from error
    server.serve(shown, port, lambda address: print(address, flush=True))


def _run(options: argparse.Namespace) -> None:
    if not 0 <= options.port < 65536:
        raise Error(f"--port {options.port}: is no port")
    shown = sources.Sources(options.files)
    for text in shown.passed:
        _console.print_error("mpopt.view", f"left out: {text}", kind="warning")
    if options.output:
        sources.write(shown, "-o", options.output)
    else:
        serve(shown, options.port)


def main(arguments: list[str] | None = None) -> int:
    try:
        _run(_make_parser().parse_args(arguments))
    except (Error, OSError) as error:
        _console.print_error("mpopt.view", error)
        return 2
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())

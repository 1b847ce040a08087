"""python -m mpopt.view RUN.mprec|FOLDER|REPORT.json ... [--port N] [-o FILE.html]"""

import argparse
import pathlib
import sys

from mpopt import _page
from mpopt._command import Error
from mpopt.view.sources import Sources


def _fail(text: str) -> int:
    line = " ".join(str(text).split())
    print(f"mpopt.view: error: {line.encode(errors='backslashreplace').decode()}", file=sys.stderr)
    return 2


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m mpopt.view", description="Shows reports and records in a browser, and follows those that grow.")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a record (.mprec) of a training or of an instrumented model, a report (--format json), or a folder of these")
    parser.add_argument("--port", type=int, default=0, help="of the loopback address; default: a free one")
    parser.add_argument("-o", "--output", metavar="FILE.html", help="writes one page, and serves nothing")
    options = parser.parse_args(arguments)
    if not 0 <= options.port < 65536:
        return _fail(f"--port {options.port}: is no port")
    try:
        sources = Sources(options.files)
        if options.output:
            text = _page.fill(sources.document())
            pathlib.Path(options.output).write_text(text, encoding="utf-8")
            return 0
        try:
            from mpopt.view import server
        except ImportError:
            return _fail("the live view needs starlette and uvicorn: pip install 'mpopt[view]' (-o FILE.html writes a page without)")
        server.serve(sources, options.port, lambda address: print(address, flush=True))
    except Error as error:
        return _fail(error)
    except OSError as error:
        return _fail(f"{error.filename or options.output}: {error.strerror}")
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())

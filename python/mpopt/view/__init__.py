"""mpopt.view: reports and records as pages, in a file or live.

    python -m mpopt.view RUN.mprec|FOLDER|REPORT.json ...

serves the pages of `--format html` on the loopback address, behind a token, and follows records
that grow; with `-o FILE` it writes one page instead. Two runs, or two reports, are compared."""

from mpopt import _callable_package
from mpopt.view.sources import Sources

__all__ = ["Sources", "show", "write"]


def write(files, output) -> None:
    """Writes the page of reports, records and folders to a file. `files`: one path or several.
    Raises `mpopt.Error` for a file that is none of these, and then writes nothing."""
    import os

    from mpopt.view import sources

    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    sources.write(Sources(paths), "output", output)


def show(files, output=None, *, port: int = 0) -> None:
    """`mpopt.view(files)`: serves the page of reports, records and folders until it is
    interrupted, and prints its address; with `output` writes it to that file instead. Raises
    `mpopt.Error` as `write` does."""
    import os

    from mpopt._command import Error
    from mpopt.view import __main__ as command

    if output is not None:
        write(files, output)
        return
    if not 0 <= port < 65536:
        raise Error(f"port: {port} is no port")
    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    command.serve(Sources(paths), port)


_callable_package.make(__name__, show)

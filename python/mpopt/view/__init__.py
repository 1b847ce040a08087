"""mpopt.view: reports and records as pages, in a file or live.

    python -m mpopt.view RUN.mprec|FOLDER|REPORT.json ...

serves the pages of `--format html` on the loopback address, behind a token, and follows records
that grow; with `-o FILE` it writes one page instead. Two runs, or two reports, are compared."""

from mpopt.view.sources import Sources

__all__ = ["Sources", "write"]


def write(files, output) -> None:
    """Writes the page of reports, records and folders to a file. `files`: one path or several.
    Raises `mpopt.Error` for a file that is none of these, and then writes nothing."""
    import os

    from mpopt.view import sources

    paths = [files] if isinstance(files, str | os.PathLike) else list(files)
    sources.write(Sources(paths), "output", output)

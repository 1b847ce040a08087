"""Where a report came from: the command that wrote it, to be asked for other forms of it."""

import os
import shutil
import sys
from collections.abc import Sequence

from mpopt import _command
from mpopt._command import ModelFile

#: `--format` by the ending of a file.
FORMATS = {".txt": "text", ".json": "json", ".sarif": "sarif", ".md": "markdown", ".xml": "junit",
           ".html": "html", ".htm": "html"}


def wants_colour() -> bool:
    """As the command line decides: a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):  # a stream of a notebook, or a closed one
        return False


def terminal_width() -> int:
    """Columns of the terminal; 0 where there is none."""
    return shutil.get_terminal_size((0, 0)).columns


class Source:
    """`words`: the action and options of the command line, without those that write files.
    `file`: the model, whose copy in a temporary folder lives as long as this."""

    def __init__(self, words: Sequence[str], file: ModelFile | None = None,
                 accepted: Sequence[int] = (0,)):
        self._words, self._file, self._accepted = list(words), file, accepted

    def render(self, form: str, colour: bool = False, columns: int = 0) -> str:
        """The report in a form of `--format`. `mpopt.Error` if the model's file is gone."""
        words = [*self._words, "--format", form, "--color", "always" if colour else "never"]
        given = self._file is None or self._file.is_given
        output = _command.run(words, self._accepted, "" if given else self._file.path, columns)
        if given:
            return output
        return rename_page(output, self._file) if form == "html" else self._file.rename(output)


def rename_page(page: str, file: ModelFile) -> str:
    """A page whose document names the model in place of its temporary file."""
    import json

    from mpopt import _page

    return _page.fill(json.loads(file.rename(json.dumps(_page.read(page)))))

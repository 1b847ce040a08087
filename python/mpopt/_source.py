"""Where a report came from: the command that wrote it, to be asked for other forms of it."""

import json
import os
import shutil
import sys
from collections.abc import Sequence

from mpopt import _command, _page
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
    `files`: models, whose copies in temporary folders live as long as this."""

    def __init__(self, words: Sequence[str], *files: ModelFile, accepted: Sequence[int] = (0,)):
        self._words, self._files, self._accepted = list(words), files, accepted

    def render(self, form: str, colour: bool = False, columns: int = 0) -> str:
        """The report in a form of `--format`. `mpopt.Error` if a model's file is gone."""
        words = [*self._words, "--format", form, "--color", "always" if colour else "never"]
        try:
            output = _command.run(words, self._accepted, columns=columns)
        except _command.Error as error:
            raise _command.Error(self._rename(str(error))) from error
        if form == "html" and not all(file.is_given for file in self._files):
            return _page.fill(json.loads(self._rename(json.dumps(_page.read(output)))))
        return self._rename(output) + (self._paths() if form == "text" else "")

    def _paths(self) -> str:
        """Which path of a module the report is about, where that is one of several."""
        return "".join(f"traced: judged on the path that this batch takes, as torch.export refuses the module ({file.traced})\n"
                       for file in self._files if file.traced)

    def _rename(self, text: str) -> str:
        for file in self._files:
            text = file.rename(text)
        return text

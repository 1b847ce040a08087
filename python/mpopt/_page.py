"""The pages of an HTML report, filled with what Python has: records, comparisons.

The template is that of `--format html` (include/mpopt/Report/Page.h)."""

import base64
import json
import math
import zlib

from mpopt import _files
from mpopt._command import Error

_PLACE = "<!-- data -->"
_POLICY = "default-src 'none';"


def template() -> str:
    """The page without a document. `mpopt.Error` if the build made none."""
    file = _files.find("share", "page.html")
    if file is None:
        raise Error("this mpopt was built without the template of HTML reports")
    return file.read_text(encoding="utf-8")


def _plain(value):
    """JSON has no infinities, and no NaN: the words of mpopt's own reports."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def to_json(document: dict) -> str:
    """The document, `mpopt-page/1`, as JSON that every reader takes. Half of a surrogate pair,
    which file names may hold, is escaped."""
    return json.dumps(_plain(document), allow_nan=False, separators=(",", ":"))


def fill(document: dict) -> str:
    """The page with a document in it."""
    data = base64.b64encode(zlib.compress(to_json(document).encode("ascii"), 6)).decode()
    return template().replace(_PLACE, data, 1)


def read(page: str) -> dict:
    """The document in a page."""
    begin = page.index('id="data">') + len('id="data">')
    return json.loads(zlib.decompress(base64.b64decode(page[begin:page.index("<", begin)])))


def live(token: str) -> str:
    """The page that asks the server which it came from for its document. It may connect to that
    one and no other."""
    page = template().replace(_POLICY, f"{_POLICY} connect-src 'self';", 1)
    return page.replace(_PLACE, "", 1).replace(
        '<script type="application/octet-stream" id="data">',
        f'<script type="application/octet-stream" id="data" data-live="{token}">', 1)

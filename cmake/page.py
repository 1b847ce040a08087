"""The template of HTML reports, of its parts in a folder: one file and a C++ unit.

usage: page.py FOLDER D3.min.js PAGE.html PAGE.inc

Styles and scripts go into page.html, scripts in the order of SCRIPTS. A policy in the page
allows exactly these scripts, by their hashes, and no request. `<!-- data -->` stays, for the
document that a report puts there.
"""

import base64
import hashlib
import sys
from pathlib import Path

SCRIPTS = ("base", "names", "formats", "plot", "verdict", "findings", "map", "exponents", "training",
           "memory", "compare", "main")
# MSVC's limit is lower still; other compilers take any length, but editors do not.
CHUNK = 2000


def as_script(text: str) -> tuple[str, str]:
    """An inline script and the source of a policy that allows it."""
    if "</script" in text.lower():
        raise SystemExit("a script holds the end tag of scripts")
    text = f"\n{text.strip()}\n"
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"<script>{text}</script>", f"'sha256-{digest}'"


def assemble(folder: Path, library: Path) -> str:
    own = "\n".join((folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)
    known = {f"{name}.js" for name in SCRIPTS}
    if others := {path.name for path in folder.glob("*.js")} - known:
        raise SystemExit(f"not in the order of scripts: {', '.join(sorted(others))}")
    scripts = [as_script(library.read_text(encoding="utf-8")),
               as_script(f'(function () {{\n"use strict";\n{own}\n}})();')]
    styles = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.css")))
    policy = (f"default-src 'none'; script-src {' '.join(source for _, source in scripts)}; "
              "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'")
    parts = {"<!-- policy -->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
             "<!-- styles -->": f"<style>\n{styles}</style>",
             "<!-- scripts -->": "\n".join(script for script, _ in scripts)}
    page = (folder / "page.html").read_text(encoding="utf-8")
    for place, text in parts.items():
        if page.count(place) != 1:
            raise SystemExit(f"page.html has not one '{place}'")
        page = page.replace(place, text)
    return page


def as_literals(text: str) -> str:
    """Raw string literals, a line each, that C++ puts together."""
    data = text.encode()
    lines = []
    begin = 0
    while begin < len(data):
        end = min(begin + CHUNK, len(data))
        # No character is cut in two.
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        lines.append(f'R"page({data[begin:end].decode()})page"')
        begin = end
    return "\n".join(lines) + "\n"


def main() -> None:
    folder, library, page, unit = map(Path, sys.argv[1:])
    text = assemble(folder, library)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    unit.write_text(as_literals(text), encoding="utf-8")


if __name__ == "__main__":
    main()

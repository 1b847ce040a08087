"""Three hundred hostile names through every form: each stays valid, and nothing of a name
becomes markup, a command or a line of its own."""

from __future__ import annotations

import html.parser
import json
import random
import re
import xml.etree.ElementTree as xml

import jsonschema
import pytest
from ci_models import overflowing, save
from test_ci_formats import SCHEMA, render
from tool import run_mpopt

PARTS = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</code></td>", "]]>", "<!--", "&lt;", "&",
         "'", '"', "`", "``", "```\n", "|", "\\", "\\|", "\n", "\r\n", "\n::error::injected", "::set-output name=a::b",
         "##[error]x", "%0A", "%", ",", ":", "{0}", "{{", "[a](javascript:alert(1))", "![x](http://host.invalid/x)",
         "http://host.invalid", "www.host.invalid", "@someone", "#1", "*b*", "_i_", "~~s~~", "\u202e", "\u2066",
         "\u2028", "\u200f", "\x00", "\x01", "\x1b[31m", "\x7f", "\x9b", "\ufffe", "\uffff", "\ud7ff", "\U0001f600",
         "\u00e9", "\t", " ", "", "$(id)", "${{ secrets.X }}", "../", "/", "C:\\", "\u0000".encode().decode()]
COUNT = 300


def names():
    generator = random.Random(18)
    for index in range(COUNT):
        text = "".join(generator.choice(PARTS) for _ in range(generator.randint(1, 5)))
        if index % 50 == 0:
            text = (text + "x") * (65536 // (len(text) + 1))
        # Braces of the name are no format's.
        yield text.replace("{", "{{").replace("}", "}}") + "{}"


class Tags(html.parser.HTMLParser):
    ALLOWED = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "br", "details", "summary", "ul",
               "li"}

    def handle_starttag(self, tag, attributes):
        assert tag in self.ALLOWED and not [key for key, _ in attributes if key != "style"], (tag, attributes)


def messages(node):
    """Every text of a message."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key == "text":
            yield value
        else:
            yield from messages(value)


def check_sarif(text):
    jsonschema.Draft7Validator(SCHEMA).validate(json.loads(text))
    for message in messages(json.loads(text)["runs"]):
        # No placeholder and no link.
        assert not re.search(r"\{\d", message.replace("{{", "")) and "](" not in message


def check_junit(text):
    suites = xml.fromstring(text)
    assert {element.tag for element in suites.iter()} <= \
        {"testsuites", "testsuite", "testcase", "failure", "skipped", "system-out", "system-err"}


def check_github(text):
    for line in text.splitlines():
        assert re.match(r"::(error|warning|notice) ", line), line
        # The properties end where the writer ended them.
        properties = line.split("::")[1].split(" ", 1)[1]
        assert re.fullmatch(r"(file=[^,:]*,(line=\d+,)?)?title=[^,:]*", properties), line
        assert len(line) < 60000


def check_markdown(text):
    Tags().feed(render(text))
    assert len(text) < 1 << 20


def check_json(text):
    json.loads(text)


CHECKS = {"sarif": check_sarif, "junit": check_junit, "github": check_github, "markdown": check_markdown,
          "json": check_json, "text": lambda text: None}


@pytest.mark.parametrize("form", CHECKS)
def test_hostile_names(form, tmp_path):
    # Thirty models a call: a call a name would spend its time in starting.
    batch, seen = [], 0
    for index, name in enumerate(names()):
        model = overflowing(name, layers=1)
        try:
            batch.append(save(model, tmp_path / f"{index}.onnx"))
        except (UnicodeEncodeError, ValueError):
            continue
    for first in range(0, len(batch), 30):
        part = batch[first:first + 30]
        done = run_mpopt("--check", *part, "--precision", "fp16", "--min-certainty", "possible", "--fail-on", "never",
                         "--format", form)
        # A name that the importer refuses is one line; the others are reported.
        refused = [line for line in done.stderr.splitlines() if line.startswith("mpopt: error: ")]
        assert done.returncode in (0, 2) and (done.returncode == 2) == bool(refused), done.stderr[:1000]
        assert all(line.startswith("mpopt: ") for line in done.stderr.splitlines())
        if len(refused) < len(part):
            CHECKS[form](done.stdout)
            # Bytes that steer a terminal, or turn the direction of text, are in no form.
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", done.stdout) or form == "json"
        seen += len(part) - len(refused)
    assert seen > COUNT * 3 // 4


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_hostile_names_in_a_comparison(form, tmp_path):
    """As names of ops that are new, gone or moved; every tenth of them, since a call compares two models."""
    seen = 0
    for index, name in enumerate(list(names())[::10]):
        try:
            one, other = (save(overflowing(name, layers=2, scale=scale, extra=extra), tmp_path / f"{index}{side}.onnx")
                          for side, scale, extra in (("a", 300.0, False), ("b", 900.0, True)))
        except (UnicodeEncodeError, ValueError):
            continue
        done = run_mpopt("--diff", one, other, "--precision", "fp16", "--fail-on", "never", "--format", form)
        if done.returncode == 2:
            assert not done.stdout and all(line.startswith("mpopt: ") for line in done.stderr.splitlines())
            continue
        assert done.returncode == 0, done.stderr[:1000]
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", done.stdout) or form == "json"
        if form == "json":
            assert json.loads(done.stdout)["came"]
        elif form == "markdown":
            check_markdown(done.stdout)
        seen += 1
    assert seen > COUNT // 10 * 3 // 4

"""Changes of a file that keep enough of it to be read on: of bytes, of text, of JSON, of the members of archives."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]

# How often a file is changed: most often once, so that much of it is read.
TIMES = (1, 1, 1, 2, 4)
BYTES = [0, 1, 0x0a, 0x22, 0x5b, 0x7b, 0x7f, 0x80, 0xfe, 0xff]
NUMBERS = ["0", "-1", "1e308", "-1e308", "1e999", "1e-320", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
           "4294967296", "0.1", "NaN", "Infinity", "1" * 4301, "1" * 300, "1.7976931348623157e308", "65504", "null", "\"\"", "[]", "{}"]
WORDS = ["", "\0", "\ufeff", "\u202e", "x" * 5000, "[" * 3000, "{\"a\":" * 500, "\n", "\r", "\t", "\\", "\"", "'", "#", "é", "\U0001f600", "..", "/",
         "/dev/zero", "%s", "${x}", "true", "None", "self", "import torch\n", "lambda: ", "(" * 150, "f'{x}'", "= = ", "if x:\n"]
VALUES = [None, True, False, 0, -1, 1, 2**31, 2**63, 1e308, 1e-320, 0.5, "", "x", "inf", "-inf", "nan", "x" * 1000, [], {}, [[]], [None], {"": None},
          ["x"] * 100, {"x": {"x": {"x": 1}}}]


def of_bytes(data: bytes, rng: random.Random) -> bytes:
    made = bytearray(data)
    for _ in range(rng.choice(TIMES)):
        if not made:
            return bytes(rng.choices(BYTES, k=rng.randint(0, 64)))
        at, length = rng.randrange(len(made)), rng.choice((1, 2, 4, 8, 16, 64, 1024))
        match rng.randrange(7):
            case 0:
                made[at] ^= 1 << rng.randrange(8)
            case 1:
                made[at] = rng.choice(BYTES)
            case 2:
                del made[at:at + length]
            case 3:
                made[at:at] = rng.randbytes(min(length, 16))
            case 4:
                to = rng.randrange(len(made))
                made[to:to + length] = made[at:at + length]
            case 5:
                made[at:at] = made[at:at + length] * rng.choice((1, 2, 20))
            case 6:
                del made[at:]
    return bytes(made)


def of_text(data: bytes, rng: random.Random) -> bytes:
    """Numbers, words and lines."""
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice(TIMES)):
        lines = text.splitlines(keepends=True)
        match rng.randrange(5):
            case 0 if found := list(re.finditer(r"-?\d+(\.\d*)?([eE][-+]?\d+)?", text)):
                place = rng.choice(found)
                text = text[:place.start()] + rng.choice(NUMBERS) + text[place.end():]
            case 1 if found := list(re.finditer(r"\w+", text)):
                one, other = rng.choice(found), rng.choice(found)
                text = text[:one.start()] + rng.choice((other[0], rng.choice(WORDS))) + text[one.end():]
            case 2 if lines:
                at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
                lines[to:to] = lines[at:at + rng.randint(1, 8)] * rng.choice((1, 1, 3, 50))
                text = "".join(lines)
            case 3 if lines:
                at = rng.randrange(len(lines))
                del lines[at:at + rng.randint(1, 8)]
                text = "".join(lines)
            case _:
                at = rng.randint(0, len(text))
                text = text[:at] + rng.choice(WORDS) + text[at:]
    return text.encode("utf-8", "replace")


LITERAL = re.compile(r""""[^"\n]*"|'[^'\n]*'|\b\d[\w.-]*|\b(?:[Tt]rue|[Ff]alse|None)\b""")
LITERALS = ['"x"', '""', "0", "1", "-1", "1e308", "1e-320", "[]", "{}", "true", "False", "None", "2999-12-31", "0.5", '["x", 1]', '{x = 1}',
            '"-inf:inf"', '"1:0"', '"~0,-1"', '"nan:nan"', '"MP"', "2 ** 999", "(1, 2)", "f'{x}'"]


def of_literals(data: bytes, rng: random.Random) -> bytes:
    """Literals that are others, so that most of the text still parses."""
    text = data.decode("utf-8", "replace")
    for _ in range(rng.choice(TIMES)):
        if found := list(LITERAL.finditer(text)):
            place = rng.choice(found)
            text = text[:place.start()] + rng.choice((rng.choice(found)[0], rng.choice(LITERALS))) + text[place.end():]
    return text.encode()


def _list_places(value) -> list[tuple]:
    found: list[tuple] = []
    pending: list[tuple] = [(value, key) for key in ([*value] if isinstance(value, dict) else range(len(value)))] \
        if isinstance(value, (dict, list)) else []
    while pending:
        holder, key = pending.pop()
        found.append((holder, key))
        inner = holder[key]
        if isinstance(inner, dict):
            pending += [(inner, each) for each in inner]
        elif isinstance(inner, list):
            pending += [(inner, each) for each in range(min(len(inner), 20))]
    return found


def of_json(data: bytes, rng: random.Random) -> bytes:
    """Members that are another thing, missing, twice there or somewhere else. Of text that is no JSON, as text."""
    try:
        value = json.loads(data)
    except ValueError:
        return of_text(data, rng)
    for _ in range(rng.choice(TIMES)):
        places = _list_places(value)
        if not places:
            value = rng.choice(VALUES)
            break
        holder, key = rng.choice(places)
        match rng.randrange(5):
            case 0 | 1:
                holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
            case 2:
                del holder[key]
            case 3:
                other, place = rng.choice(places)
                holder[key] = json.loads(json.dumps(other[place] if isinstance(other, dict) and place in other else None))
            case 4 if isinstance(holder, list):
                holder += [holder[key]] * rng.choice((1, 10, 300))
            case _:
                holder[key] = [holder[key]] if rng.random() < .5 else {"x": holder[key]}
    return json.dumps(value).encode()


def of_lines(data: bytes, rng: random.Random) -> bytes:
    """JSON of a line each."""
    lines = data.splitlines()
    for _ in range(rng.choice(TIMES)):
        at = rng.randrange(len(lines))
        lines[at] = of_json(lines[at], rng)
    return b"\n".join(lines) + b"\n"


def of_archive(data: bytes, rng: random.Random) -> bytes:
    """Members of a zip archive, whose checksums are right again."""
    made = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as written:
            members = [(name, archive.read(name)) for name in archive.namelist()]
            chosen = rng.randrange(len(members))
            for index, (name, content) in enumerate(members):
                if index == chosen:
                    if rng.random() < .1:
                        continue
                    content = rng.choice((of_bytes, of_json if content[:1] in (b"{", b"[") else of_text))(content, rng)
                written.writestr(name, content)
    except (zipfile.BadZipFile, ValueError, IndexError):
        return of_bytes(data, rng)
    return made.getvalue()


def splice(one: bytes, other: bytes, rng: random.Random) -> bytes:
    """The start of a file and the end of another."""
    return one[:rng.randint(0, len(one))] + other[rng.randint(0, len(other)):]

"""Configurations of trainings (JSON, TOML, YAML) as syntax trees: one dictionary whose entries have their lines.

Of YAML what such files use is read: mappings in blocks, lists, plain and quoted scalars, and whole values that name
another entry (`${model.dtype}`). What is more (anchors, tags, values over several lines) is not known, and an entry
that is not known is not there."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

SUFFIXES = (".json", ".toml", ".yaml", ".yml")
# Longer ones are data.
LARGEST = 1 << 18
DEEPEST = 64
# Words in the text of a configuration of a training that rules know.
KNOWN = re.compile(
    r"zero_optimization|train_micro_batch_size_per_gpu|train_batch_size|mixed_precision_(param|reduce)|torchtune\."
    r"|(^|[{,])[ \t-]*[\"']?(precision|dtype|torch_dtype|weight_dtype|param_dtype|mixed_precision|pure_bf16|bf16|fp16)[\"']?\s*[:=]", re.M)

# By key: a value or a Tree, and the line.
Tree = dict[str, tuple[Any, int]]


class ConfigurationError(Exception):
    """The text is one line."""


UNKNOWN = object()


def is_one(path: str) -> bool:
    return path.lower().endswith(SUFFIXES)


def is_known(text: str) -> bool:
    """True if a text may be the configuration of a training that rules know."""
    return len(text) <= LARGEST and KNOWN.search(text) is not None


def parse(text: str, path: str) -> ast.Module:
    """A module of one expression, the dictionary."""
    kind = path.lower().rpartition(".")[2]
    if not is_known(text):
        raise ConfigurationError("is no configuration of a training that is known, and not read")
    if kind == "json":
        return _parse_json(text)
    tree = read_toml(text) if kind == "toml" else read_yaml(text)
    resolve(tree)
    lines = text.split("\n")
    body = _make_dict(tree, 1, lines)
    return ast.Module([ast.Expr(body, **_span(1, lines))], [])


# --- Trees ---


def _span(line: int, lines: list[str]) -> dict[str, Any]:
    text = lines[line - 1] if line <= len(lines) else ""
    bare = text.lstrip()
    start = len(text) - len(bare)
    return {"lineno": line, "end_lineno": line, "col_offset": start, "end_col_offset": len(text.rstrip().encode())}


def _make_dict(tree: Tree, line: int, lines: list[str]) -> ast.Dict:
    known = [(key, value, at) for key, (value, at) in tree.items() if value is not UNKNOWN]
    return ast.Dict([ast.Constant(key, **_span(at, lines)) for key, _, at in known],
                    [_make_node(value, at, lines) for _, value, at in known], **_span(line, lines))


def _make_node(value: Any, line: int, lines: list[str]) -> ast.expr:
    if isinstance(value, dict):
        return _make_dict(value, line, lines)
    if isinstance(value, list):
        return ast.List([_make_node(part, line, lines) for part in value if part is not UNKNOWN], ast.Load(), **_span(line, lines))
    return ast.Constant(value, **_span(line, lines))


REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}$")


def resolve(tree: Tree) -> None:
    """Puts the values of entries in place of their names."""
    def look_up(name: str, depth: int) -> Any:
        value: Any = tree
        for word in name.split("."):
            value = value.get(word, (UNKNOWN, 0))[0] if isinstance(value, dict) else UNKNOWN
        return settle(value, depth + 1)

    def settle(value: Any, depth: int) -> Any:
        if not isinstance(value, str) or "${" not in value:
            return value
        match = REFERENCE.match(value)
        return look_up(match[1], depth) if match and depth < DEEPEST else UNKNOWN

    def visit(branch: Tree) -> None:
        for key, (value, line) in branch.items():
            if isinstance(value, dict):
                visit(value)
            else:
                branch[key] = settle(value, 0), line

    visit(tree)


# --- JSON and TOML ---

WORDS = {"true": True, "false": False, "null": None}


def _parse_json(text: str) -> ast.Module:
    """JSON is Python but for three names."""
    try:
        found = json.loads(text)
        tree = ast.parse(text.replace("\t", " "))
    except (ValueError, RecursionError, SyntaxError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise ConfigurationError(f"line {line} is no JSON" if line else "is no JSON") from error
    if not isinstance(found, dict):
        raise ConfigurationError("is no configuration of a training that is known, and not read")

    class Words(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name):
            return ast.copy_location(ast.Constant(WORDS.get(node.id)), node)

    return Words().visit(tree)


HEADER = re.compile(r"\s*\[([\w.\"' -]+)\]\s*(#.*)?$")
ASSIGNED = re.compile(r"\s*([\w.-]+|\"[^\"]*\")\s*=")


def read_toml(text: str) -> Tree:
    try:
        import tomllib
    except ImportError as error:
        raise ConfigurationError("is TOML, which takes Python 3.11 to read") from error
    places: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        if match := HEADER.match(line):
            section = tuple(word.strip(" \"'") for word in match[1].split("."))
            places.setdefault(section, number)
        elif match := ASSIGNED.match(line):
            places.setdefault((*section, *match[1].strip('"').split(".")), number)
    # The parser takes the square of a key's depth.
    if any(len(path) > DEEPEST + 1 for path in places):
        raise ConfigurationError(f"nests deeper than {DEEPEST} levels")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"is no TOML: {str(error).splitlines()[0]}") from error

    def place(data: dict, path: tuple[str, ...], line: int) -> Tree:
        if len(path) > DEEPEST:
            raise ConfigurationError(f"nests deeper than {DEEPEST} levels")
        tree: Tree = {}
        for key, value in data.items():
            at = places.get((*path, key), line)
            is_plain = isinstance(value, (str, int, float, bool, dict))
            tree[key] = (place(value, (*path, key), at) if isinstance(value, dict) else value if is_plain else UNKNOWN), at
        return tree

    return place(data, (), 1)


# --- YAML ---

# The spaces before the colon of a plain key belong to the key: two repetitions that both match them take quadratic time.
ENTRY = re.compile(r"(?:(\"[^\"]*\"|'[^']*'|[\w-]+)\s*|([^\s\"'#&*!|>%@`\[\]{},?:-][^:#]*)):(?:\s+(.*))?$")
COMMENT = re.compile(r"(^|\s)#.*$")
NUMBER = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?)$")
YES, NO = ("true", "yes", "on"), ("false", "no", "off")


def read_yaml(text: str) -> Tree:
    root: Tree = {}
    # The mappings that are open: the column of their keys, and where a new key goes.
    open_: list[tuple[int, Tree]] = [(-1, root)]
    skipped = -1  # Lines that are indented further belong to a value that is not read.
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if not bare or bare[0] in "#%" or bare == "---" and not root:
            continue
        if bare in ("---", "..."):
            break
        column = len(line) - len(line.lstrip(" "))
        if skipped >= 0 and column > skipped:
            continue
        skipped = -1
        if line[column] == "\t":
            raise ConfigurationError(f"line {number} is no YAML: it is indented by a tab")
        start, bare = _enter_elements(open_, column, bare)
        if not bare or bare[0] == "#":
            continue
        match = ENTRY.match(_without_comment(bare))
        if match is None:
            continue
        while len(open_) > 1 and open_[-1][0] >= start:
            open_.pop()
        if len(open_) > DEEPEST:
            raise ConfigurationError(f"line {number} nests deeper than {DEEPEST} levels")
        key, given = (match[1] or match[2]).strip("\"' \t"), (match[3] or "").strip()
        branch = open_[-1][1]
        if given:
            value = read_scalar(given)
            branch[key] = value, number
            skipped = start if value is UNKNOWN else -1
        else:
            inner: Tree = {}
            branch[key] = inner, number
            open_.append((start, inner))
    if not root:
        raise ConfigurationError("is no YAML that is read: it has no entries")
    return root


def _enter_elements(open_: list[tuple[int, Tree]], start: int, bare: str) -> tuple[int, str]:
    """The column and the text behind the dashes of a list. A mapping in an element is one of its own, whose keys
    no rule asks for."""
    while bare.startswith("- ") or bare == "-":
        start += 2
        bare = bare[2:].strip()
        while len(open_) > 1 and open_[-1][0] >= start - 1:
            open_.pop()
        open_.append((start - 1, {}))
    return start, bare


def _without_comment(text: str) -> str:
    return text if '"' in text or "'" in text else COMMENT.sub("", text)


def read_scalar(text: str) -> Any:
    if text[0] in "\"'":
        end = text.find(text[0], 1)
        is_whole = end > 0 and not text[end + 1:].split("#")[0].strip()
        return text[1:end] if is_whole and "\\" not in text[1:end] else UNKNOWN
    if text[0] == "[" and text.endswith("]") and not set(text[1:-1]) & set("[]{}\"'"):
        return [read_scalar(part.strip()) for part in text[1:-1].split(",") if part.strip()]
    if text[0] in "[{&*!|>%@`":
        return UNKNOWN
    word = text.lower()
    if word in YES or word in NO:
        return word in YES
    if word in ("null", "~"):
        return None
    if NUMBER.match(text):
        plain = text.replace("_", "")
        return int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    return text

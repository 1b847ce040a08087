"""The records of the rules: rules.json, made from passes/rules/Rules/Source.td."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib

FILE = pathlib.Path(__file__).with_name("rules.json")


@dataclasses.dataclass(frozen=True)
class Rule:
    id: str
    name: str
    group: str
    severity: str
    since: str
    fix: str
    summary: str
    what: str
    why: str
    example: str
    instead: str

    @property
    def page(self) -> str:
        return f"docs/rules/{self.id}.md"


@functools.cache
def load() -> dict[str, Rule]:
    """The rules by name, in the order of their ids."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return {record["name"]: Rule(**record) for record in table["rules"]}


def match(word: str) -> set[str]:
    """The names of the rules that a word of `--select` stands for: an id, a prefix of
    ids, or a name."""
    is_prefix = word[:2].upper() == "MP"
    return {rule.name for rule in load().values()
            if word == rule.name or is_prefix and rule.id.startswith(word.upper())}

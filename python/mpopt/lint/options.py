"""Options of a script: those of its command line, fields of dataclasses, configurations of the project. Of these only
what they may name is known, and under which condition."""

from __future__ import annotations

import ast
import os
import re

from mpopt.lint import configuration, values
from mpopt.lint.names import DTYPE_WORDS, PRECISION_WORDS
from mpopt.lint.values import NOTHING, Choice, Value

# Decorators and bases of the classes whose fields are options.
FIELDS = re.compile(r"(^|\.)(dataclass|BaseModel|BaseSettings|NamedTuple|define|frozen|attrs)$")
# Functions that read a configuration from a path, or from an open file.
READERS = {"omegaconf.OmegaConf.load", "yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "tomllib.load", "toml.load",
           "tomli.load"}
HANDING_ON = {"omegaconf.OmegaConf.create", "omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.structured",
              "easydict.EasyDict", "types.SimpleNamespace"}


class Options:
    """Part of the interpreter: see interpreter.py."""

    def note_dtypes(self, name: str, words: list) -> Value | None:
        """An option that may have each of these values, as far as they name dtypes or Lightning's precisions."""
        words = [word for word in words if isinstance(word, str)]
        if any(word in PRECISION_WORDS for word in words):
            # Not a dtype by itself: which one, the trainer that gets it says.
            self.options[name] = Value(parts=tuple(Choice(word, f"if {name} is {word!r}") for word in words))
            return self.options[name]
        named = [(word, DTYPE_WORDS[word]) for word in words if word in DTYPE_WORDS]
        if not named:
            return None
        option = Value(values.DTYPE, parts=tuple(Choice(dtype, f"if {name} is {word!r}") for word, dtype in named))
        self.options[name] = values.join([self.options[name], option]) if name in self.options else option
        return option

    def note_option(self, arguments: list[Value], keywords: dict[str, Value]) -> None:
        """An option of a parser: its choices, or its default."""
        flags = [value.constant for value in arguments if isinstance(value.constant, str) and value.constant.startswith("-")] \
            or [value.constant for value in arguments if isinstance(value.constant, str)]
        given = keywords.get("choices", keywords.get("type", NOTHING))
        if given.kind != values.SEQUENCE:
            given = keywords.get("default", NOTHING)
        if flags:
            name = max(flags, key=len).lstrip("-").replace("-", "_")
            self.note_dtypes(name, [part.constant for part in (given.parts if given.kind == values.SEQUENCE else [given])])

    def note_fields(self, made, decorators: list[str]) -> None:
        """The fields of a dataclass: the values that their types list, or their defaults."""
        if not any(FIELDS.search(name) for name in [*decorators, *made.library_bases]):
            return
        for statement in made.node.body:
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            name, default = statement.target.id, made.attributes.get(statement.target.id, NOTHING)
            option = self.note_dtypes(name, list_literals(statement.annotation) or [default.constant])
            if option is None and default.kind == values.DTYPE and default.dtype:
                option = values.under(default, f"if {name} is {self.code(statement.value)}")
                self.options.setdefault(name, option)
            if option is not None:
                made.attributes[name] = option

    # --- Configurations ---

    def read_configuration(self, name: object) -> Value:
        """The configuration of the project that has this path, from the script's folder or a root."""
        if self.project is None or not isinstance(name, str) or not configuration.is_one(name):
            return NOTHING
        path = self.project.find_file(name, self.script.path)
        if path is None:
            return NOTHING
        if path not in self.configurations:
            script = self.project.read(path)
            found = NOTHING if script is None else as_configuration(self.evaluate(script.tree.body[0].value))
            self.configurations[path] = found
        return self.configurations[path]

    def call_reader(self, name: str, arguments: list[Value]) -> Value | None:
        """The result of a function that reads a configuration; None for any other function."""
        first = arguments[0] if arguments else NOTHING
        if name in HANDING_ON:
            return as_configuration(first) if first.kind == values.MAPPING else None
        if name not in READERS:
            return None
        return self.read_configuration(first.parts if first.name == "builtins.open" else first.constant)

    def find_hydra(self, decorator: Value) -> Value:
        """The configuration that `hydra.main` hands over."""
        if decorator.name != "hydra.main" or not isinstance(decorator.origin, ast.Call):
            return NOTHING
        given = {keyword.arg: keyword.value.value for keyword in decorator.origin.keywords
                 if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)}
        name = given.get("config_name", "")
        return self.read_configuration(os.path.join(given.get("config_path", ""), name if configuration.is_one(name) else f"{name}.yaml"))

    def find_entry(self, base: Value, name: str, path: str) -> Value:
        """An attribute of a configuration. A string that names a dtype may be another one when the script runs."""
        found = base.parts.get(name, NOTHING)
        dtype = values.as_dtype(found) if found.kind == values.CONSTANT else found
        return values.under(dtype, f"if {path.partition('.')[2] or name} is {found.constant!r}")


def as_configuration(value: Value) -> Value:
    """A mapping whose entries are attributes, too."""
    if value.kind != values.MAPPING:
        return value
    return value.replaced(parts={key: as_configuration(part) for key, part in value.parts.items()},
                          facts=value.facts | {"configuration"})


def list_literals(annotation: ast.expr) -> list:
    """The values of a `Literal[...]` in an annotation."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and (getattr(node.value, "id", "") or getattr(node.value, "attr", "")) == "Literal":
            return [part.value for part in ast.walk(node.slice) if isinstance(part, ast.Constant)]
    return []

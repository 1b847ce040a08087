"""mp IR with huge numbers: every op of modules that tests have, by itself, with each
dim of its operands, each integer attribute and each constant integer in turn."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

from huge_onnx import ENTRIES, Tried, Variant
from tool import BIN

OPERATION = re.compile(r'^ *(?:(%\w+)(?::(\d+))? = )?"(mp\.\w+)"\(([^)]*)\)(.*)$')
NUMBER = re.compile(r"(?<![\w.%#+-])(\d+)(?= : i64)")
LIST = re.compile(r"array<i64: ([^>]*)>")
DENSE = re.compile(r"dense<([^>\"x]*)> : tensor<[\dx]*i64>")
TENSOR = re.compile(r"tensor<((?:\d+x)+)")


@dataclass
class Op:
    """An op in its generic form, with the constants that it reads."""

    name: str
    operands: list[str]
    types: list[str]
    results: list[str]
    properties: str
    # The lines of constants by the value that they make.
    constants: dict[str, str]

    def text(self) -> str:
        arguments = {value: type for value, type in zip(self.operands, self.types)
                     if value not in self.constants}
        header = ", ".join(f"{value}: {type}" for value, type in arguments.items())
        lines = list(dict.fromkeys(self.constants.values()))
        made = f"%r:{len(self.results)} = " if self.results else ""
        lines.append(f'{made}"{self.name}"({", ".join(self.operands)}){self.properties} : '
                     f'({", ".join(self.types)}) -> ({", ".join(self.results)})')
        body = "\n  ".join(lines)
        return f"func.func @main({header}) {{\n  {body}\n  return\n}}\n"


def split(text: str) -> list[str]:
    """At commas outside brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and not depth:
            parts.append(text[start:index].strip())
            start = index + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def open_type(type: str) -> str:
    """A result's type, which is inferred again."""
    return re.sub(r"tensor<.*?>(?=>*$)", "tensor<*x!mp.unknown>", type)


def read_ops(text: str) -> Iterator[Op]:
    """The ops of a module in generic form, those with regions left out."""
    constants = {}
    for line in text.splitlines():
        if '"func.func"' in line:
            constants = {}
        match = OPERATION.match(line)
        if not match or line.endswith("({"):
            continue
        made, _, name, operands, rest = match.groups()
        rest = re.sub(r" loc\(.*\)$", "", rest)
        properties, _, signature = rest.rpartition(" : (")
        given, _, results = signature.rpartition(") -> ")
        operands = operands.split(", ") if operands else []
        if name == "mp.constant":
            constants[made] = re.sub(r" loc\(.*\)$", "", line.strip())
        results = results[1:-1] if results.startswith("(") else results
        if name == "mp.yield":
            continue
        kinds = split(results)
        if name != "mp.constant":
            kinds = [open_type(type) for type in kinds]
        read = {value: constants[value] for value in operands if value in constants}
        # `%1#0` is no name of an argument.
        renamed = [f"%v{value[1:].replace('#', '_')}" if "#" in value else value
                   for value in operands]
        yield Op(name, renamed, split(given), kinds, properties, read)


def generic(*modules) -> str:
    """Modules with inferred types, every op in its generic form."""
    texts = []
    for module in modules:
        done = subprocess.run([BIN / "mpopt-opt", "--mp-infer-types", "-mlir-print-op-generic",
                               module], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    return "\n".join(texts)


def places(op: Op) -> Iterator[tuple[str, callable]]:
    """The name of each place, and a function that makes the text with a number there."""
    for index, type in enumerate(op.types):
        match = TENSOR.match(type)
        if not match or op.operands[index] in op.constants:
            continue
        dims = match[1].split("x")[:-1]
        def write(size, axes, index=index, dims=dims, end=match.end()):
            value = op.operands[index]
            new = [str(size) if axis in axes else dim for axis, dim in enumerate(dims)]
            types = ["tensor<" + "".join(f"{dim}x" for dim in new) + type[end:]
                     if other == value else type
                     for other, type in zip(op.operands, op.types)]
            return Op(op.name, op.operands, types, op.results, op.properties,
                      op.constants).text()
        if len(dims) > 1:
            yield (f"operand {index} every dim",
                   lambda size, write=write, count=len(dims): write(size, range(count)))
        for axis in range(min(len(dims), ENTRIES)):
            yield f"operand {index} dim {axis}", lambda size, write=write, axis=axis: write(
                size, (axis,))
    yield from equal_dims(op)
    yield from properties(op)
    yield from constant_values(op)


def equal_dims(op: Op):
    found = {dim for type, value in zip(op.types, op.operands) if value not in op.constants
             for dim in re.findall(r"(\d+)(?=x)", type)}
    for count in sorted(found):
        def write(size, count=count):
            types = [type if value in op.constants else
                     re.sub(rf"(?<=[<x]){count}(?=x)", str(size), type)
                     for type, value in zip(op.types, op.operands)]
            return Op(op.name, op.operands, types, op.results, op.properties, op.constants).text()
        yield f"dims of {count}", write


def attribute_name(text: str, at: int) -> str:
    names = re.findall(r"(\w+) = ", text[:at])
    return names[-1] if names else "?"


def in_properties(op: Op, start: int, end: int, text: str) -> str:
    changed = op.properties[:start] + text + op.properties[end:]
    return Op(op.name, op.operands, op.types, op.results, changed, op.constants).text()


def properties(op: Op):
    if op.name == "mp.constant":
        return
    for match in NUMBER.finditer(op.properties):
        yield (attribute_name(op.properties, match.start()), lambda size, match=match:
               in_properties(op, match.start(), match.end(), str(size)))
    for match in LIST.finditer(op.properties):
        name, entries = attribute_name(op.properties, match.start()), match[1].split(", ")
        def write(size, which, match=match, entries=entries):
            new = [str(size) if index in which else entry
                   for index, entry in enumerate(entries)]
            return in_properties(op, match.start(1), match.end(1), ", ".join(new))
        if len(entries) > 1:
            yield (f"{name}[*]",
                   lambda size, write=write, count=len(entries): write(size, range(count)))
        for index in range(min(len(entries), ENTRIES)):
            yield f"{name}[{index}]", lambda size, write=write, index=index: write(size, (index,))


def constant_values(op: Op):
    for index, value in enumerate(op.operands):
        line = op.constants.get(value, "")
        match = DENSE.search(line)
        if not match:
            continue
        numbers = list(re.finditer(r"-?\d+", match[1]))
        def write(size, which, value=value, line=line, match=match, numbers=numbers):
            text = match[1]
            for number in reversed([numbers[index] for index in which]):
                text = text[:number.start()] + str(size) + text[number.end():]
            new = line[:match.start(1)] + text + line[match.end(1):]
            return Op(op.name, op.operands, op.types, op.results, op.properties,
                      {**op.constants, value: new}).text()
        yield (f"operand {index} value[*]",
               lambda size, write=write, count=len(numbers): write(size, range(count)))
        for entry in range(min(len(numbers), ENTRIES)):
            if len(numbers) > 1:
                yield (f"operand {index} value[{entry}]",
                       lambda size, write=write, entry=entry: write(size, (entry,)))


def vary(ops: Iterator[Op]) -> Iterator[Variant]:
    tried, seen = Tried(), set()
    for op in ops:
        seed = op.text()
        if seed in seen:
            continue
        seen.add(seed)
        for name, write in places(op):
            place = f"{op.name} {name}"
            for size in tried.sizes(place):
                yield Variant("", place, size, write(size).encode(), ".mlir")


def join(variants: list[Variant]) -> bytes:
    """One module of several, each a function."""
    return b"".join(variant.data.replace(b"@main", b"@f%d" % index, 1)
                    for index, variant in enumerate(variants))

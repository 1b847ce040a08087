"""What a soundness test has seen of each op: how many evaluations, over how many
distinct boxes, shapes and attributes.

A case is one evaluation of one op on sampled operands, compared with the bounds. A
configuration is an op with its attributes, the types of its operands and results and
the bounds of its operands; two evaluations with all of these equal are two cases and
one configuration."""

import collections
import hashlib
import re
from dataclasses import dataclass

from tool import run_mpopt

LEAST_CASES, LEAST_CONFIGURATIONS = 2000, 100


@dataclass(frozen=True)
class Op:
    """An op of the imported module: what it is called, what it is but for the names
    of values, and the tensors it reads."""

    name: str
    form: str
    operands: tuple[str, ...]


class Counts:
    def __init__(self):
        self.cases = collections.Counter()
        self.elements = collections.Counter()
        self.configurations = collections.defaultdict(set)

    def add(self, dtype, op, ranges, cases, elements):
        """`op` None: a tensor that no op makes by itself."""
        if op is None:
            return
        key = op.name, dtype
        self.cases[key] += cases
        self.elements[key] += elements
        boxes = [(said["lo"], said["hi"]) if (said := ranges.get(name)) else None
                 for name in op.operands]
        self.configurations[key].add(hashlib.blake2b(
            f"{op.form} {boxes}".encode(), digest_size=8).digest())

    def update(self, other):
        self.cases.update(other.cases)
        self.elements.update(other.elements)
        for key, configurations in other.configurations.items():
            self.configurations[key] |= configurations

    def table(self, dtypes):
        """A row an op: cases / configurations of each dtype; the totals."""
        names = sorted({name for name, _ in self.cases})
        width = max(map(len, names), default=0)
        lines = ["op".ljust(width) + "".join(f"{dtype:>18}" for dtype in dtypes)]
        for name in names:
            cells = (f"{self.cases[name, dtype]} / {len(self.configurations[name, dtype])}"
                     for dtype in dtypes)
            lines.append(name.ljust(width) + "".join(f"{cell:>18}" for cell in cells))
        lines.append(f"{len(names)} ops, {sum(self.cases.values())} cases, "
                     f"{sum(self.elements.values())} elements, "
                     f"{sum(map(len, self.configurations.values()))} configurations")
        return "\n".join(lines)

    def lacking(self, names, dtypes):
        """Of the ops and dtypes that were not seen often enough: what there is."""
        return {(name, dtype): (self.cases[name, dtype], len(self.configurations[name, dtype]))
                for name in names for dtype in dtypes
                if self.cases[name, dtype] < LEAST_CASES
                or len(self.configurations[name, dtype]) < LEAST_CONFIGURATIONS}


LOCATION = re.compile(r'^(#loc\d*) = loc\(fused<#mp\.origin<"[^"]*", "[^"]*", "[^"]*", '
                      r'\[([^\]]*)\]>>', re.M)
OPERATION = re.compile(r"^( *)(%[^=]*) = (mp\.\w+) ?(.*?)(?: loc\((#loc\d*)\)| \{)$")
CLOSING = re.compile(r"^( *)\}.* loc\((#loc\d*)\)$")
ARGUMENT = re.compile(r'(%\w+): [^{]*\{[^}]*mp\.name = "([^"]*)"')
VALUE = re.compile(r"%[\w#:]+")


def read_ops(path):
    """The op that makes a tensor, by the tensor's name, of the main graph."""
    done = run_mpopt("--emit-mlir", path)
    assert done.returncode == 0, done.stderr
    locations = {match[1]: [part.strip().strip('"') for part in match[2].split(",")]
                 for match in LOCATION.finditer(done.stdout)}
    header = next(line for line in done.stdout.splitlines() if "func.func" in line)
    names = dict(ARGUMENT.findall(header))
    ops = {}
    for results, name, rest, location in operations(done.stdout):
        made = locations.get(location, [])
        names.update(zip(expand(results), made))
        if name == "mp.constant":
            continue
        operands = tuple(names.get(value, "") for value in VALUE.findall(rest.split(" : ")[0]))
        op = Op(name, VALUE.sub("", rest), operands)
        ops.update((tensor, op) for tensor in made if tensor)
    return ops


def operations(text):
    """Results, name, rest and location of each op; of one with bodies the location
    follows the last of them."""
    opened = {}
    for line in text.splitlines():
        if match := OPERATION.match(line):
            indent, *op, location = match.groups()
            if location:
                yield *op, location
            else:
                opened[indent] = op
        elif (match := CLOSING.match(line)) and match[1] in opened:
            yield *opened.pop(match[1]), match[2]


def expand(results):
    """`%0:2, %a` as `%0#0, %0#1, %a`."""
    values = []
    for part in results.split(","):
        name, _, count = part.strip().partition(":")
        values += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return values

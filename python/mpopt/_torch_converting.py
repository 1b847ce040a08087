"""Carries out the plan of `mpopt --convert` in a file of PyTorch (lib/Driver/Conversion/TorchModel.cpp).

    python -m mpopt._torch_converting SOURCE OUT PLAN.json

The graph is changed by PyTorch itself, which also writes the file. A node that stays in FP32 reads what it read before, so
that what is not understood stays as it is; every other one reads all of its floats in the low type. What this module knows
of a graph are its steps (`Step`), which `_program_converting` and `_script_converting` read from the two formats."""

import dataclasses
import json
import pathlib
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

from mpopt import _command, _console, _modules
from mpopt._command import Error

#: The name in the archive's folder `extra`.
STAMP = "mpopt.convert"
_ROUNDING = ("floor", "ceil", "round", "trunc")


@dataclasses.dataclass(eq=False)
class Step:
    """A node of a graph. Values are what the format has for them."""

    node: Any
    #: Names that the plan may have for it, without the path of its module; the first is its own.
    names: list[str]
    type: str
    #: Float tensors alone.
    reads: list[Any]
    gives: list[Any]
    writes: list[Any] = dataclasses.field(default_factory=list)
    #: Values of which one may be a view of the other.
    aliases: list[tuple[Any, Any]] = dataclasses.field(default_factory=list)
    #: What it gives is FP32 whatever it reads.
    gives_wide: bool = False
    #: It becomes an integer, of which a rounding would make another one.
    is_count: bool = False
    #: It stays in FP32, and why; "": for a reason that is no user's business.
    is_wide: bool = False
    why: str = ""

    def widen(self, why: str = "") -> None:
        if not self.is_wide:
            self.is_wide, self.why = True, why


class _Words:
    """The words of an option that names nodes (lib/Convert/Selector.h)."""

    def __init__(self, option: str, words: Iterable[str]) -> None:
        self._option, self._unused = option, dict.fromkeys(words)
        self._words = list(self._unused)

    def fits(self, step: Step, readers: Callable[[Step], Iterable[Step]]) -> bool:
        found = [word for word in self._words if self._fits(word, step, readers)]
        for word in found:
            self._unused.pop(word, None)
        return bool(found)

    @staticmethod
    def _fits(word: str, step: Step, readers) -> bool:
        if word.startswith(("node:", "out:")):
            return word.split(":", 1)[1].rsplit("/", 1)[-1] in step.names
        kinds = step.type, step.type.rpartition("::")[2]
        if ">" in word:
            given, read = word.split(">", 1)
            return given in kinds and any(read in (each.type, each.type.rpartition("::")[2]) for each in readers(step))
        return word in kinds or any(matches(word, name) for name in step.names)

    def check_used(self) -> None:
        for word in self._unused:
            raise Error(f"{self._option}: the model has no node '{word.removeprefix('node:')}'")


def matches(word: str, name: str) -> bool:
    """True for a name, and for an expression that fits all of one."""
    try:
        return word.rsplit("/", 1)[-1] == name or re.fullmatch(word, name) is not None
    except re.error:
        return False


class Plan:
    """The plan, and what came of it."""

    def __init__(self, asked: Mapping) -> None:
        import torch

        self.low_name: str = asked["low"]
        self.low = {"f16": torch.float16, "bf16": torch.bfloat16}[self.low_name]
        self.values: dict[str, dict] = asked["values"]
        self.wide: list[dict] = asked["wide"]
        self.is_patch: bool = asked["patch"]
        self.states = set(asked["states"])
        self._wide = {entry["node"].rsplit("/", 1)[-1].split("#")[0]: entry["why"] for entry in asked["wide"]}
        self._words = _Words("--keep", asked["keep"]), _Words("--never", asked["never"])
        self._stamp = asked["stamp"]
        self._borders = [(word.removeprefix("!"), word.startswith("!")) for word in asked["keep_io"]]
        self._unused = dict.fromkeys(word for word, _ in self._borders)
        self._keeps_all = asked["keep_all_io"] or bool(self._borders) and all(low for _, low in self._borders)
        self._kernels: dict[tuple, str] = {}
        self.casts: list[dict] = []
        self.io: list[dict] = []
        self.bytes = [0, 0]
        self.kept: list[dict] = []
        self.warnings: list[str] = []

    # Statements that stay in FP32.

    def decide(self, steps: Sequence[Step], others: Collection[str] = ()) -> "Written":
        """Widens steps by the plan and the options, and those that change one tensor in two types. `others`: names in the
        graph of what is no step."""
        known = {name: step for step in steps for name in reversed(step.names)}
        readers: dict[Hashable, list[Step]] = {}
        makers = {value: step for step in steps for value in step.gives}
        for step in steps:
            for value in step.reads:
                readers.setdefault(value, []).append(step)
        for name in self._wide:
            if name not in known and name not in others:
                raise Error(f"PyTorch's graph has no node '{name}', which the plan has")
        keep, never = self._words
        for step in steps:
            def find_readers(each):
                return [reader for value in each.gives for reader in readers.get(value, [])]

            is_never = never.fits(step, find_readers)
            if keep.fits(step, find_readers):
                step.widen("asked for by --keep")
            planned = next((name for name in step.names if name in self._wide), None)
            if planned is not None and not is_never:
                step.widen(self._wide[planned])
            if step.is_count:
                _widen_count(step, makers)
        keep.check_used()
        never.check_used()
        return Written(steps)

    # Inputs and outputs.

    def choose(self, name: str) -> str:
        """`kept`, `low` or `open` for an input or output."""
        choice = "kept" if self._keeps_all or name in self.states else "open"
        for word, is_low in self._borders:
            if matches(word, name):
                self._unused.pop(word, None)
                choice = "low" if is_low else "kept"
        return choice

    def check_borders(self) -> None:
        for word in self._unused:
            raise Error(f"--keep-io-types: the model has no input or output '{word}'")

    # Numbers.

    def lower(self, tensor):
        """The tensor in the low type, what is finite left finite."""
        import torch

        largest = torch.finfo(self.low).max
        # NaN and infinities go through.
        clipped = torch.where(tensor.isfinite(), tensor.clamp(-largest, largest), tensor)
        return clipped.to(self.low)

    def clip(self, number):
        import torch

        largest = torch.finfo(self.low).max
        is_past = isinstance(number, float | int) and not isinstance(number, bool) and largest < abs(number) < float("inf")
        return (largest if number > 0 else -largest) if is_past else number

    def try_kernel(self, key: tuple, call: Callable[[Any], Any]) -> str:
        """Tries an op on zeros of the low type on the CPU: `missing` if it takes those of FP32 alone, `overflow` of a number
        that it has, or ``. What else it says is about the zeros."""
        import torch

        if key not in self._kernels:
            error = _fault(call, self.low)
            if error is None:
                self._kernels[key] = ""
            elif "without overflow" in str(error):
                self._kernels[key] = "overflow"
            else:
                no_kernel = "not implemented for" in str(error) or isinstance(error, NotImplementedError)
                self._kernels[key] = "missing" if no_kernel or _fault(call, torch.float32) is None else ""
        return self._kernels[key]

    # The messages.

    def note_cast(self, tensor: str, is_wide: bool, reader: str) -> None:
        self.casts.append({"tensor": tensor, "to": "f32" if is_wide else self.low_name, "why": f"'{reader}' reads it"})

    def note_kept(self, steps: Iterable[Step]) -> None:
        self.kept += [{"node": step.names[0], "type": step.type, "why": step.why} for step in steps
                      if step.is_wide and step.why]

    @property
    def request(self) -> dict:
        return json.loads(self._stamp)["request"]

    def stamp(self) -> str:
        made = json.loads(self._stamp)
        made["kept"] = [entry["node"] for entry in self.kept]
        return json.dumps(made)


def _fault(call: Callable[[Any], Any], dtype) -> Exception | None:
    import torch

    try:
        with torch.no_grad():
            call(dtype)
    except Exception as error:  # noqa: BLE001: of many classes
        return error
    return None


def _widen_count(step: Step, makers: Mapping[Hashable, Step]) -> None:
    """With what rounds to a whole number, and what gives that."""
    while True:
        step.widen("an integer comes of it")
        maker = makers.get(step.reads[0]) if step.reads else None
        if maker is None or maker.is_wide and maker.why == "an integer comes of it":
            return
        if not (step.is_count or step.type.rpartition("::")[2].rstrip("_") in _ROUNDING):
            return
        step = maker


class Written:
    """Tensors that are changed in place: what changes them, and what sees it, has one type."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._roots: dict[Hashable, Hashable] = {}
        for step in steps:
            for pair in step.aliases:
                self._join(*pair)
        roots = {self._find(value) for step in steps for value in step.writes}
        self.values = {value for value in self._roots if self._find(value) in roots}
        self.values |= {value for step in steps for value in step.writes}
        self._settle(steps)

    def _find(self, value: Hashable) -> Hashable:
        while (above := self._roots.get(value, value)) != value:
            value = above
        return value

    def _join(self, one: Hashable, other: Hashable) -> None:
        self._roots.setdefault(one, one)
        self._roots.setdefault(other, other)
        self._roots[self._find(one)] = self._find(other)

    def _settle(self, steps: Sequence[Step]) -> None:
        touching: dict[Hashable, list[Step]] = {}
        for step in steps:
            for value in {*step.gives, *step.writes, *(value for pair in step.aliases for value in pair)} & self.values:
                if step not in (list_ := touching.setdefault(self._find(value), [])):
                    list_.append(step)
        given = {value for step in steps for value in step.gives}
        # A value that no step gives is a parameter or an input, which a cast would only copy.
        wide = {self._find(value) for value in self.values if value not in given}
        changed = True
        while changed:
            changed = False
            for root, group in touching.items():
                if root in wide or any(step.is_wide or step.gives_wide for step in group):
                    for step in group:
                        if not step.is_wide:
                            step.widen("it changes a tensor that stays in FP32")
                            changed = True


def alias_of(schema, arguments: Callable[[int], list], results: Callable[[int], list]) -> tuple[list, list]:
    """The tensors that an op writes, and those of which one may be a view of the other."""
    writes, aliases = [], []
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None:
            continue
        given = arguments(index)
        if argument.alias_info.is_write:
            writes += given
        for other, result in enumerate(schema.returns):
            if result.alias_info is not None:
                aliases += [(value, view) for value in given for view in results(other)]
    return writes, aliases


def shared_storages(tensors: Mapping[Hashable, Any]) -> dict[Hashable, Hashable]:
    """The first name of each tensor's memory."""
    first: dict[tuple, Hashable] = {}
    return {name: first.setdefault((tensor.device, tensor.untyped_storage().data_ptr()) if tensor.numel() else (name,), name)
            for name, tensor in tensors.items()}


def _read_request(source: str) -> dict | None:
    """The request that a stamp in the archive holds."""
    with zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            if name.endswith(f"/extra/{STAMP}"):
                return json.loads(archive.read(name)).get("request")
    return None


def _convert(source: str, plan: Plan) -> bytes:
    """The result; of what is as asked already nothing, and no change in `plan`."""
    from mpopt import _program_converting, _programs, _script_converting, _source_patching

    if plan.is_patch:
        text, plan.kept, plan.casts, plan.warnings = _source_patching.make(plan.wide)
        return text.encode()
    if _read_request(source) == plan.request:
        return b""
    kind = _program_converting if _programs.is_program_file(pathlib.Path(source)) else _script_converting
    return kind.convert(source, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    source, output, asked = sys.argv[1:] if arguments is None else arguments
    try:
        with open(asked, encoding="utf-8") as file:
            plan = Plan(json.load(file))
        data = _convert(source, plan)
        is_changed = bool(plan.casts or plan.bytes[0] != plan.bytes[1] or any(each["from"] != each["to"] for each in plan.io))
        # There is the source.
        if is_changed or plan.is_patch:
            with open(output, "wb") as file:
                file.write(data)
    except (ImportError, _command.Error, OSError, MemoryError) as error:
        _console.print_error("mpopt", _modules.reason(error))
        return 2
    except Exception as error:  # noqa: BLE001: what PyTorch says of a graph or of a file has many classes
        _console.print_error("mpopt", f"PyTorch cannot rewrite it: {_modules.reason(error)}")
        return 2
    print(json.dumps({"kept": plan.kept, "casts": plan.casts, "io": plan.io, "bytes": plan.bytes, "changed": is_changed,
                      "warnings": plan.warnings}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

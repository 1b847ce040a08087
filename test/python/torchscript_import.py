"""Runs mpopt-import-torchscript on an archive and reads what it prints."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch

TOOL = Path(os.environ.get("MPOPT_BIN", "build/bin")) / "mpopt-import-torchscript"

DTYPES = {
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.int8: "i8",
    torch.uint8: "ui8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
    torch.complex64: "complex<f32>",
}


@dataclass
class Imported:
    text: str
    warnings: str
    #: Ops of the model as the importer counts them.
    ops: int = 0
    #: Names of ops without a lowering, one for each place.
    opaque: Counter = field(default_factory=Counter)
    #: (dtype, dims) of each output; a dim that is not known is None.
    outputs: list[tuple[str, list[int | None] | None]] = field(default_factory=list)


def shape_option(name: str, value: torch.Tensor) -> str:
    dims = "x".join(str(dim) for dim in value.shape)
    return f"{name}={dims}:{DTYPES[value.dtype]}"


def shape_options(names: list[str], inputs: tuple) -> list[str]:
    options = []
    for name, value in zip(names, inputs):
        options += ["--input-shape", shape_option(name, value)]
    return options


def read_type(text: str) -> tuple[str, list[int | None] | None]:
    inside = re.fullmatch(r"tensor<(.*)>", text)
    if not inside:
        return text, None
    if inside[1].startswith("*x"):
        return inside[1][2:], None
    *dims, element = inside[1].split("x")
    return element, [None if dim == "?" else int(dim) for dim in dims]


def import_archive(path: Path, names: list[str], inputs: tuple) -> Imported:
    command = [TOOL, path, "--text", *shape_options(names, inputs)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, f"{path.name}: {ran.returncode}\n{ran.stderr[-2000:]}"
    result = Imported(ran.stdout, ran.stderr)
    nodes = re.search(r"mp\.nodes = (\d+)", ran.stdout)
    result.ops = int(nodes[1]) if nodes else 0
    # An op in a loop that was unrolled is there once a round, at one place.
    places = set()
    for line in ran.stdout.splitlines():
        found = re.search(r'mp\.opaque "([^"]+)"', line)
        if found:
            place = re.search(r"loc\((#\w+)\)$", line)
            places.add((found[1], place[1] if place else line))
        if line.lstrip().startswith("return ") or " func.return " in line:
            types = line.split(" : ", 1)[1] if " : " in line else ""
            types = re.sub(r" loc\(.*\)$", "", types)
            result.outputs = [
                read_type(kind)
                for kind in re.findall(r"tensor<[^<>]*(?:<[^<>]*>)?>", types)
            ]
    result.opaque = Counter(name for name, _ in places)
    return result


def flatten(value) -> list[torch.Tensor]:
    """Tensors and numbers of what a module returns, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (bool, int, float)):
        return [torch.tensor(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for member in value for leaf in flatten(member)]
    return []

"""Runs mpopt-import-torchscript on an archive and reads what it prints."""

from __future__ import annotations

import atexit
import functools
import json
import math
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tool import BIN, MPOPT

TOOL = BIN / "mpopt-import-torchscript"

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
    #: Names of ops without a lowering.
    opaque: Counter = field(default_factory=Counter)
    #: (dtype, dims) of each output; a dim that is not known is None.
    outputs: list[tuple[str, list[int | None] | None]] = field(default_factory=list)


def shape_option(name: str, value: torch.Tensor, open_dims: int = 0) -> str:
    dims = ["?" if i < open_dims else str(dim) for i, dim in enumerate(value.shape)]
    return f"{name}={'x'.join(dims) or 'scalar'}:{DTYPES[value.dtype]}"


def read_type(text: str) -> tuple[str, list[int | None] | None]:
    inside = re.fullmatch(r"tensor<(.*)>", text)
    if not inside:
        return text, None
    if inside[1].startswith("*x"):
        return inside[1][2:], None
    *dims, element = inside[1].split("x")
    return element, [None if dim == "?" else int(dim) for dim in dims]


class Server:
    """A reader that stays: LibTorch's start takes most of an archive's time."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [TOOL, "--serve=120"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        atexit.register(self.stop)

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=10)
        self.folder.cleanup()

    def read(self, path: Path, shapes: list[str], output: Path, text: bool) -> tuple[int, str]:
        """The status and what was said."""
        log = Path(self.folder.name, "log")
        request = {"archive": str(path), "input_shapes": shapes,
                   "output": str(output), "log": str(log), "text": text}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        status = json.loads(self.process.stdout.readline())["status"]
        return status, log.read_text(errors="replace")


@functools.cache
def server() -> Server:
    return Server()


def read_text(path: Path, shapes: list[str]) -> tuple[str | None, str]:
    """The archive's IR, or nothing, and the messages."""
    output = Path(server().folder.name, "text.mlir")
    status, said = server().read(path, shapes, output, text=True)
    return (output.read_text() if status == 0 else None), said or f"status {status}"


def shapes_of(names: list[str], inputs: tuple, open_dims: int = 0) -> list[str]:
    return [shape_option(name, value, open_dims) for name, value in zip(names, inputs)]


def import_archive(
    path: Path, names: list[str], inputs: tuple, open_dims: int = 0
) -> Imported:
    """`open_dims` leading dims of every input are left open."""
    return import_with(path, shapes_of(names, inputs, open_dims))


def import_with(path: Path, shapes: list[str]) -> Imported:
    text, said = read_text(path, shapes)
    assert text is not None, f"{path.name}: {said[-2000:]}"
    result = Imported(text, said)
    coverage = re.search(
        r"mp\.coverage = \{modelled = \d+ : i64, ops = (\d+) : i64"
        r"(?:, unmodelled = \{([^}]*)\})?",
        text,
    )
    result.ops = int(coverage[1])
    for name, count in re.findall(r'"([^"]+)" = (\d+)', coverage[2] or ""):
        result.opaque[name] = int(count)
    for line in text.splitlines():
        if line.lstrip().startswith("return ") or " func.return " in line:
            types = line.split(" : ", 1)[1] if " : " in line else ""
            types = re.sub(r" loc\(.*\)$", "", types)
            result.outputs = [
                read_type(kind)
                for kind in re.findall(r"tensor<[^<>]*(?:<[^<>]*>)?>", types)
            ]
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


def observed_values(path: Path, inputs: tuple) -> dict[str, torch.Tensor]:
    """Every tensor that a traced archive computes outside of branches and loops,
    under the graph's name for it, as it was when it was made."""
    module = torch.jit.load(str(path))
    original = module.inlined_graph

    def tensors_of(node) -> list:
        """Its tensors; further ones that nothing reads may be undefined."""
        if node.kind().startswith("prim::"):
            return []
        return [
            value
            for index, value in enumerate(node.outputs())
            if str(value.type()) == "Tensor" and (index == 0 or value.uses())
        ]

    # Copies of a graph number its values anew, in the same order.
    known = [
        value.debugName() for node in original.nodes() for value in tensors_of(node)
    ]
    graph, parameters = torch._C._jit_pass_lower_graph(original, module._c)
    graph = graph.copy()
    nodes = list(graph.nodes())
    # Copies: what is changed in place later keeps its first value.
    none = graph.create("prim::Constant", 1)
    none.output().setType(torch._C.NoneType.get())
    none.insertBefore(nodes[0])
    copies = []
    for node in nodes:
        last = node
        for value in tensors_of(node):
            copy = graph.create("aten::clone", [value, none.output()], 1)
            copy.insertAfter(last)
            last = copy
            copies.append(copy.output())
    while len(list(graph.outputs())):
        graph.eraseOutput(0)
    everything = graph.create("prim::TupleConstruct", copies, 1)
    everything.insertAfter(list(graph.nodes())[-1])
    everything.output().setType(
        torch._C.TupleType([torch._C.TensorType.get() for _ in copies])
    )
    graph.registerOutput(everything.output())
    function = torch._C._create_function_from_graph("observed", graph)
    with torch.no_grad():
        values = function(*[value.clone() for value in inputs], *parameters)
    assert len(known) == len(values)
    return dict(zip(known, values))


@dataclass
class Checked:
    report: dict
    ranges: dict


def check(path: Path, shapes: list[str], folder: Path, *options: str) -> Checked:
    """What mpopt says of an archive, or, without shapes, of a model of another
    format; an archive's reader is the one that stays."""
    model = path
    if shapes:
        model = folder / f"{path.stem}.mlirbc"
        status, said = server().read(path, shapes, model, text=False)
        assert status == 0, f"{path.name}: {said[-2000:]}"
    file = folder / "ranges.json"
    command = [MPOPT, "--check", model, "--format", "json",
               "--fail-on", "never", "--dump-ranges", file, *options]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return Checked(json.loads(ran.stdout), json.loads(file.read_text()))


def dump_ranges(path: Path, names: list[str], inputs: tuple, folder: Path) -> dict:
    """What `--dump-ranges` says of the archive as it is."""
    shapes = shapes_of(names, inputs)
    return check(path, shapes, folder, "--precision", "as-is").ranges


def outside(value: torch.Tensor, bounds: dict) -> str:
    """Where the value leaves the bounds; empty if it does not."""
    if value.dtype.is_complex or not value.numel():
        return ""
    # Bounds are of the exact results: kernels round, and sum in their own order.
    relative = 1e-5
    if value.is_floating_point():
        relative = max(relative, torch.finfo(value.dtype).eps)
    value = value.double()
    if value.isnan().any() and not bounds["nan"]:
        return "NaN"
    finite = value[value.isfinite()]
    if (value == math.inf).any() and not bounds["posinf"]:
        return "+Inf"
    if (value == -math.inf).any() and not bounds["neginf"]:
        return "-Inf"
    if not finite.numel():
        return ""
    low, high = float(bounds["lo"]), float(bounds["hi"])
    slack = relative * max(abs(finite.min()), abs(finite.max())) + 1e-30
    if finite.min() < low - slack or finite.max() > high + slack:
        return f"[{finite.min():g}, {finite.max():g}] is not in [{low:g}, {high:g}]"
    return ""

"""Programs of torch.export: saved, judged, and run node by node."""

from __future__ import annotations

import json
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
from tool import MPOPT


def export(module: torch.nn.Module, inputs: tuple, **options) -> torch.export.ExportedProgram:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, inputs, **options)


def save(program: torch.export.ExportedProgram, path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(program, str(path))
    return path


@dataclass
class Checked:
    report: dict
    ranges: dict
    warnings: str


def check(path: Path, folder: Path, *options: str) -> Checked:
    file = folder / "ranges.json"
    ran = subprocess.run(
        [MPOPT, "--check", path, "--format", "json", "--fail-on", "never",
         "--dump-ranges", file, *options], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return Checked(json.loads(ran.stdout), json.loads(file.read_text()), ran.stderr)


class _Observer(torch.fx.Interpreter):
    """Keeps a copy of every tensor as it was when it was made."""

    def __init__(self, module):
        super().__init__(module, garbage_collect_values=False)
        self.values: dict[str, torch.Tensor] = {}

    def run_node(self, node):
        result = super().run_node(node)
        if node.op == "call_function" and isinstance(result, torch.Tensor):
            self.values[node.name] = result.detach().clone()
        return result


def observed_values(program: torch.export.ExportedProgram,
                    inputs: tuple) -> dict[str, torch.Tensor]:
    """Every tensor that the program computes outside of the bodies of branches, loops
    and regions, by the name that its node has."""
    observer = _Observer(program.graph_module)
    flat = program._graph_module_flat_inputs(tuple(one.clone() for one in inputs), {})
    with torch.no_grad():
        observer.run(*flat)
    return observer.values


def by_node(ranges: dict) -> dict[str, dict]:
    """The tensors of `--dump-ranges` by the names of nodes, without their modules."""
    return {name.rsplit("/", 1)[-1]: bounds for name, bounds in ranges["tensors"].items()}

"""One network, saved as TorchScript, as a program of torch.export and exported to ONNX:
mpopt says the same.

Findings agree by rule and mp op, the ranges of outputs within a factor 1.01 where
everything is linear and 2 elsewhere. Where an exporter changed the arithmetic, the
difference must be listed in Inputs/torchscript_twins.tsv, with what it changed;
what is listed and does not differ is an error, too. Scripted archives are
compared with traced ones in the same way. `pytest -s` prints the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
import torch_exports  # noqa: E402
import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402
import twins  # noqa: E402
from tool import run_mpopt  # noqa: E402

if not torchscript_import.TOOL.exists():
    pytest.skip("this build has no mpopt-import-torchscript", allow_module_level=True)
try:
    import onnxscript  # noqa: F401: the newer exporter needs it

    EXPORTERS = ["legacy", "dynamo"]
except ImportError:
    EXPORTERS = ["legacy"]

HERE = Path(__file__).resolve().parent
NETWORKS = {network.name: network for network in torch_networks.networks()}
PRECISIONS = ["fp16", "autocast-fp16"]
TABLE = twins.read_table(HERE / "Inputs/torchscript_twins.tsv")

#: What an exporter has no form of, and a word of what it says.
NOT_EXPORTED = {
    ("experts", "legacy"): "aten::histc",
    ("experts", "dynamo"): "ConversionError",
    ("losses", "legacy"): "label_smoothing",
    ("shapes", "legacy"): "UnsupportedOperatorError",
    ("arithmetic", "legacy"): "expm1",
    ("dynamic_quantized", "legacy"): "linear_dynamic",
    ("control", "dynamo"): "TorchExportError",
    ("quantized", "dynamo"): "TorchExportError",
    ("dynamic_quantized", "dynamo"): "TorchExportError",
}
#: torch.export has no form of packed parameters.
PACKED = {"quantized", "dynamic_quantized"}


class Twins:
    """The models, made when they are asked for; the exporters run beside."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.said: dict = {}
        self.kinds: dict = {}
        self.refused: dict[tuple[str, str], str] = {}
        self.done: set[tuple[str, str]] = set()
        self.exporter = subprocess.Popen(
            [sys.executable, torch_exports.__file__, folder, *EXPORTERS],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE,
            env={**os.environ, "PYTHONWARNINGS": "ignore",
                 "PYTHONPATH": str(HERE.parent / "support")})

    def wait_for(self, name: str, exporter: str) -> None:
        while (name, exporter) not in self.done:
            line = self.exporter.stdout.readline()
            assert line, f"the exporters ended before {name}.{exporter}"
            if not line.startswith("export: "):
                continue
            _, network, kind, *why = line.split(maxsplit=3)
            self.done.add((network, kind))
            if why:
                self.refused[network, kind] = why[0].strip()

    def path(self, name: str, form: str) -> Path:
        if form in EXPORTERS:
            self.wait_for(name, form)
            return self.folder / f"{name}.{form}.onnx"
        path = self.folder / f"{name}.{form}.pt"
        if form == "exported" and not path.exists():
            network = NETWORKS[name]
            exported_programs.save(
                exported_programs.export(network.module(), network.inputs), path)
        if not path.exists():
            NETWORKS[name].save(form, str(path))
        return path

    def shapes(self, name: str, form: str) -> list[str]:
        network = NETWORKS[name]
        if form in EXPORTERS or form == "exported":
            return []
        return torchscript_import.shapes_of(network.names, network.inputs)

    def get(self, name: str, form: str, precision: str) -> twins.Said:
        key = name, form, precision
        if key not in self.said:
            checked = torchscript_import.check(
                self.path(name, form), self.shapes(name, form), self.folder,
                "--precision", precision)
            self.said[key] = twins.said_of(checked)
        return self.said[key]

    def count(self, name: str, form: str):
        """How often each mp op occurs."""
        if (name, form) not in self.kinds:
            path = self.path(name, form)
            if form in EXPORTERS or form == "exported":
                text = run_mpopt("--emit-mlir", path, check=True).stdout
            else:
                text, _ = torchscript_import.read_text(path, self.shapes(name, form))
            self.kinds[name, form] = twins.op_kinds(text)
        return self.kinds[name, form]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    made = Twins(tmp_path_factory.mktemp("twins"))
    yield made
    made.exporter.terminate()
    made.exporter.wait()


def base_of(name: str) -> str:
    return "traced" if "traced" in NETWORKS[name].forms else "scripted"


CASES = [(name, twin) for name in NETWORKS for twin in [*EXPORTERS, "scripted"]
         if (name, twin) not in NOT_EXPORTED and twin != base_of(name)
         and (twin in EXPORTERS or twin in NETWORKS[name].forms)]
CASES += [(name, "exported") for name, network in NETWORKS.items()
          if "traced" in network.forms and name not in PACKED]


def listed(name: str, twin: str, precision: str) -> set[twins.Difference]:
    return {row.difference for row in TABLE if (row.network, row.twin) == (name, twin)
            and row.precision in ("*", precision)}


def compare(models: Twins, name: str, twin: str, precision: str) -> twins.Comparison:
    base = base_of(name)
    linear = set(models.count(name, base)) <= twins.LINEAR
    return twins.compare(models.get(name, base, precision),
                         models.get(name, twin, precision), linear)


@pytest.mark.parametrize("name,twin", CASES)
def test_twins_agree(models, name, twin):
    for precision in PRECISIONS:
        found = compare(models, name, twin, precision).differences
        known = listed(name, twin, precision)
        assert not found - known, f"{precision}: not listed"
        assert not known - found, f"{precision}: listed, and no longer so"


@pytest.mark.parametrize("name,twin", sorted(
    {(row.network, row.twin) for row in TABLE if row.difference.what[0] == "M"}
    & set(CASES)))
def test_the_arithmetic_is_another_one(models, name, twin):
    """A finding that only one has is about ops that the models have in different
    numbers."""
    ours, theirs = models.count(name, base_of(name)), models.count(name, twin)
    for row in TABLE:
        if (row.network, row.twin) == (name, twin):
            assert row.reason
    assert ours != theirs


def test_table_is_of_known_networks():
    for row in TABLE:
        assert row.network in NETWORKS
        assert row.precision in ("*", *PRECISIONS)
        assert row.twin in ("legacy", "dynamo", "scripted", "exported")
        assert row.difference.side in ("torchscript", "twin")


@pytest.mark.parametrize("name,exporter",
                         [case for case in NOT_EXPORTED if case[1] in EXPORTERS])
def test_what_is_not_exported(models, name, exporter):
    models.wait_for(name, exporter)
    assert NOT_EXPORTED[name, exporter] in models.refused[name, exporter]


def test_print_table(models):
    print("\n| network | twin | findings of both | ranges within | differs: the exporter |")
    print("| --- | --- | --- | --- | --- |")
    same = 0
    for name, twin in CASES:
        both = [compare(models, name, twin, precision) for precision in PRECISIONS]
        reasons = {row.reason: None for row in TABLE
                   if (row.network, row.twin) == (name, twin)}
        same += not reasons
        print(f"| {name} | {twin} | {sum(c.findings for c in both)} | "
              f"{max(c.factor for c in both):.3g} | {'; '.join(reasons)} |")
    for (name, exporter), why in NOT_EXPORTED.items():
        if exporter in EXPORTERS:
            print(f"| {name} | {exporter} | | | not exported: {why} |")
    print(f"{len(CASES)} twins, {same} without any difference")

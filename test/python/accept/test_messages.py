"""What reports say of every model of the acceptance table can be read: no number is NaN, no name is empty and no
escape is left."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tool import MPOPT, ROOT

# Behind all others: bench has modules whose names tests use, too.
sys.path += [str(ROOT / "bench" / "accept"), str(ROOT / "bench")]

from checks import WORKERS, command_line  # noqa: E402
from table import Model, read_models  # noqa: E402

FAULTS = {
    "a number that is none": re.compile(r"(?<![\w.])[-+]?nan(?!\w)"),
    "an empty name": re.compile(r"``|''|\(\)|^\s|:\s*$|\bof ,|  "),
    "an escape": re.compile(r"\\[nrt\"]"),
}
# Texts that may be empty.
SILENT = {"scope", "tensor", "dtype", "kind", "op"}
# Words of a fixed list: a test by which a run decides is called nan.
WORDS = {"test"}


def texts(node, key: str = "") -> Iterator[tuple[str, str]]:
    """All strings of a report, with the key that each has."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from texts(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value, key)
    elif isinstance(node, str):
        yield key, node


def faults(key: str, text: str) -> list[str]:
    if key in WORDS:
        return []
    if not text:
        return [] if key in SILENT else [f"{key}: an empty text"]
    return [f"{key}: {what}: {text}" for what, pattern in FAULTS.items() if pattern.search(text)]


def read_model(model: Model) -> list[str]:
    """What is wrong with the texts of a model's reports."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for row in model.rows:
            command = command_line(MPOPT, model, row, model.write(folder, row), folder)
            command += ["--min-certainty", "possible"]
            assert subprocess.run(command, capture_output=True, check=False).returncode in (0, 1)
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            for part in ("findings", "effects", "assumptions", "warnings"):
                for key, text in texts(report.get(part, [])):
                    found += [f"{model.name} {row}: {fault}" for fault in faults(key, text)]
            for effect in report.get("effects", []):
                if effect["expected_error"] is None and not effect.get("unknown"):
                    found.append(f"{model.name} {row}: {effect['output']} is unknown for no reason")
    return found


@pytest.mark.parametrize("text", ["off by -nan %", "of ``, the result", "first\\nsecond", "nan", "errors of '' grow"])
def test_faults_are_seen(text):
    assert faults("message", text)


@pytest.mark.parametrize("text", ["`nan_to_num` makes 0 of NaN", "Inf or NaN", "relu(x) - banana", "up to 65504"])
def test_other_texts_are_none(text):
    assert not faults("message", text)


@pytest.mark.slow
def test_all_messages_can_be_read():
    with ThreadPoolExecutor(WORKERS) as pool:
        found = [fault for faults in pool.map(read_model, read_models()) for fault in faults]
    assert not found, "\n".join(sorted(set(found))[:50])

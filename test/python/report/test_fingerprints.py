"""Findings keep their fingerprints when PyTorch exports a network otherwise.

An opset that has no op for a normalisation or an activation has it written out.
"""

from __future__ import annotations

import json

import pytest
from tool import run_mpopt

torch = pytest.importorskip("torch")
nn = torch.nn
WIDTH = 32


class Block(nn.Module):
    """A transformer's block without attention, of large numbers: findings behind each composite."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = nn.functional.gelu(self.up(self.before(x)))
        return x + self.down(torch.exp(30 * hidden))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.after, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10)

    def forward(self, x):
        return torch.softmax(1000 * self.head(self.after(self.blocks(x))), -1)


def export(path, opset: int, batch: int = 1):
    torch.manual_seed(0)
    file = path / f"{opset}-{batch}.onnx"
    torch.onnx.export(Network().eval(), (torch.zeros(batch, 5, WIDTH),), file, dynamo=False, opset_version=opset)
    return file


def find(model) -> dict[str, str]:
    """Rules by fingerprint of all findings in FP16."""
    done = run_mpopt("--check", model, "--precision", "fp16", "--min-certainty", "possible", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return {finding["fingerprint"]: finding["rule"] for finding in json.loads(done.stdout)["findings"]}


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    return export(tmp_path_factory.mktemp("fused"), 20)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("opset, batch", [(14, 1), (17, 1), (20, 3)])
def test_another_export_has_the_same(fused, tmp_path, opset, batch):
    known, other = find(fused), find(export(tmp_path, opset, batch))
    assert len(known) >= 8 and known.items() <= other.items()
    # The form that is written out has more of its own ops.
    assert len(other) == len(known) or opset < 20


@pytest.mark.filterwarnings("ignore")
def test_a_comparison_matches_an_op_with_what_is_written_out(fused, tmp_path):
    written_out = export(tmp_path, 14)
    done = run_mpopt("--diff", written_out, fused, "--precision", "fp16", "--format", "json")
    report = json.loads(done.stdout)
    # None is new. What a note became worse for is that Inf ends elsewhere.
    assert {finding["fingerprint"] for finding in report["came"]} <= find(written_out).keys()
    assert report["stayed"] + len(report["came"]) == report["b"]["findings"]
    assert not report["only_b"] and report["matched"] == report["b"]["ops"]

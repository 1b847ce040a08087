"""Gradients that probes recorded: where NaN began on the way back, what FP16 would lose of
them, and what `mpopt.confirm` makes of it."""

import json
import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    instrument, library, plain_execution, recorder_of, run_mpopt, save)
import mpopt  # noqa: E402
from mpopt import _torch_ops  # noqa: E402


class Net(torch.nn.Module):
    """`kind` says what goes wrong on the way back."""

    def __init__(self, kind: str):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = torch.nn.Linear(8, 8), torch.nn.Linear(8, 2)
        self.kind = kind

    def forward(self, x):
        h = torch.tanh(self.first(x))
        if self.kind == "root":
            d = h - h
            h = h + torch.sqrt(d * d)  # the root of 0: its slope is infinite
        if self.kind == "value":
            h = torch.log(h - h - 1.0)
            h = h * h  # each gradient is multiplied by a NaN
        if self.kind == "dead":
            h = h + torch.relu(self.last(h) - 1e3).sum()
            return torch.tanh(h)
        return self.last(h)


@pytest.fixture
def train(tmp_path):
    """The confirmation, its record, and the ledger of some steps of a kind of network."""

    def run(kind, scale=1.0, steps=3, gradients=True, precision="fp16"):
        probed, ledger = instrument(save(Net(kind), tmp_path), tmp_path, "--probe=all",
                                    f"--precision={precision}", "--input-shape=x=4x8")
        module = torch.jit.load(str(probed))
        _torch_ops.record_gradients(gradients)
        try:
            for _ in range(steps):
                (module(torch.randn(4, 8)).sum() * scale).backward()
        finally:
            _torch_ops.record_gradients(False)
        seen = recorder_of(probed)
        seen.flush()
        return mpopt.confirm(seen.path, f"{probed}.probes.json"), seen.path, probed

    return run


def text_of(record, probed, *options):
    done = run_mpopt("--confirm", record, "--ledger", f"{probed}.probes.json", *options)
    return done.returncode, " ".join(done.stdout.split())


def test_nan_of_gradients_is_found_where_it_began(train):
    verdict, record, probed = train("root")
    assert verdict.first_bad is None  # the values are fine
    first = verdict.gradients.first_bad
    assert first["chain"] == [first["chain"][0]] and first["op"]["type"] == "aten::mul"
    reader = next(entry for entry in first["before"])
    assert reader["op"]["type"] == "aten::sqrt" and first["step"] == 0
    assert first["observed"]["posinf"] + first["observed"]["neginf"] > 0
    found = [finding for finding in verdict.findings
             if finding.gradient and finding.rule == "MP501" and finding.severity == "error"]
    root, = [finding for finding in found if finding.root is None]
    assert root.tensor == first["tensor"] and root.status == "confirmed"
    assert {finding.root for finding in found if finding is not root} == {root.fingerprint}
    # The gradient of what the first layer gives is NaN, as those of its weights are.
    layer, = [entry for entry in verdict.gradients.tensors
              if entry.op and entry.op.type == "aten::tanh"]
    assert layer.observed.nan == layer.observed.count == 3 * 32
    status, text = text_of(record, probed)
    assert status == 1
    assert "first bad gradient: of " in text and "aten::mul), step 0" in text
    assert "in the backward pass of the op that reads this tensor" in text
    assert "confirmed error[MP501]: non-finite-value --> gradient of " in text
    assert text_of(record, probed, "--fail-on", "never")[0] == 0
    assert "first bad gradient" in text_of(record, probed, "--ignore", "MP501")[1]


def test_gradients_of_bad_values_follow_from_those(train):
    verdict, _, _ = train("value", precision="as-is")
    assert verdict.first_bad["op"]["type"] == "aten::log"
    first = verdict.gradients.first_bad
    assert "comes from values: " in first["why"]
    prints = {finding.fingerprint: finding for finding in verdict.findings}
    found = [finding for finding in verdict.findings
             if finding.gradient and finding.rule == "MP501"]
    assert found and all(finding.root for finding in found)
    assert not any(prints[finding.root].gradient for finding in found)


def test_small_gradients_ask_for_a_loss_scale(train):
    verdict, record, probed = train("plain", scale=2.0**-30)
    found = [finding for finding in verdict.by_rule("MP503") if finding.gradient]
    assert found and all(finding.status == "confirmed" and "gradients are 0 in f16" in
                         finding.message for finding in found)
    scale = verdict.gradients.loss_scale["f16"]
    assert scale["flush_at_1"] > 0 and scale["flush"] == 0 and scale["log2"] > 15
    status, text = text_of(record, probed)
    assert status == 1 and f"best loss scale: f16 2^{scale['log2']}" in text
    assert verdict.gradients.first_bad is None and verdict.gradients.beginnings == ()


def test_ordinary_gradients_have_no_finding(train):
    verdict, record, probed = train("plain")
    assert not [finding for finding in verdict.findings if finding.gradient]
    ledger = json.loads(open(f"{probed}.probes.json").read())
    assert len(verdict.gradients.tensors) > len(ledger["probes"]) / 2
    observed = {entry.tensor: entry.observed for entry in verdict.gradients.tensors}
    assert all(entry.count > 0 and entry.nan == 0 for entry in observed.values())
    status, text = text_of(record, probed)
    assert status == 0 and f"gradients of {len(observed)}" in text
    assert "best loss scale" not in text


def test_a_layer_without_a_gradient(train):
    verdict, _, _ = train("dead")
    found = [finding for finding in verdict.by_rule("MP504") if finding.gradient]
    assert found and all("gradients were 0" in finding.message for finding in found)


def test_none_were_recorded(train):
    verdict, record, probed = train("root", gradients=False)
    assert verdict.gradients is None and verdict.raw["gradients"] is None
    assert "gradient" not in text_of(record, probed)[1]


def test_no_op_is_kept_in_fp32_for_a_gradient(train, tmp_path):
    _, record, probed = train("root")
    keep = tmp_path / "keep.json"
    text_of(record, probed, "--select", "MP5", "--keep-fp32", keep)
    assert os.path.exists(keep) and json.loads(keep.read_text())["ops"] == []

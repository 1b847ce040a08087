"""Binary cross-entropy inside of a CUDA autocast region: PyTorch refuses it whatever the dtype, in every form of a model."""

from __future__ import annotations

import json

import pytest
from tool import run_mpopt

torch = pytest.importorskip("torch")
F = torch.nn.functional
POLICIES = {"pytorch-cuda-2.14": True, "pytorch-cpu-2.14": False}


class Probabilities(torch.nn.Module):
    """The loss of probabilities in FP32."""

    def forward(self, p, t):
        return F.binary_cross_entropy(p, t)


class Layer(torch.nn.Module):
    """Behind a layer, whose results are in 16 bits."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 4)

    def forward(self, x, t):
        return F.binary_cross_entropy(torch.sigmoid(self.linear(x)), t)


MODULES = {"fp32": (Probabilities, (torch.rand(2, 4), torch.rand(2, 4))),
           "half": (Layer, (torch.randn(2, 8), torch.rand(2, 4)))}


def write(form, module, operands, folder):
    file = folder / f"model.{form}"
    if form == "pt":
        torch.jit.trace(module, operands).save(file)
    elif form == "pt2":
        torch.export.save(torch.export.export(module, operands), file)
    else:
        pytest.importorskip("onnxscript")
        torch.onnx.export(module, operands, file, dynamo=True)
    return file


def rules(file, policy, *options):
    run = run_mpopt("--check", file, "--policy", policy, "--precision", "autocast-fp16", "--format", "json",
                    "--fail-on", "never", *options)
    assert run.returncode == 0, run.stderr
    return [finding["severity"] for finding in json.loads(run.stdout)["findings"] if finding["rule"] == "MP102"]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("form", ["pt", "pt2", "onnx"])
def test_model(form, name, tmp_path):
    make, operands = MODULES[name]
    file = write(form, make(), operands, tmp_path)
    for policy, refused in POLICIES.items():
        assert rules(file, policy) == ["error"] * refused


def test_loss_of_a_training_step(tmp_path):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 4)

        def forward(self, x):
            return torch.sigmoid(self.linear(x))

    file = write("pt2", Model(), (torch.randn(2, 8),), tmp_path)
    for policy, refused in POLICIES.items():
        assert rules(file, policy, "--train", "--loss", "bce") == ["error"] * refused
        assert rules(file, policy, "--train", "--loss", "bce-with-logits") == []
    # A loss that is the model's own is said once.
    file = write("pt", Layer(), MODULES["half"][1], tmp_path)
    assert rules(file, "pytorch-cuda-2.14", "--train", "--loss", "sum") == ["error"]

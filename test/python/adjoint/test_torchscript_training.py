"""Networks from TorchScript whose `forward` gives a loss: mp-differentiate finds a gradient of
each parameter that autograd has one of, and of nothing else."""

import re
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402
from tool import BUILD, run_mpopt  # noqa: E402

NETWORKS = {network.name: network for network in torch_networks.networks()}
NAMES = ["mlp_training", "cnn_training", "resnet", "lstm", "cells", "library_transformer",
         "decoder", "vae", "recommender", "mixed", "autocast"]


class WithLoss(torch.nn.Module):
    """The mean square of all that a network gives. It keeps a table that is no parameter,
    and has a parameter that is not trained."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.register_buffer("table", torch.tensor(2.0))
        self.fixed = torch.nn.Parameter(torch.tensor(3.0), requires_grad=False)

    def forward(self, *inputs):
        outputs = torchscript_import.flatten(self.net(*inputs))
        return sum(output.float().square().mean() for output in outputs
                   if output.is_floating_point()) * self.table * self.fixed


def differentiate(path):
    """The names of all gradients of the last result, and what the pass remarks."""
    text = run_mpopt("--emit-mlir", path).stdout
    results = re.search(r"func\.func @main\(.*", text).group(0).split("->")[1]
    loss = re.findall(r'mp\.name = "([^"]*)"', results)[-1]
    done = subprocess.run([BUILD / "bin" / "mpopt-opt", f"--mp-differentiate=of={loss}"],
                          input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r'mp\.name = "grad\(([^"]*)\)"', done.stdout)), done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_its_gradient(tmp_path, name):
    network = NETWORKS[name]
    module = WithLoss(network.module())
    torch.jit.trace(module, network.inputs, check_trace=False).save(str(tmp_path / "net.pt"))
    module(*network.inputs).backward()
    expected = {key for key, parameter in module.named_parameters() if parameter.grad is not None}
    got, remarks = differentiate(tmp_path / "net.pt")
    assert got == expected and expected
    assert "lacks" not in remarks

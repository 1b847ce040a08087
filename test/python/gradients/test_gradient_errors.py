"""The expected error of parameters' gradients against steps under torch.autocast.

Autocast on the processor in BF16, whose range is that of FP32: every difference from the
FP32 step is one of roundings."""

import json
import math

import pytest
import torch
from estimated_networks import NETWORKS, export
from tool import run_mpopt

BATCHES = 3
# Of all parameters: the part whose estimate is within the factor.
WITHIN = {2: 0.7, 4: 0.9}
OFF = {}


def gradients(case, module, x, target, dtype):
    module.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype is not None):
        loss = case.loss(module(x).float(), target)
    loss.backward()
    return {name: parameter.grad.double() for name, parameter in module.named_parameters()}


def measure(case, module):
    """Each parameter's error by root mean square, relative to that of its gradient."""
    squares = {name: [0.0, 0.0] for name, _ in module.named_parameters()}
    for _ in range(BATCHES):
        x, target = case.draw()
        exact = gradients(case, module, x, target, None)
        rounded = gradients(case, module, x, target, torch.bfloat16)
        for name, grad in exact.items():
            squares[name][0] += (rounded[name] - grad).square().mean().item()
            squares[name][1] += grad.square().mean().item()
    return {name: math.sqrt(error / square) for name, (error, square) in squares.items() if square > 0}


def assumptions(name, tensor):
    lo, hi = float(tensor.min()), float(tensor.max())
    yield f"--input={name}={lo:.9e}:{hi:.9e}"
    if tensor.is_floating_point():
        yield f"--input={name}~{float(tensor.mean()):.9e},{float(tensor.std()):.9e}"


def expect(case, module, folder):
    model, x, _ = export(case, module, folder)
    done = run_mpopt("--check", model, "--train", "--loss", case.term,
                     "--precision", "autocast-bf16", "--policy", "pytorch-cpu-2.14", "--scaler", "none",
                     "--fail-on", "never", "--format", "json", *assumptions("x", x))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["training"]["gradients"]
    return {row["parameter"]: row["expected_error"] for row in rows}


@pytest.mark.parametrize("name", NETWORKS)
def test_errors_of_gradients(name, tmp_path):
    """Within a factor 16, one by one, where rounding leaves anything of a gradient."""
    torch.manual_seed(7)
    case = NETWORKS[name]
    module = case.build()
    if any(isinstance(part, torch.nn.RNNBase) for part in module.modules()):
        pytest.skip("oneDNN runs recurrences in bfloat16 on some processors alone")
    true, expected = measure(case, module), expect(case, module, tmp_path)
    OFF[name] = {key: abs(math.log2(expected[key] / error)) for key, error in true.items() if 0 < error < 0.5}
    assert OFF[name]
    assert max(OFF[name].values()) <= 4, {key: (expected[key], true[key]) for key, off in OFF[name].items() if off > 4}


def test_most_are_close():
    """Over the networks above."""
    if len(OFF) < len(NETWORKS) / 2:
        pytest.skip("needs most networks")
    every = [off for network in OFF.values() for off in network.values()]
    for factor, share in WITHIN.items():
        close = sum(off <= math.log2(factor) for off in every)
        print(factor, close / len(every), len(every))
        assert close >= share * len(every), (factor, close, len(every))

"""Differentiates graphs with mpopt and compares the gradients with autograd's."""

import subprocess

import formulas
import numpy as np
import torch
from mpopt.evaluation import evaluate, ir
from tool import BIN

TOLERANCE = 2e-6
# The tensors are small, and other tests run beside.
torch.set_num_threads(1)


# PyTorch computes the ops of the forward pass; those that are gradients have
# formulas, which know nothing of autograd.
def run_gradient(name, operands, attributes):
    return [torch.as_tensor(array) for array in formulas.run(name, operands, attributes, evaluate.FORWARD)]


evaluate.run_other = run_gradient


def differentiate(text, options="wrt=inputs seed=argument"):
    """The module with its backward graphs, in generic form."""
    done = subprocess.run([BIN / "mpopt-opt", "-", f"--mp-differentiate={options}", "-mlir-print-op-generic"],
                          input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def names_of(function):
    return [entry.get("mp.name", "") for entry in function.attributes["res_attrs"]]


def complaint(graph, function):
    """How the gradients of a graph differ from autograd's, or None."""
    if "mp.lacks_gradient" in function.attributes:
        return f"lacks {function.attributes['mp.lacks_gradient']}"
    y = graph.values[graph.result]
    seed = torch.from_numpy(np.random.default_rng(1).normal(0, 1, tuple(y.shape))).reshape(y.shape)
    wanted = [name for name in graph.inputs if graph.values[name].requires_grad]
    expected = torch.autograd.grad(y, [graph.values[name] for name in wanted], seed, allow_unused=True,
                                   retain_graph=True)
    with torch.no_grad():
        made = evaluate.run_function(
            function, [*(graph.values[name].detach() for name in graph.inputs), seed])
    if not torch.allclose(made[0], y.detach(), rtol=1e-9, atol=1e-9, equal_nan=True):
        return "the forward pass changed"
    gradients = dict(zip(names_of(function), made))
    for name, want in zip(wanted, expected):
        have = gradients.get(f"grad({name[1:]})")
        if want is None:
            want = torch.zeros_like(graph.values[name])
        if have is None:
            if want.abs().max() > 0:
                return f"{name}: no gradient"
            continue
        if have.shape != want.shape or have.dtype != want.dtype:
            return f"{name}: a gradient of {have.dtype} {tuple(have.shape)}"
        scale = max(1.0, float(want.abs().max()) if want.numel() else 0)
        error = (have - want).abs().max() if want.numel() else torch.zeros(())
        if not error <= TOLERANCE * scale:
            return f"{name}: off by {float(error):.3g} of {scale:.3g}\n{have}\n{want}"
    return None


def compare(graphs, options="wrt=inputs seed=argument"):
    """Complaints by graph."""
    return complaints_of(graphs, ir.functions(differentiate("\n".join(graph.text() for graph in graphs), options)))


def complaints_of(graphs, functions):
    complaints = {}
    for graph in graphs:
        try:
            problem = complaint(graph, functions[graph.name])
        except Exception as error:  # noqa: BLE001  a case of its own
            problem = f"{type(error).__name__}: {error}"
        if problem:
            complaints[graph.name] = problem
    return complaints


def compare_text(text, *arguments):
    """The largest difference from autograd's gradients of all named float arguments, for
    IR that no Graph writes. `arguments` are those of the function."""
    given = [torch.as_tensor(np.asarray(argument)) for argument in arguments]
    given = [value.clone().requires_grad_() if value.is_floating_point() else value for value in given]
    function, = ir.functions(differentiate(text)).values()
    names = names_of(function)
    seed = seed_of(function)
    # The ops of the backward graph know nothing of autograd: only the result is used.
    y = evaluate.run_function(function, [*given, seed])[0]
    wanted = [value for value in given if value.requires_grad]
    expected = torch.autograd.grad(y, wanted, seed, allow_unused=True)
    with torch.no_grad():
        made = evaluate.run_function(function, [*(value.detach() for value in given), seed])
    assert len(names) == len(wanted) + 1, names
    return max(float((have - (torch.zeros_like(have) if want is None else want)).abs().max())
               for have, want in zip(made[1:], expected))


def seed_of(function):
    shape = function.regions[0].types[-1].shape
    return torch.from_numpy(np.random.default_rng(2).normal(0, 1, shape)).reshape(shape)

"""lib/Evaluation computes what PyTorch does, forward and backward, op by op."""

import json
import re
import subprocess

import gradient_cases as cases
import gradient_harness as harness
import numpy as np
import pytest
import torch
from gradient_graph import Graph, written
from mpopt.evaluation import evaluate, ir
from tool import BIN

# FP32 against FP64; sums of squares of differences keep half of the digits.
TOLERANCE = 2e-3


def dense(tensor):
    kind = {torch.float64: "f64", torch.int64: "i64", torch.bool: "i1", torch.int32: "i32", torch.uint8: "ui8",
            torch.int8: "i8"}[tensor.dtype]
    type = f"tensor<{''.join(f'{dim}x' for dim in tensor.shape)}{kind}>"

    def text(array):
        if array.ndim:
            return "[" + ", ".join(map(text, array)) + "]"
        if kind == "i1":
            return "true" if array else "false"
        return written(float(array)).split(" ")[0] if kind == "f64" else str(int(array))
    return f"dense<{text(tensor.numpy()) if tensor.numel() else ''}> : {type}"


def with_values(text, arguments):
    """The functions of a text with `mp.value` on their arguments."""
    def annotate(match):
        values = iter(arguments[match[1]])

        def argument(found):
            more = found[3][1:-1] + ", " if found[3] else ""
            return f"{found[1]}: {found[2]} {{{more}mp.value = {dense(next(values))}}}"
        return f"func.func @{match[1]}(" + re.sub(r"(%\w+): (tensor<[^>]*>)( \{[^}]*\})?", lambda found: argument(
            [found[0], found[1], found[2], found[3] and found[3].strip()]), match[2]) + ") ->"
    return re.sub(r"func\.func @(\w+)\((.*?)\) ->", annotate, text)


def run_pass(text, *options):
    done = subprocess.run([BIN / "mpopt-opt", "-", *options], input=text, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def evaluated():
    """By case: the graph, the function with its gradients, the arguments, and the line of mp-evaluate."""
    graphs = {}
    for number, (name, build) in enumerate(cases.CASES.items()):
        graph = Graph(name, number)
        graphs[name] = graph.returns(build(graph))
    text = "\n".join(graph.text() for graph in graphs.values())
    options = "--mp-differentiate=wrt=inputs seed=argument"
    functions = ir.functions(harness.differentiate(text))
    arguments = {}
    for name, graph in graphs.items():
        y = graph.values[graph.result]
        seed = torch.from_numpy(np.random.default_rng(1).normal(0, 1, tuple(y.shape))).reshape(y.shape)
        arguments[name] = [*(graph.values[value].detach() for value in graph.inputs), seed]
    lines = run_pass(with_values(run_pass(text, options), arguments), "--mp-evaluate", "-o", "/dev/null")
    found = {row["function"]: row for row in map(json.loads, filter(None, lines.splitlines()))}
    return {name: (functions[name], arguments[name], found[name]) for name in graphs}


def number(value):
    return float(value)


# Forms that are not evaluated, by the first op that is not: what is behind it is not known.
UNKNOWN = """
    adaptive_max_pool affine_grid attention bilinear binary_cross_entropy cdist center_crop_pad col2im compress
    cosine_embedding_loss cosine_similarity ctc_loss cum_prod deform_conv depth_to_space det dft dist einsum
    fake_quantize gather_nd gaussian_nll_loss global_lp_pool global_norm grid_sample group_norm gru gru_cell
    hinge_embedding_loss im2col linear loss_scale lp_normalize lp_pool lrn lstm lstm_cell margin_ranking_loss
    masked_fill max_roi_pool max_unpool mean_n mean_variance_norm median mse_loss multi_margin_loss
    multilabel_margin_loss norm pdist poisson_nll_loss prelu reduce_prod_grad renorm reverse_sequence rnn rnn_cell
    roi_align rotary_embedding scatter_elements scatter_nd sort space_to_depth stft swiglu
    tensor_scatter triplet_margin_loss""".split()
# The mask of a dropout is drawn.
RANDOM = {"dropout"}


def is_known(row):
    return all(result is not None for result in row["results"])


@pytest.mark.parametrize("name", sorted(cases.CASES.keys() - RANDOM))
def test_op(evaluated, name):
    function, arguments, row = evaluated[name]
    if not is_known(row):
        assert row["unknown"][0].removeprefix("mp.") in UNKNOWN
        return
    with torch.no_grad():
        expected = evaluate.run_function(function, arguments)
    for want, have in zip(expected, row["results"], strict=True):
        assert have["shape"] == list(want.shape)
        got = np.array([float(value) for value in have["numbers"]]).reshape(have["shape"])
        scale = max(1.0, float(want.double().abs().max()) if want.numel() else 0)
        np.testing.assert_allclose(got, want.double().numpy(), rtol=0, atol=TOLERANCE * scale, equal_nan=True)


def test_most_forms_are_evaluated(evaluated):
    known = [name for name, (_, _, row) in evaluated.items() if is_known(row)]
    assert len(known) > 0.65 * len(evaluated)
    first = {row["unknown"][0].removeprefix("mp.") for _, _, row in evaluated.values() if not is_known(row)}
    assert first == set(UNKNOWN)

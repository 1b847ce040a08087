"""Each kind of loss on one network: gradients are, within a factor of 3, of the size that PyTorch's are, and no
parameter of a network that learns is called dead, where nothing is known of a gradient either."""

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from tool import run_mpopt  # noqa: E402

F = torch.nn.functional
ROWS, INPUTS, OUTPUTS = 64, 16, 8


def make(path, graph_loss=False, triplet=False):
    """Two layers with a tanh between; of a triplet, the same for three inputs."""
    random = numpy.random.default_rng(0)
    weights = {"w1": random.normal(0, INPUTS**-0.5, (INPUTS, INPUTS)),
               "b1": random.normal(0, 0.1, INPUTS),
               "w2": random.normal(0, INPUTS**-0.5, (INPUTS, OUTPUTS)),
               "b2": random.normal(0, 0.1, OUTPUTS)}
    nodes, inputs, outputs = [], [], []
    for tag in ("a", "p", "n") if triplet else ("",):
        nodes += [helper.make_node("Gemm", [f"x{tag}", "w1", "b1"], [f"h{tag}"]),
                  helper.make_node("Tanh", [f"h{tag}"], [f"g{tag}"]),
                  helper.make_node("Gemm", [f"g{tag}", "w2", "b2"], [f"y{tag}"])]
        inputs.append(helper.make_tensor_value_info(f"x{tag}", TensorProto.FLOAT, [ROWS, INPUTS]))
        outputs.append(helper.make_tensor_value_info(f"y{tag}", TensorProto.FLOAT, [ROWS, OUTPUTS]))
    if graph_loss:
        nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", ["y", "t"], ["loss"], reduction="mean"))
        inputs.append(helper.make_tensor_value_info("t", TensorProto.INT64, [ROWS]))
        outputs = [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "g", inputs, outputs,
                              [numpy_helper.from_array(value.astype(numpy.float32), name)
                               for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return {name: torch.tensor(value, dtype=torch.float32).requires_grad_()
            for name, value in weights.items()}


def predict(weights, x):
    return torch.tanh(x @ weights["w1"] + weights["b1"]) @ weights["w2"] + weights["b2"]


def expected(weights, loss):
    """The root mean square of each gradient, over some batches."""
    squares = dict.fromkeys(weights, 0.0)
    torch.manual_seed(0)
    for _ in range(16):
        value = loss(lambda: predict(weights, torch.randn(ROWS, INPUTS)))
        for name, grad in zip(weights, torch.autograd.grad(value, list(weights.values()))):
            squares[name] += grad.square().mean().item() / 16
    return {name: square**0.5 for name, square in squares.items()}


def estimated(path, folder, *options):
    done = run_mpopt("--check", path, "--train", "--precision", "autocast-fp16", "--fail-on", "never",
                     "--format", "json", "--dump-gradients", folder / "g.json", *options)
    assert done.returncode == 0, done.stderr
    dead = [finding for finding in json.loads(done.stdout)["findings"] if finding["rule"] == "MP406"]
    assert not dead, dead
    parameters = json.loads((folder / "g.json").read_text())["parameters"]
    return {name: entry["rms"] for name, entry in parameters.items() if "rms" in entry}


def classes():
    return torch.randint(0, OUTPUTS, (ROWS,))


def normal():
    return torch.randn(ROWS, OUTPUTS)


def bits():
    return torch.randint(0, 2, (ROWS, OUTPUTS)).float()


KINDS = {
    "cross-entropy": lambda y: F.cross_entropy(y(), classes()),
    "cross-entropy:y:reduction=sum": lambda y: F.cross_entropy(y(), classes(), reduction="sum"),
    "bce-with-logits": lambda y: F.binary_cross_entropy_with_logits(y(), bits()),
    "mse": lambda y: F.mse_loss(y(), normal()),
    "l1": lambda y: F.l1_loss(y(), normal()),
    "smooth-l1": lambda y: F.smooth_l1_loss(y(), normal()),
    "smooth-l1:y:beta=0.1": lambda y: F.smooth_l1_loss(y(), normal(), beta=0.1),
    "smooth-l1:y:delta=0.1": lambda y: F.huber_loss(y(), normal(), delta=0.1),
    "policy-gradient": lambda y: (F.cross_entropy(y(), classes(), reduction="none") * torch.randn(ROWS)).mean(),
    "sum": lambda y: y().sum(),
    "mean": lambda y: y().mean(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_estimates(tmp_path, kind):
    weights = make(tmp_path / "m.onnx")
    have = estimated(tmp_path / "m.onnx", tmp_path, "--loss", kind,
                     *(["--input=target~0,1"] if KINDS[kind].__code__.co_names.__contains__("normal") else []))
    want = expected(weights, KINDS[kind])
    assert have.keys() == want.keys()
    for name, rms in want.items():
        assert rms / 3 < have[name] < rms * 3, (name, have[name], rms)


def test_a_loss_that_the_model_holds(tmp_path):
    weights = make(tmp_path / "m.onnx", graph_loss=True)
    want = expected(weights, KINDS["cross-entropy"])
    have = estimated(tmp_path / "m.onnx", tmp_path, "--input", "t=0:7")
    assert have.keys() == want.keys()
    for name, rms in want.items():
        assert rms / 3 < have[name] < rms * 3, (name, have[name], rms)


@pytest.mark.parametrize("kind", ["nll", "kl", "focal", "hinge"])
def test_other_kinds(tmp_path, kind):
    """Whatever is said of their gradients, nothing is dead."""
    make(tmp_path / "m.onnx")
    estimated(tmp_path / "m.onnx", tmp_path, "--loss", kind)


def test_what_is_not_known_is_not_zero(tmp_path):
    """Nothing is known of the gradient of a triplet's loss, nor of what is behind it."""
    make(tmp_path / "m.onnx", triplet=True)
    assert all(rms > 0 for rms in
               estimated(tmp_path / "m.onnx", tmp_path, "--loss", "triplet:ya,yp,yn").values())

"""`--memory`: bytes of saved tensors against what autograd saves."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.utils.checkpoint  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import bad_input  # noqa: E402
from memory_networks import CASES, Decoder, loss_of  # noqa: E402
from saved_tensors import held_by, saved_bytes  # noqa: E402
from tool import run_mpopt  # noqa: E402

# 5 % is promised; what is left are a number here and statistics there.
TOLERANCE = 0.01


@contextlib.contextmanager
def quiet():
    logging.disable(logging.CRITICAL)
    with (warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()),
          contextlib.redirect_stderr(io.StringIO())):
        warnings.simplefilter("ignore")
        yield
    logging.disable(logging.NOTSET)


def export(module, x, path, dynamic=False):
    """As a user does who trains: nothing is folded away."""
    with quiet():
        torch.onnx.export(module, (x,), str(path), input_names=["x"], output_names=["y"], dynamo=False,
                          opset_version=17, training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False,
                          dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}} if dynamic else None)


def trace(module, x, path):
    with quiet():
        torch.jit.trace(module, x, check_trace=False).save(str(path))


def check(model, *options):
    done = run_mpopt("--check", model, "--train", "--memory", "--format", "json", "--fail-on", "never",
                     "--ignore", "MP", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def memory(model, *options):
    return check(model, *options)["training"]["memory"]


def declare_parameters(module, path):
    """Exporters do not tell buffers from parameters."""
    path.write_text(json.dumps({"schema": "mpopt-train-config/1",
                                "parameters": [name for name, _ in module.named_parameters()]}))
    return path


@pytest.mark.parametrize("name", CASES)
def test_networks(name, tmp_path):
    case = CASES[name]
    torch.manual_seed(0)
    module = case.make().train()
    if case.traced:
        model = tmp_path / "model.pt"
        trace(module, case.input, model)
        shape = "x".join(map(str, case.input.shape))
        options = ["--input-shape", f"ids={shape}:i64"]
    else:
        model = tmp_path / "model.onnx"
        export(module, case.input, model)
        options = ["--train-config", declare_parameters(module, tmp_path / "train.json")]
    options += ["--loss", case.loss, "--optimizer", "adamw"]
    weights = 4 * sum(parameter.numel() for parameter in module.parameters())
    for autocast in [False, True][:1 + case.autocast]:
        # oneDNN's kernel of an LSTM keeps a workspace of its own.
        with (warnings.catch_warnings(action="ignore"), torch.backends.mkldnn.flags(enabled=case.autocast),
              torch.autocast("cpu", torch.bfloat16, enabled=autocast)):
            saved = saved_bytes(lambda: loss_of(case, module(case.input)), held_by(module))
        precision = (["--precision", "autocast-bf16", "--policy", "pytorch-cpu-2.14"] if autocast else
                     ["--precision", "as-is"])
        found = memory(model, *options, *precision)
        assert found["activations"]["unknown"] == 0
        assert found["activations"]["saved"] == pytest.approx(saved, rel=TOLERANCE), (name, autocast)
        # Weights and gradients are FP32 under autocast, too; casts count as saved.
        assert found["sharding"]["ddp"]["parameters"] == weights
        assert found["sharding"]["ddp"]["gradients"] == weights
        assert found["sharding"]["ddp"]["optimizer_state"] == 2 * weights
        assert (found["activations"]["weight_casts"] > 0) == autocast


class Product(nn.Module):
    """One function of a tensor that needs a gradient."""

    def __init__(self, function):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(6, 8, 16) + 0.1)
        self.function = function
        if isinstance(function, nn.Module):
            self.inner = function

    def forward(self, x):
        return self.function(x * self.scale)


FUNCTIONS = {
    "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "mish": F.mish, "elu": F.elu, "softplus": F.softplus,
    "softsign": F.softsign, "tanhshrink": F.tanhshrink, "glu": F.glu, "prelu": nn.PReLU(6),
    "hardsigmoid": F.hardsigmoid, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "exp": torch.exp,
    "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "sin": torch.sin, "neg": torch.neg,
    "square": lambda x: x ** 2, "power": lambda x: x ** x, "clamp": lambda x: x.clamp(0, 1),
    "by itself": lambda x: x * x, "over": lambda x: x / (x + 1), "over a number": lambda x: x / 3,
    "maximum": lambda x: torch.maximum(x, x * 2), "where": lambda x: torch.where(x > 0.5, x, x * 2),
    "masked": lambda x: x.masked_fill(x > 0.5, 0.0), "sum": lambda x: x.sum(-1), "var": lambda x: x.var(-1),
    "std": lambda x: x.std(-1), "amax": lambda x: x.amax(-1), "prod": lambda x: x.prod(-1),
    "logsumexp": lambda x: x.logsumexp(-1), "norm": lambda x: x.norm(dim=-1),
    "normalize": lambda x: F.normalize(x, dim=-1), "cumsum": lambda x: x.cumsum(-1),
    "topk": lambda x: x.topk(3)[0], "softmax": lambda x: x.softmax(1), "log softmax": lambda x: x.log_softmax(-1),
    "layer norm": nn.LayerNorm(16), "layer norm of two": nn.LayerNorm((8, 16)), "group norm": nn.GroupNorm(3, 6),
    "batch norm": nn.BatchNorm2d(6),
    "linear": nn.Linear(16, 5), "heads": lambda x: x.transpose(1, 2) @ x.transpose(1, 2).transpose(-1, -2),
    "broadcast": lambda x: x @ x[:1].transpose(-1, -2), "conv": nn.Conv2d(6, 4, 3),
    "convs": nn.Sequential(nn.Conv2d(6, 4, 3), nn.Conv2d(4, 4, 3)), "transposed": nn.ConvTranspose2d(6, 3, 2, 2),
    "max pool": nn.MaxPool2d(3, 2, 1), "average": nn.AvgPool2d(2), "to one": nn.AdaptiveAvgPool2d(1),
    "to four": nn.AdaptiveAvgPool2d(4), "largest": nn.AdaptiveMaxPool2d(1),
    "nearest": lambda x: F.interpolate(x, scale_factor=2.0),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"),
    "pad": lambda x: F.pad(x, (1, 1)), "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    # Views keep the whole tensor; copies are tensors of their own.
    "part": lambda x: (x + 1)[:, 1:3].sin(), "one": lambda x: (x + 1)[:, 1].sin(),
    "halves": lambda x: torch.cat([half.sin() for half in x.exp().chunk(2, 1)], 1),
    "joined": lambda x: torch.cat([x, x], 1).sin(), "repeated": lambda x: x.repeat(1, 2, 1, 1).sin(),
    "expanded": lambda x: x * (x.mean(1, keepdim=True) + 1).expand_as(x),
    "reshaped": lambda x: (x + 1).transpose(1, 2).reshape(2, 8, -1).sin(),
    "attention": lambda x: F.scaled_dot_product_attention(x, x * 3, x * 2, is_causal=True),
}


def test_functions(tmp_path):
    """All in one run of mpopt, each by its name."""
    expected, models = {}, []
    x = torch.rand(2, 6, 8, 16) + 0.2
    for number, (name, function) in enumerate(FUNCTIONS.items()):
        torch.manual_seed(0)
        module = Product(function).train()
        expected[name] = saved_bytes(lambda module=module: module(x).sum(), held_by(module))
        models.append(tmp_path / f"{number}.onnx")
        export(module, x, models[-1])
    done = run_mpopt("--check", *models, "--train", "--memory", "--loss", "sum", "--precision", "as-is", "--format", "json", "--fail-on", "never", "--ignore", "MP")
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)["reports"]
    found = {name: report["training"]["memory"]["activations"]["saved"]
             for name, report in zip(expected, reports, strict=True)}
    assert found == expected


def test_checkpointing(tmp_path):
    """Compared with what torch.utils.checkpoint keeps and what one layer saves."""
    torch.manual_seed(0)
    module = Decoder().train()
    case = CASES["decoder"]
    export(module, case.input, tmp_path / "model.onnx")
    config = declare_parameters(module, tmp_path / "train.json")
    found = memory(tmp_path / "model.onnx", "--train-config", config, "--loss", case.loss,
                   "--precision", "as-is")["activations"]

    def checkpointed():
        x = module.embed(case.input)
        for layer in module.layers:
            x = torch.utils.checkpoint.checkpoint(layer, x, module.cos, module.sin, use_reentrant=True)
        return loss_of(case, module.head(module.norm(x)))

    kept = saved_bytes(checkpointed, held_by(module))
    x = module.embed(case.input)
    layer = saved_bytes(lambda: module.layers[0](x, module.cos, module.sin), [*held_by(module), x])
    assert found["checkpointed"]["blocks"] == 3
    assert found["checkpointed"]["kept"] == pytest.approx(kept, rel=TOLERANCE)
    assert found["checkpointed"]["peak"] == pytest.approx(kept + layer, rel=TOLERANCE)
    assert found["checkpointed"]["peak"] < found["saved"]


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        for _ in range(x.size(0) * 0 + 5):
            x = torch.tanh(self.inner(x)) * torch.sigmoid(x)
        return self.head(x)


def test_loops(tmp_path):
    """Each iteration saves its own."""
    module, x = Looped().train(), torch.randn(8, 16)
    torch.jit.script(module).save(str(tmp_path / "model.pt"))
    found = memory(tmp_path / "model.pt", "--input-shape", "x=8x16", "--loss", "sum", "--precision", "as-is")
    assert found["activations"]["saved"] == saved_bytes(lambda: module(x).sum(), held_by(module))


def test_batch(tmp_path):
    """Sizes are those of the declared samples, whether the file leaves them open or not."""
    module = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).train()
    for dynamic in (True, False):
        export(module, torch.randn(2, 32), tmp_path / "model.onnx", dynamic)
        found = memory(tmp_path / "model.onnx", "--loss", "mse", "--batch", "6", "--precision", "as-is")
        # The input, the hidden layer, the prediction and its target.
        assert found["activations"]["saved"] == 4 * 6 * (32 + 64 + 8 + 8)
        assert found["samples"] == 6
    # Casts of weights do not grow with the batch; the first is not needed for a gradient.
    small, large = (memory(tmp_path / "model.onnx", "--loss", "mse", "--batch", batch,
                           "--precision", "autocast-bf16")["activations"] for batch in ("2", "4"))
    casts = 2 * 64 * 8
    assert small["weight_casts"] == large["weight_casts"] == casts
    assert large["saved"] - casts == 2 * (small["saved"] - casts)


def test_configuration(tmp_path):
    """The file's sharding is marked; everything is there for 8 ranks."""
    module = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).train()
    export(module, torch.randn(2, 32), tmp_path / "model.onnx")
    (tmp_path / "train.yaml").write_text("""
        schema: mpopt-train-config/1
        optimizer: {name: adam, master: true}
        batch: {micro: 2, world: 8}
        sharding: {kind: zero, stage: 2, checkpointing: true}
        precision: fp16
    """)
    found = memory(tmp_path / "model.onnx", "--loss", "mse", "--train-config", tmp_path / "train.yaml")
    weights = 32 * 64 + 64 + 64 * 8 + 8
    assert found["configured"] == "zero_2" and found["ranks"] == 8
    assert found["activations"]["checkpointed"]["configured"]
    assert found["sharding"]["ddp"] == {"parameters": 2 * weights, "gathered": 0, "master_copies": 4 * weights,
                                        "gradients": 2 * weights, "optimizer_state": 8 * weights,
                                        "sent": 2 * 7 * 2 * weights // 8}
    assert found["sharding"]["zero_2"]["gradients"] == 2 * weights // 8
    done = run_mpopt("--check", tmp_path / "model.onnx", "--train", "--memory", "--loss", "mse", "--train-config",
                     tmp_path / "train.yaml", "--fail-on", "never")
    assert "*ZeRO 2" in done.stdout and "(as configured)" in done.stdout


def test_absent_unless_asked_for(tmp_path):
    export(nn.Linear(4, 2), torch.randn(2, 4), tmp_path / "model.onnx")
    done = run_mpopt("--check", tmp_path / "model.onnx", "--train", "--loss", "mse", "--format", "json",
                     "--fail-on", "never")
    assert "memory" not in json.loads(done.stdout)["training"]


def test_goes_with_train(tmp_path):
    export(nn.Linear(4, 2), torch.randn(2, 4), tmp_path / "model.onnx")
    done = bad_input.run("--check", tmp_path / "model.onnx", "--memory", cwd=tmp_path)
    assert len(bad_input.refused(done, "--memory goes with --train").splitlines()) == 1

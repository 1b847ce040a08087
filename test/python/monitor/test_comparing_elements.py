"""Two runs by their elements: faults that leave sizes and means as they are, in values and
gradients, and healthy models in other formats."""

import base64
import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from trainings import (  # noqa: E402
    Autoencoder, Blobs, Convolutional, Decoder, Recurrent, Text, classify, mlp, predict)
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from mpopt.monitor import Monitor, compare  # noqa: E402
from mpopt.monitor.projections import COUNT, project  # noqa: E402


def record(path, model, compute, dtype=None, steps=3, **options):
    """Forward and backward passes without updates."""
    scaler = trainings.scaler(init_scale=1024.0) if dtype is torch.float16 else None
    with Monitor(model, scaler=scaler, record=path, periods={"value": 1, "gradient": 1, "parameter": 1}, sinks=[],
                 **options) as monitor:
        for step in range(steps):
            model.zero_grad()
            with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
                loss = compute(model, step)
            (scaler.scale(loss) if scaler else loss).backward()
            monitor.step(loss=loss)
    return path


class Attention(nn.Module):
    """Eight heads, whose logits grow with the square of `gain`; a fault is one of those below."""

    def __init__(self, fault=None, gain=1, layers=2, width=64):
        super().__init__()
        torch.manual_seed(0)
        self.inside, self.fault = nn.Linear(trainings.FEATURES, width), fault
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width),
            "softmax": nn.Softmax(-1), "out": nn.Linear(width, width),
            "up": nn.Linear(width, 2 * width), "down": nn.Linear(2 * width, width)})
            for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, trainings.CLASSES)
        with torch.no_grad():
            for block in self.blocks:
                block["qkv"].weight[:2 * width] *= gain

    def forward(self, x):
        x = self.inside(x)
        for place, block in enumerate(self.blocks):
            fault = self.fault if place == 1 else None
            q, k, v = (part.unflatten(-1, (8, -1)).transpose(1, 2)
                       for part in block["qkv"](block["norm"](x)).chunk(3, -1))
            scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
            weights = block["softmax"](scores) if fault == "softmax" else \
                block["softmax"](scores.float()).to(scores.dtype)
            attended = weights @ v
            if fault == "heads":
                attended = attended.flip(1)
            x = x + block["out"](attended.transpose(1, 2).flatten(2))
            hidden = functional.gelu(block["up"](x))
            if fault == "channels":
                order = list(range(hidden.shape[-1]))
                order[5], order[9] = 9, 5
                hidden = hidden[..., order]
            if fault == "sign":
                hidden = -hidden
            x = x + block["down"](hidden)
        return self.head(self.norm(x).mean(1))


class InBf16(nn.Softmax):
    def forward(self, scores):
        return super().forward(scores.bfloat16()).to(scores.dtype)


def sequences(model, step):
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(8, 12, trainings.FEATURES, generator=draw)
    return classify(model(x), torch.randint(0, trainings.CLASSES, (8,), generator=draw))


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("fault, layer", [("channels", "blocks.1.down"), ("heads", "blocks.1.out"),
                                          ("sign", "blocks.1.down")])
def test_planted(tmp_path, dtype, fault, layer):
    result = compare(record(tmp_path / "a.mprec", Attention(), sequences),
                     record(tmp_path / "b.mprec", Attention(fault), sequences, dtype))
    assert result.alert and result.alert.layer == layer, result.first
    assert result.first.elements == result.first.difference and "elements" in result.alert.message


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_softmax_in_bf16(tmp_path, dtype):
    """Of logits up to 100, beside one in FP32. In a run that is in BF16 they are rounded before."""
    changed = Attention("softmax", 8)
    changed.blocks[1]["softmax"] = InBf16(-1)
    result = compare(record(tmp_path / "a.mprec", Attention(None, 8), sequences),
                     record(tmp_path / "b.mprec", changed, sequences, dtype))
    assert result.alert and result.alert.layer == "blocks.1.softmax", result.first
    assert compare(tmp_path / "a.mprec", record(tmp_path / "c.mprec", Attention(None, 8), sequences,
                                                dtype)).alert is None


class Offset(nn.Module):
    """A bias of 3,000 in front of a normalisation."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = nn.Linear(trainings.FEATURES, 64), nn.LayerNorm(64)
        self.second, self.head = nn.Linear(64, 64), nn.Linear(64, trainings.CLASSES)
        with torch.no_grad():
            self.first.bias += 3000

    def forward(self, x):
        return self.head(torch.relu(self.second(self.norm(self.first(x)))))


def points(model, step):
    x, y = Blobs()(0)
    return classify(model(x), y)


def test_normalisation_behind_a_large_bias(tmp_path):
    result = compare(record(tmp_path / "a.mprec", Offset(), points),
                     record(tmp_path / "b.mprec", Offset(), points, torch.bfloat16))
    assert result.alert.layer == "norm" and result.first.elements > 0.5, result.differences
    exact = compare(tmp_path / "a.mprec", record(tmp_path / "c.mprec", Offset(), points))
    assert exact.alert is None and all(entry.difference == 0 for entry in exact.differences)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return -gradient


def turned(place):
    model = Decoder(layers=4)
    if place is not None:
        model.blocks[place].register_forward_hook(lambda module, inputs, output: Backward.apply(output))
    return model


def text(model, step):
    tokens, target = Text()(0)
    return predict(model(tokens), target)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16, torch.float16])
def test_gradients_of_the_other_sign(tmp_path, dtype):
    """Sizes are the same; behind the block, and in it, they are turned around."""
    paths = [record(tmp_path / "a.mprec", turned(None), text),
             record(tmp_path / "b.mprec", turned(1), text, dtype)]
    assert compare(*paths).alert is None
    result = compare(*paths, kind="gradient")
    assert result.alert.layer.startswith("blocks.1.mlp.2"), result.alert
    assert result.first.elements == result.first.difference > 0.5


class Residual(nn.Module):
    """Convolutions and batch norm over few samples, whose gradients are off by tens of percent."""

    def __init__(self, width=16, blocks=6):
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)) for _ in range(blocks))
        self.head = nn.Linear(width, trainings.CLASSES)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = functional.relu(x + block(x))
        return self.head(x.mean((2, 3)))


def images(model, step):
    x, y = Blobs(8, (1, 8, 8))(0)
    return classify(model(x), y)


def series(model, step):
    x, y = Blobs(8, (6, trainings.FEATURES))(0)
    return classify(model(x), y)


def itself(model, step):
    x, _ = Blobs()(0)
    return (model(x).float() - x).square().mean()


HEALTHY = {"mlp": (mlp, points), "convolutional": (Convolutional, images), "residual": (Residual, images),
           "decoder": (lambda: Decoder(layers=6), text), "attention": (Attention, sequences),
           "autoencoder": (Autoencoder, itself), "recurrent": (Recurrent, series)}


@pytest.mark.parametrize("trained", [0, 60])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_models_are_silent(tmp_path, name, dtype, trained):
    make, compute = HEALTHY[name]
    if name == "recurrent" and dtype is torch.float16:
        pytest.skip("oneDNN has no FP16 recurrent cells for every processor")
    models = [make(), make()]
    optimizer = torch.optim.Adam(models[0].parameters(), 3e-3)
    for _ in range(trained):
        optimizer.zero_grad()
        compute(models[0], 0).backward()
        optimizer.step()
    models[1].load_state_dict(models[0].state_dict())
    paths = [record(tmp_path / "a.mprec", models[0], compute),
             record(tmp_path / "b.mprec", models[1], compute, dtype)]
    for kind in ("value", "gradient", "parameter"):
        result = compare(*paths, kind=kind)
        assert result.alert is None, (kind, result.alert)
        assert result.differences and not any("differ" in why for why in result.incomparable.values())
        assert any(entry.elements is not None for entry in result.differences)


@pytest.mark.parametrize("count", [1, 31, 1021, 5000, 200_000])
def test_sums_estimate_norms(count):
    """Within the deviation of a mean of 32 squares; exact where each element has a sum."""
    draw = torch.Generator().manual_seed(count)
    ratios = []
    for shape in ((count,), (count,)) * 10:
        tensor = torch.randn(shape, generator=draw)
        numbers = project(tensor)
        ratios.append(float(numbers[:COUNT].square().sum() / numbers[COUNT].square()))
        other = project(tensor.bfloat16())
        assert (other - numbers).norm() <= 0.02 * numbers[COUNT]
    assert abs(sum(ratios) / len(ratios) - 1) < (1e-5 if count <= COUNT else 0.25)


def test_layout_does_not_matter():
    x = torch.randn(4, 3, 50, 60)
    assert torch.equal(project(x), project(x.to(memory_format=torch.channels_last)))
    assert torch.equal(project(x.double().float()), project(x))


def damage(line):
    """Entries that are no projections, and lines that are none."""
    raw = json.loads(line)
    first = raw["of"][0]
    bad = [[*first[:2], "no base64 %"], [*first[:2], "AAAA"], first[:2], 7, [1, 2, 3], None]
    return [json.dumps({**raw, "of": bad}), json.dumps({**raw, "projections": -1}),
            json.dumps({**raw, "scale": 0}), json.dumps({**raw, "of": {}}), '{"projections": [',
            json.dumps({**raw, "of": [[*entry[:2], base64.b64encode(b"\xff" * 132).decode()] for entry in raw["of"]]})]


def test_histories_that_are_damaged_or_gone(tmp_path):
    """What is left is compared by moments."""
    one = record(tmp_path / "a.mprec", Attention(), sequences)
    other = record(tmp_path / "b.mprec", Attention("channels"), sequences)
    assert compare(one, other).alert is not None
    history = tmp_path / "b.history.jsonl"
    lines = history.read_text().splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith('{"projections"'))
    history.write_text("\n".join([*lines[:at], *damage(lines[at]), *lines[at + 1:]]) + "\n")
    damaged = compare(one, other)
    assert damaged.differences and all(entry.elements is None for entry in damaged.differences)
    history.unlink()
    assert compare(one, other).differences == damaged.differences

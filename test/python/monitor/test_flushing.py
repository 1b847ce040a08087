"""The share of gradients that FP16 flushes: estimates beside what was planted, and trainings."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402

import trainings  # noqa: E402
from mpopt.monitor import Monitor, flushing  # noqa: E402
from mpopt.monitor.record import GRADIENT  # noqa: E402

SHARES, SPREADS = (0.05, 0.1, 0.2, 0.35, 0.5), (1.6, 2.5, 4.0, 6.0, 8.0)


def draw(spread: float, rows: int = 64, columns: int = 96) -> torch.Tensor:
    """Magnitudes whose logarithm deviates by `spread` binades: those of a normal distribution do by 1.6."""
    draw = torch.Generator().manual_seed(round(10 * spread))
    normal = torch.randn(rows, columns, generator=draw)
    wide = math.sqrt(max(0.0, spread ** 2 - 1.6 ** 2))
    return normal * 2 ** (wide * torch.randn(rows, columns, generator=draw))


class Weighted(nn.Module):
    """Gradients that are given: of `weight` the target times the scale, in FP16."""

    def __init__(self, targets: list[torch.Tensor]):
        super().__init__()
        self.targets = targets
        self.weights = nn.ParameterList(nn.Parameter(torch.zeros_like(target)) for target in targets)

    def forward(self, x):
        return sum((weight.half() * target).sum() for weight, target in
                   zip(self.weights, self.targets, strict=True)) * x.mean()


def watch(targets: list[torch.Tensor], folder) -> tuple[list, dict[int, float]]:
    """Alerts of a run whose scaled gradients are `targets`, and what is estimated of each."""
    model = Weighted([target / 1024 for target in targets])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    scaler = trainings.scaler(init_scale=1024.0)
    with Monitor(model, optimizer, scaler, record=folder / "run.mprec", sinks=[]) as monitor:
        estimates = {}
        judge, = [each for each in monitor._judges if type(each).__name__ == "FlushedGradients"]
        original = judge.see_sample

        def see_sample(sample):
            estimates.update((index, judge._estimate(seen, sample.live.get(index)) / seen.count)
                             for index, seen in sample.of(GRADIENT))
            return original(sample)

        judge.see_sample = see_sample
        for _ in range(20):
            with torch.autocast("cpu", torch.float16):
                loss = model(torch.ones(4))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            monitor.step(loss=loss)
        return [alert for alert in monitor.alerts if alert.rule == "MP503"], estimates


def flush(gradient: torch.Tensor, share: float) -> torch.Tensor:
    """The gradient at the scale at which FP16 flushes `share` of it."""
    return (gradient * 2.0 ** -25 / torch.quantile(gradient.abs(), share)).clamp(-6e4, 6e4)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("share", SHARES)
def test_planted_shares(share, spread, tmp_path):
    """As they are, with a third of dead units, and with tokens that are not in the batch."""
    whole = flush(draw(spread), share)
    rows, columns = whole.clone(), whole.clone()
    rows[::3] = 0
    columns[:, ::2] = 0
    alerts, estimates = watch([whole, rows, columns], tmp_path)
    for index, part in enumerate((1.0, 1 - 22 / 64, 0.5)):
        assert share * part / 2 < estimates[index] < 2 * share * part, index
    if share > 0.1:
        assert len(alerts) == 3


@pytest.mark.parametrize("layers", [10, 20])
def test_one_layer_of_many(layers, tmp_path):
    normal = draw(1.6)
    targets = [normal * 1e-2 for _ in range(layers - 1)]
    alerts, estimates = watch([flush(draw(1.6), 0.3), *targets], tmp_path)
    assert [alert.layer for alert in alerts] == ["weights"]
    assert 0.15 < estimates[0] < 0.6 and max(estimates[index] for index in range(1, layers)) < 0.01
    assert "in 1 of 1 layers" in alerts[0].message and f" {100 * estimates[0] / layers:.2g} % of all" in alerts[0].message


@pytest.mark.parametrize("zeros", ["rows", "columns", "elements"])
def test_zeros_that_were_not_flushed(zeros, tmp_path):
    """Dead units, tokens that are not in the batch, weights that are pruned."""
    gradient = draw(1.6) * 1e-3
    if zeros == "rows":
        gradient[:40] = 0
    elif zeros == "columns":
        gradient[:, 10:] = 0
    else:
        gradient[torch.rand(gradient.shape) < 0.7] = 0
    alerts, estimates = watch([gradient], tmp_path)
    assert not alerts and estimates[0] < 0.01


def test_estimates_of_mixtures():
    """Rows of different scales, of which whole rows are flushed, and products."""
    draw = torch.Generator().manual_seed(3)
    for gradient in (torch.randn(64, 64, generator=draw) * 2 ** (2 * torch.randn(64, 1, generator=draw)),
                     torch.randn(64, 1, generator=draw) * torch.randn(1, 64, generator=draw)):
        for share in SHARES:
            stored = flush(gradient, share).half().double().abs()
            counts = [0] * flushing.BINADES
            for exponent in (torch.frexp(stored[stored > 0]).exponent - 1).tolist():
                counts[exponent - flushing.LEAST] += 1
            zeros = int((stored == 0).sum())
            live = float((stored > 0).any(1).double().mean() * (stored > 0).any(0).double().mean())
            assert zeros / 2 <= flushing.estimate(counts, zeros, live) <= zeros

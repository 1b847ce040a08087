"""Rules on numbers that are made for them, and the test of trend."""

import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from mpopt.monitor import trend  # noqa: E402
from mpopt.monitor.gradient_rules import GradientNorm  # noqa: E402
from mpopt.monitor.judging import Judge, Run, Sample, Step  # noqa: E402
from mpopt.monitor.record import GRADIENT, LEAST, VALUE, Distribution  # noqa: E402
from mpopt.monitor.scale_rules import LossScale, SkippedSteps  # noqa: E402
from mpopt.monitor.value_rules import WideRange  # noqa: E402
from mpopt.recorder import DTYPES, new_record  # noqa: E402


def run(**options) -> Run:
    return Run(["net.weight"], ["net"], ["net"], **options)


def norms(values, losses=None) -> list:
    judge = GradientNorm(run())
    return [alert for step, value in enumerate(values) for alert in judge.see_step(
        Step(step, norms={0: value}, loss=losses[step] if losses else None))]


def test_levels_of_the_norm():
    assert [(alert.step, alert.severity) for alert in norms([1, 150, 150, 150, 150])] == \
        [(3, "warning")]
    assert [(alert.step, alert.severity) for alert in norms([5e3] * 5)] == [(2, "error")]
    assert not norms([150, 1, 150, 1, 150])
    assert [(alert.step, alert.severity) for alert in norms([1e-7] * 12)] == [(9, "warning")]
    assert [alert.severity for alert in norms([1e-3] * 12)] == ["note"]
    # A loss that has fallen is why.
    assert not norms([1.0] + [1e-3] * 12, [2.0] + [0.1] * 12)


def test_an_alert_is_not_repeated():
    assert len(norms([150] * 100)) == 1
    # Ten steps below are the end of it, nine are not.
    assert len(norms([150] * 5 + [1] * 9 + [150] * 5)) == 1
    assert len(norms([150] * 5 + [1] * 10 + [150] * 5)) == 2


def test_a_jump_of_the_norm():
    found = norms([1.0] * 30 + [15.0] + [1.0] * 5)
    assert [(alert.step, alert.severity) for alert in found] == [(30, "warning")]
    assert "15 times" in found[0].message
    # Near convergence a jump to a norm that is usual is none.
    assert not norms([0.02] * 30 + [0.5] + [0.02] * 5, [2.0] + [0.1] * 35)


def scales(values, first=65536.0) -> list:
    judge, before, found = LossScale(run(first_scale=first)), first, []
    for step, value in enumerate(values):
        found += judge.see_step(Step(step, scale=before, next_scale=value))
        before = value
    return [(alert.step, alert.severity) for alert in found]


def test_levels_of_the_scale():
    assert scales([65536.0] * 50) == []
    assert scales([65536.0 / 2**n for n in range(1, 6)]) == [(4, "warning")]
    down = [65536.0 / 2**n for n in range(1, 17)] + [1.0] * 6
    assert scales(down)[-1] == (19, "error")
    assert scales([65536.0] + [0.0] * 5)[-1] == (1, "error")
    # A scale that began low on purpose.
    assert scales([64.0] * 50, first=64.0) == []
    # DeepSpeed begins at 2^32 and comes down at once.
    assert scales([2.0**n for n in range(31, 15, -1)] + [2.0**16] * 20, first=2.0**32) == []
    # A drop after each time that it grew is how a scaler works.
    assert scales([65536.0, 131072.0] * 20) == []


def skips(at, steps=200, first=0) -> list:
    judge, scale, found = SkippedSteps(run(first_scale=65536.0)), 65536.0, []
    for step in range(steps):
        after = scale / 2 if step in at else scale
        found += judge.see_step(Step(step, scale=scale, next_scale=after))
        scale = after or 1e-30
    return [alert.step for alert in found]


def test_skipped_steps():
    assert skips([]) == []
    assert skips([50]) == []
    assert skips([50, 149]) == [149]
    assert skips([50, 160]) == []
    assert skips(range(12)) == []
    assert skips(range(25)) == [16]  # at 1/2


def test_growth_excuses_one_skip():
    judge, found, scale = SkippedSteps(run(first_scale=65536.0)), [], 65536.0
    for step in range(400):
        # Grows each 20 steps, and the next step shows that it was too much.
        after = scale * 2 if step % 20 == 19 else scale / 2 if step and step % 20 == 0 else scale
        found += judge.see_step(Step(step, scale=scale, next_scale=after))
        scale = after
    assert found == []


def test_error_rate_of_the_trend():
    """Simulated: events of a constant rate are called rising as often as it says, for numbers
    of events on both sides of the change to the normal distribution."""
    draw = random.Random(0)
    for count in (1, 2, 5, 19, 21, 40):
        alarms = sum(trend.tail_of_sum(count, sum(draw.random() for _ in range(count))) < 0.05
                     for _ in range(4000))
        assert 0.035 < alarms / 4000 < 0.065, count


def test_trend_of_skipped_steps():
    assert trend.rising([95, 96, 97, 98, 99], 0, 100) < trend.ERROR_RATE
    assert trend.rising([10, 30, 50, 70, 90], 0, 100) > 0.1
    assert trend.rising([], 0, 100) == 1.0
    assert trend.tail_of_sum(2, 1.0) == pytest.approx(0.5)
    assert trend.tail_of_sum(3, 2.5) == pytest.approx(0.5**3 / 6)


def test_forecast():
    assert trend.steps_to_one([(0, 1024.0), (10, 512.0), (20, 256.0)]) == pytest.approx(80)
    assert trend.steps_to_one([(0, 1024.0), (10, 1024.0)]) is None
    assert trend.steps_to_one([(0, 1024.0)]) is None


def distribution(exponents: dict[int, int], dtype="f16") -> Distribution:
    record = new_record(0)
    record.dtype, record.calls = DTYPES[dtype], 1
    for exponent, count in exponents.items():
        record.histogram[exponent - LEAST + 1] = count
        record.count += count
    record.absmax = 2.0 ** max(exponents)
    record.min_nonzero = 2.0 ** min(exponents)
    record.absmax_step = record.min_nonzero_step = record.first_step = record.last_step = 0
    return Distribution(record)


def test_quantiles_of_a_histogram():
    seen = distribution({-3: 500, 0: 490, 10: 10})
    assert 2.0**-3 <= seen.quantile(0.4) <= 2.0**-2
    assert 1.0 <= seen.quantile(0.6) <= 2.0
    assert 2.0**10 <= seen.quantile(0.999) <= 2.0**11
    assert seen.below(-2) == 500 and seen.below(0) == 500 and seen.below(1) == 990


def samples(judge: Judge, seen: list, kind=VALUE) -> list:
    return [alert for step, one in enumerate(seen) for alert in judge.see_sample(
        Sample(step, seen={(kind, 0): one}, ran=[0]))]


def test_wide_range():
    normal = distribution({-14: 100, -10: 4000, -6: 4000, 0: 100})
    wide = distribution({-20: 100, -10: 4000, -9: 4000, 8: 100})
    wider = distribution({-20: 100, -14: 8000, -13: 4000, 14: 100})
    assert samples(WideRange(run()), [normal] * 5) == []
    found = samples(WideRange(run()), [wide] * 5)
    assert [(alert.step, alert.severity, alert.layer) for alert in found] == [(2, "note", "net")]
    found = samples(WideRange(run()), [wide] * 3 + [wider] * 2)
    assert [(alert.step, alert.severity) for alert in found] == [(2, "note"), (3, "warning")]
    # In BF16 these are normal numbers.
    assert samples(WideRange(run()), [distribution({-20: 100, -10: 8000, 8: 100}, "bf16")] * 5) == []
    found = samples(WideRange(run()), [wide] * 5, GRADIENT)
    assert "gradient of 'net.weight'" in found[0].message


def test_memory_is_plain():
    judge = GradientNorm(run())
    list(judge.see_step(Step(0, norms={0: 150.0})))
    other = GradientNorm(run())
    other.load(judge.state())
    assert [alert.step for step in (1, 2) for alert in other.see_step(Step(step, norms={0: 150.0}))] == [2]

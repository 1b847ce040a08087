"""Engines over gloo: which rank and which layer left FP16."""

import importlib.util
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import processes  # noqa: E402
from mpopt.monitor import diagnosis, history  # noqa: E402

#: Not a requirement of the tests: pip builds it from source, by the PyTorch that is there.
needs_deepspeed = pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="deepspeed is not installed")
ZERO = [pytest.param(f"zero-{stage}", world, marks=needs_deepspeed) for stage, world in ((1, 2), (2, 3), (3, 2))]
#: Engines that give each rank a batch of its own.
PARALLEL = [("fsdp", 2), ("ddp", 3), *ZERO]


def run(engine: str, fault: str, world: int, folder: pathlib.Path) -> list[list[dict]]:
    """The alerts of each rank."""
    return processes.finish(processes.start("engine_program.py", [engine, fault], world, folder))


def read(folder: pathlib.Path, world: int) -> history.History:
    return history.read([folder / f"run-{rank}.mprec" for rank in range(world)])


@pytest.mark.parametrize("engine, world", [*PARALLEL, ("tp", 2)])
def test_healthy_ranks_are_silent(engine, world, tmp_path):
    assert run(engine, "none", world, tmp_path) == [[]] * world


@pytest.mark.parametrize("engine, world", PARALLEL)
def test_the_rank_whose_batch_overflows(engine, world, tmp_path):
    alerts = run(engine, "batch", world, tmp_path)
    begins = [[alert for alert in own if alert["rule"] in ("MP501", "MP502") and alert["step"] == 12] for own in alerts]
    # The gradient, which all ranks share, is not finite on each; the forward pass is that of the last rank.
    assert begins[-1] and not any(begins[:-1]), begins
    assert f"(rank {world - 1} of {world})" in begins[-1][0]["message"]
    joined = read(tmp_path, world)
    first, = [alert for alert in joined.alerts if alert["rule"] == "MP501" and alert["step"] == 12]
    assert first["ranks"] == [world - 1]
    # The page has one alert for what all ranks say of the scale.
    assert [alert["ranks"] for alert in joined.alerts if alert["rule"] == "MP507"][0] == list(range(world))


@pytest.mark.parametrize("engine, world", [("fsdp", 2), ("tp", 4), *ZERO])
def test_the_layer_that_overflows(engine, world, tmp_path):
    alerts = run(engine, "layer", world, tmp_path)
    for own in alerts:
        first, = [alert for alert in own if alert["rule"] == "MP501" and "module" in alert["message"]]
        assert (first["layer"], first["step"]) == ("second", 12)
    joined = read(tmp_path, world)
    found = [alert for alert in joined.alerts if alert["rule"] == "MP501"]
    assert [(alert["layer"], alert["ranks"]) for alert in found] == [("second", list(range(world)))]
    assert any(cause.layer == "second" for cause in diagnosis.diagnose(joined))


@pytest.mark.parametrize("world", [2, 4])
def test_the_rank_whose_part_of_a_layer_overflows(world, tmp_path):
    """Tensor parallelism: the others get NaN from it in the next layer, of which each tells."""
    alerts = run("tp", "shard", world, tmp_path)
    begins = [next(alert for alert in own if alert["rule"] == "MP501") for own in alerts]
    assert [alert["layer"] for alert in begins] == ["second"] * (world - 1) + ["first"]
    assert {alert["step"] for alert in begins} == {12}
    joined = read(tmp_path, world)
    found, = [alert for alert in joined.alerts if alert["rule"] == "MP501"]
    assert (found["layer"], found["ranks"]) == ("first", [world - 1])
    assert any(cause.layer == "first" for cause in diagnosis.diagnose(joined))

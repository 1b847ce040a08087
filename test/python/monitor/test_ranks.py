"""Processes over gloo: what they saw together, and a rank that differs or dies."""

import json
import pathlib
import signal

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import processes  # noqa: E402
import rank_program  # noqa: E402
from mpopt.monitor import read  # noqa: E402
from mpopt.monitor.reading import RunFile, root_mean_square  # noqa: E402
from processes import finish  # noqa: E402
from trainings import PATIENCE  # noqa: E402


def start(mode: str, world: int, folder: pathlib.Path) -> list:
    return processes.start("rank_program.py", [mode], world, folder)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The record of one process on the whole batches."""
    folder = tmp_path_factory.mktemp("alone")
    rank_program.main("same", 0, 1, folder)
    return read(folder / "1-0.mprec")


@pytest.mark.parametrize("world", [2, 4])
def test_ranks_together_saw_what_one_process_saw(world, alone, tmp_path):
    assert finish(start("same", world, tmp_path)) == [[]] * world
    merged = read([tmp_path / f"{world}-{rank}.mprec" for rank in range(world)])
    values = [key for key in alone if key[1] == "value"]
    assert len(values) == 5
    for key in values:
        one, together = alone[key], merged[key]
        assert (together.count, together.zero) == (one.count, one.zero)
        assert together.calls == world * one.calls
        # A product of a part of the rows may be rounded otherwise.
        assert together.absmax == pytest.approx(one.absmax, rel=1e-5)
        apart = sum(abs(a - b) for a, b in zip(one.histogram, together.histogram, strict=True))
        assert apart <= 1e-3 * one.count


@pytest.mark.skipif(torch.__version__.startswith(("2.4.", "2.5.", "2.6.", "2.7.", "2.8.")),
                    reason="gloo's reduce_scatter gives FSDP the sum of the ranks, not their mean")
def test_gradients_of_shards_are_those_of_the_whole(tmp_path):
    """FSDP2: each rank sees its shards, which together have all elements, once; a shard without
    elements is no layer without a gradient."""
    rank_program.main("sharded", 0, 1, tmp_path)
    alone = read(tmp_path / "1-0.mprec")
    assert finish(start("sharded", 2, tmp_path)) == [[], []]
    merged = read([tmp_path / f"2-{rank}.mprec" for rank in range(2)])
    gradients = [(name, kind) for name, kind in alone
                 if kind == "gradient" and name.endswith(("weight", "bias"))]
    assert len(gradients) == 7
    for key in gradients:
        one, together = alone[key], merged[key]
        assert together.count == one.count
        assert together.absmax == pytest.approx(one.absmax, rel=1e-4)
        assert root_mean_square(together) == pytest.approx(root_mean_square(one), rel=1e-4)
    own = [read(tmp_path / f"2-{rank}.mprec")["gradient_norm", "scalar"] for rank in range(2)]
    whole = alone["gradient_norm", "scalar"]
    assert sum(record.max ** 2 for record in own) >= whole.max ** 2 * (1 - 1e-4)


def test_a_rank_that_differs_and_dies(tmp_path):
    first, second = start("broken", 2, tmp_path)
    outputs = [process.communicate(timeout=2 * PATIENCE)[0]
               for process in (first, second)]
    assert second.returncode == -9
    assert first.returncode != 0  # gloo tells it that its peer is gone
    for output in outputs:
        # Gloo's log goes there, too.
        found, = [alert for line in output.splitlines() if line.startswith("{")
                  if (alert := json.loads(line))["rule"] == "MP511"]
        assert (found["severity"], found["layer"]) == ("error", "2")
        # It differs from step 12 on; looked at are steps 7 and 17.
        assert found["step"] == 17 and "on rank 1" in found["message"]
    left = read(tmp_path / "2-1.mprec")
    # Of 30 steps one window of 8 may be missing.
    assert left["0", "value"].calls >= 30 - 8
    assert left["loss", "scalar"].calls >= 30 - 8
    assert read([tmp_path / "2-0.mprec", tmp_path / "2-1.mprec"])["0", "value"].calls >= 2 * 22


def test_a_rank_that_dies_in_a_collective(tmp_path):
    """Rank 0 waits for norms that do not come: its own record has all its steps all the same, and
    is ended in order. Once in a dozen runs threads of gloo's abort the process on its way out; then
    the record has what a killed rank's has."""
    first, second = start("dies", 2, tmp_path)
    errors = [process.communicate(timeout=2 * PATIENCE)[1]
              for process in (first, second)]
    assert second.returncode == -9
    if first.returncode == -signal.SIGABRT:
        assert "terminate called" in errors[0]
        assert read(tmp_path / "2-0.mprec")["0", "value"].calls >= 29 - 8
        return
    assert first.returncode > 0 and "Error" in errors[0].splitlines()[-1]
    assert RunFile(tmp_path / "2-0.mprec").closed and not RunFile(tmp_path / "2-1.mprec").closed
    left = read(tmp_path / "2-0.mprec")
    # The program stopped in step 28, behind the forward pass.
    assert (left["0", "value"].calls, left["loss", "scalar"].calls) == (29, 28)


def test_a_sample_that_one_rank_asks_for(tmp_path):
    """It has distributions of that rank alone: nobody is waited for, and ranks still agree."""
    assert finish(start("unsure", 2, tmp_path)) == [[], []]
    parameters = [read(tmp_path / f"2-{rank}.mprec")["0.weight", "parameter"] for rank in range(2)]
    assert [record.calls for record in parameters] == [4, 5]

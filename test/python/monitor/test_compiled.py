"""Models under torch.compile: one graph, and the record of the model as it is."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from trainings import Blobs, Training, mlp  # noqa: E402
from mpopt.monitor import Monitor, read  # noqa: E402


def train(folder, name, compiled):
    model = mlp(8)
    training = Training(model, Blobs(), autocast=None)
    training.model = torch.compile(model, fullgraph=True, backend="aot_eager") if compiled else model
    with Monitor(training.model, training.optimizer, record=folder / f"{name}.mprec",
                 periods={"value": 3, "gradient": 3, "parameter": 3, "output_gradient": 0}) as monitor:
        losses = training.run(9, monitor)
        assert monitor.alerts == []
    # Nobody says in which order the modules of a graph ran.
    return losses, {key: record for key, record in read(folder / f"{name}.mprec").items()
                    if key[1] != "optimizer" and key not in [(str(i), "scalar") for i in range(5)]}


def test_one_graph_and_the_same_record(tmp_path):
    torch._dynamo.reset()
    losses, records = train(tmp_path, "eager", False)
    compiled_losses, compiled = train(tmp_path, "compiled", True)
    assert compiled_losses == pytest.approx(losses)
    assert records.keys() == compiled.keys()
    assert {kind for _, kind in records} == {"value", "gradient", "parameter", "scalar"}
    for key, record in records.items():
        other = compiled[key]
        assert (other.calls, other.count, other.first_step) == \
            (record.calls, record.count, record.first_step), key
        assert other.absmax == pytest.approx(record.absmax, rel=1e-4)


def test_one_compilation_serves_all_steps(tmp_path):
    """Samples that come and go compile nothing anew."""
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    model = torch.compile(mlp(8), fullgraph=True, backend=counter)
    training = Training(model, Blobs(), autocast=None)
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec",
                 periods={"value": 4}) as monitor:
        training.run(12, monitor)
    assert counter.frame_count == 1
    assert read(tmp_path / "run.mprec")["0", "value"].calls == 3

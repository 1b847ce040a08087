"""Models under torch.compile: one graph, and the record of the model as it is."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from trainings import Autoencoder, Blobs, Decoder, Text, Training, mlp, predict  # noqa: E402
from mpopt.monitor import Monitor, read  # noqa: E402


def train(folder, name, how=None):
    model = mlp(8)
    training = Training(model, Blobs(), autocast=None)
    if how == "wrapped":
        training.model = torch.compile(model, fullgraph=True, backend="aot_eager")
    elif how == "in place":
        model.compile(fullgraph=True, backend="aot_eager")
    with Monitor(training.model, training.optimizer, record=folder / f"{name}.mprec",
                 periods={"value": 3, "gradient": 3, "parameter": 3, "output_gradient": 0}) as monitor:
        losses = training.run(9, monitor)
        assert monitor.alerts == []
    # Nobody says in which order the modules of a graph ran.
    return losses, {key: record for key, record in read(folder / f"{name}.mprec").items()
                    if key[1] != "optimizer" and key not in [(str(i), "scalar") for i in range(5)]}


@pytest.mark.parametrize("how", ["wrapped", "in place"])
def test_one_graph_and_the_same_record(how, tmp_path):
    torch._dynamo.reset()
    losses, records = train(tmp_path, "eager")
    compiled_losses, compiled = train(tmp_path, "compiled", how)
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


@pytest.mark.parametrize("compiled_first", [True, False])
def test_a_module_that_compiles_itself_shows_its_inputs(compiled_first, tmp_path):
    """`compile()` takes hooks into the graph, where nothing may be that is not an op. One that comes
    after the monitor hides the inputs, and nothing else."""
    torch._dynamo.reset()
    model = Autoencoder()

    def compile_model():
        model.compile(fullgraph=True, backend="aot_eager")
        return model._compiled_call_impl

    graph = compile_model() if compiled_first else None
    training = Training(model, Blobs(), lambda output, _: output.square().mean(), autocast=None)
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec", sinks=[], compiled=True,
                 inputs={"x": "-0.1:0.1"}) as monitor:
        graph = graph or compile_model()
        training.run(9, monitor)
        assert [alert.rule for alert in monitor.alerts] == ["MP513"] * compiled_first
        assert read(tmp_path / "run.mprec")["decode", "value"].calls == 1
    assert model._compiled_call_impl is graph
    training.run(1)


def test_blocks_that_are_compiled_one_by_one_share_a_graph(tmp_path):
    """More of them than dynamo compiles one function for."""
    torch._dynamo.reset()
    model = Decoder(layers=12)
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    for block in model.blocks:
        block.compile(fullgraph=True, backend=counter)
    training = Training(model, Text(), predict, autocast=None)
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec",
                 periods={"value": 4}) as monitor:
        training.run(8, monitor)
    assert counter.frame_count == 1
    records = {name: record for (name, kind), record in read(tmp_path / "run.mprec").items()
               if kind == "value"}
    assert len(records) == 12 * 9 + 2
    assert {record.calls for record in records.values()} == {2}
    assert len({record.absmax for name, record in records.items() if name.endswith(".out")}) == 12

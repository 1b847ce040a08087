"""What a monitor takes of a step, against the same by PyTorch."""

import contextlib
import json
import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from tool import run_mpopt  # noqa: E402
from trainings import Blobs, Decoder, Text, Training, classify, mlp, predict  # noqa: E402
import mpopt  # noqa: E402
from mpopt.monitor import Monitor, StopTraining, channels, read, record  # noqa: E402
from mpopt.monitor.reading import root_mean_square  # noqa: E402

EVERY = dict.fromkeys(["gradient", "value", "parameter", "optimizer", "output_gradient"], 1)


class Numbers:
    """Keeps what each step gave."""

    def __init__(self):
        self.steps = {}

    def alert(self, alert):
        pass

    def numbers(self, step, values):
        self.steps[step] = values


def norm(parameters, scale=1.0) -> float:
    return float(torch.stack([parameter.grad.double().norm() for parameter in parameters
                              if parameter.grad is not None]).norm()) / scale


def test_norms_are_of_unscaled_whole_gradients():
    """Also when they are accumulated, clipped afterwards, and cleared before `step`."""
    model, seen, expected = mlp(), Numbers(), {}

    def before_step(training):
        step = len(expected)
        expected[step] = norm(model.parameters(), training.scaler.get_scale())
        training.scaler.unscale_(training.optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)

    training = Training(model, Blobs(), scaler=trainings.scaler(init_scale=2.0**10), accumulate=3,
                        before_step=before_step)
    with Monitor(model, training.optimizer, training.scaler, record=None, sinks=[seen]) as monitor:
        training.run(21, monitor)
        assert monitor.alerts == []
    assert len(expected) == len(seen.steps) == 21
    for step, value in expected.items():
        assert seen.steps[step]["gradient_norm"] == pytest.approx(value, rel=1e-5)
        assert seen.steps[step]["loss_scale"] == 2.0**10
        assert seen.steps[step]["learning_rate"] == 1e-3


def test_loss_and_scale_of_each_step():
    model, seen = mlp(), Numbers()
    training = Training(model, Blobs(), scaler=trainings.scaler(growth_interval=5))
    with Monitor(model, training.optimizer, training.scaler, record=None, sinks=[seen]) as monitor:
        losses = training.run(12, monitor)
        _ = monitor.alerts
    assert [values["loss"] for values in seen.steps.values()] == pytest.approx(losses)
    assert [values["loss_scale"] for values in seen.steps.values()] == \
        [2.0**16] * 5 + [2.0**17] * 5 + [2.0**18] * 2


def test_a_shared_parameter_counts_once():
    model, seen, expected = Decoder(), Numbers(), []
    training = Training(model, Text(), predict, autocast=None,
                        before_step=lambda training: expected.append(norm(model.parameters())))
    with Monitor(model, training.optimizer, record=None, sinks=[seen]) as monitor:
        training.run(3, monitor)
        _ = monitor.alerts
    assert [values["gradient_norm"] for values in seen.steps.values()] == pytest.approx(expected)


def test_several_optimizers_and_an_outer_parameter():
    """A parameter that only an optimizer has is watched, too."""
    model, extra, seen = mlp(), torch.nn.Parameter(torch.tensor(0.5)), Numbers()
    optimizers = [torch.optim.SGD(model.parameters(), 0.1), torch.optim.Adam([extra], 0.01)]
    with Monitor(model, optimizers, record=None, sinks=[seen]) as monitor:
        x, y = Blobs()(0)
        loss = classify(model(x) * extra, y)
        loss.backward()
        expected = norm([*model.parameters(), extra])
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        monitor.step(loss=loss)
        _ = monitor.alerts
    assert seen.steps[0]["gradient_norm"] == pytest.approx(expected)


def test_a_backward_pass_that_failed_is_forgotten():
    model, seen = mlp(), Numbers()

    def fail(_):
        raise RuntimeError("in the middle")

    blobs = Blobs()
    with Monitor(model, record=None, sinks=[seen]) as monitor:
        x, y = blobs(0)
        hidden = model[0](x)
        hidden.register_hook(fail)
        with pytest.raises(RuntimeError, match="in the middle"):
            classify(model[1:](hidden), y).backward()
        model.zero_grad()
        x, y = blobs(1)
        loss = classify(model(x), y)
        loss.backward()
        monitor.step(loss=loss)
        _ = monitor.alerts
    assert seen.steps[0]["gradient_norm"] == pytest.approx(norm(model.parameters()))


def test_an_optimizer_inside_the_backward_pass():
    """It drops `.grad` before the pass is over."""
    model, seen, expected = mlp(), Numbers(), []

    def update(parameter):
        expected.append(parameter.grad.double().norm())
        parameter.data -= 1e-3 * parameter.grad
        parameter.grad = None

    with Monitor(model, record=None, sinks=[seen]) as monitor:
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(update)
        x, y = Blobs()(0)
        classify(model(x), y).backward()
        monitor.step()
        _ = monitor.alerts
    assert seen.steps[0]["gradient_norm"] == pytest.approx(float(torch.stack(expected).norm()))


def histogram(tensor) -> dict[int, int]:
    values = tensor.detach().double().abs().flatten()
    exponents = torch.frexp(values[values > 0]).exponent - 1
    return dict(zip(*(part.tolist() for part in exponents.unique(return_counts=True)), strict=True))


def test_records_hold_what_modules_gave_and_parameters_are(tmp_path):
    model, outputs, gradients = mlp(), [], []
    training = Training(model, Blobs(), before_step=lambda training: gradients.append(
        model[2].weight.grad.clone()))
    model[1].register_forward_hook(lambda module, x, y: outputs.append(y.clone()))
    with Monitor(model, training.optimizer, record=tmp_path / "run-%r.mprec",
                 periods=EVERY) as monitor:
        training.run(5, monitor)
        assert monitor.alerts == []
    assert (tmp_path / "run-0.mprec").exists() and (tmp_path / "run.probes.json").exists()
    records = read(tmp_path / "run-0.mprec")
    for key, tensors in ((("1", "value"), outputs), (("2.weight", "gradient"), gradients)):
        record, whole = records[key], torch.stack(tensors).detach()
        assert (record.calls, record.count) == (5, whole.numel())
        assert record.zero == int((whole == 0).sum())
        assert record.absmax == float(whole.abs().max())
        counted = {index - 151: count for index, count in enumerate(record.histogram) if count}
        assert counted == histogram(whole)
    last = records["4.weight", "parameter"]
    assert last.calls == 5 and last.absmax >= float(model[4].weight.detach().abs().max())
    assert records["4.weight:exp_avg_sq", "optimizer"].calls == 5
    assert records["loss", "scalar"].calls == 5


def test_what_an_optimizer_keeps_is_found_though_it_changes(tmp_path):
    """Kept late, restored, and started anew: other dictionaries, in another order."""
    model, x = mlp(), torch.randn(4, trainings.FEATURES)
    first, last = model[0].weight, model[4].weight
    optimizer = torch.optim.SGD([first, last], 1e-3, momentum=0.9)
    kept = {first: 0, last: 0}
    with Monitor(model, optimizer, record=tmp_path / "run.mprec", sinks=[],
                 periods={"optimizer": 1}) as monitor:
        for step in range(24):
            model(x).square().mean().backward()
            if step < 10 or step == 18:
                # Nothing is kept of what has no gradient.
                last.grad = None
            if step == 14:
                optimizer.load_state_dict(optimizer.state_dict())
            elif step == 16:
                del optimizer.state[first]
            elif step == 18:
                optimizer.state[last] = {}
            elif step == 20:
                optimizer.state[first] = {"momentum_buffer": None, "other": 1}
            optimizer.step()
            optimizer.zero_grad()
            for parameter in kept:
                kept[parameter] += optimizer.state[parameter].get("momentum_buffer") is not None
            monitor.step()
    records = read(tmp_path / "run.mprec")
    assert (kept[first], kept[last]) == (24, 13)
    for name, parameter in (("0.weight", first), ("4.weight", last)):
        seen = records[f"{name}:momentum_buffer", "optimizer"]
        assert (seen.calls, seen.count) == (kept[parameter], kept[parameter] * parameter.numel())


def test_gradients_of_outputs(tmp_path):
    """As they flow, multiplied by the loss scale, of all micro-batches; and nothing of a
    training changes."""
    model, seen = mlp(), []
    training = Training(model, Blobs(), scaler=trainings.scaler(init_scale=2.0**8), accumulate=2)
    model[1].register_forward_hook(
        lambda module, x, y: y.register_hook(lambda gradient: seen.append(gradient.clone())) and None)
    with Monitor(model, training.optimizer, training.scaler, record=tmp_path / "run.mprec",
                 periods={"output_gradient": 2, "value": 0, "gradient": 0}) as monitor:
        training.run(6, monitor)
        assert monitor.alerts == []
    records = read(tmp_path / "run.mprec")
    record = records["1", "gradient"]
    # Of steps 1, 3 and 5.
    whole = torch.stack([seen[2 * step + part] for step in (1, 3, 5) for part in (0, 1)])
    assert (record.calls, record.count) == (6, whole.numel())
    assert record.absmax == float(whole.abs().max()) and record.zero == int((whole == 0).sum())
    assert records["loss_scale", "scalar"].max == 2.0**8
    assert {name for name, kind in records if kind == "gradient"} == set("01234")


def test_the_tool_reads_the_record(tmp_path):
    model = mlp()
    with torch.no_grad():
        model[0].bias.fill_(-1e3)
    training = Training(model, Blobs())
    with Monitor(model, training.optimizer, record=tmp_path / "run-%r.mprec",
                 periods=EVERY, sinks=[]) as monitor:
        training.run(3, monitor)
        path, ledger = monitor.record_path, monitor.ledger_path
    done = run_mpopt("--confirm", path, "--ledger", ledger, "--format", "json", "--fail-on=never")
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)["findings"]
    # Behind dead units the output is not 0, and its gradient is.
    assert [entry.get("gradient") for entry in findings
            if (entry["rule"], entry["tensor"]) == ("MP504", "0")] == [True]
    assert mpopt.confirm(path, ledger).raw["confirmation"]["probes"] > 0


def test_checkpoints_count_once(tmp_path):
    calls = {}
    for checkpoint in (False, True):
        model = Decoder(checkpoint=checkpoint)
        training = Training(model, Text(), predict, autocast=None)
        path = tmp_path / f"{checkpoint}.mprec"
        with Monitor(model, training.optimizer, record=path, periods=EVERY) as monitor:
            training.run(4, monitor)
            assert monitor.alerts == []
        calls[checkpoint] = {key: (record.calls, record.count, list(record.histogram))
                             for key, record in read(path).items() if key[1] != "scalar"}
    assert calls[True] == calls[False] and len(calls[True]) > 50


def test_a_module_that_also_runs_in_fp32_keeps_the_record_of_fp16(tmp_path):
    """An evaluation without autocast within the step: what overflowed did so in FP16."""
    model = mlp()
    with torch.no_grad():
        model[2].weight.mul_(2e5)
    x, path = Blobs()(0)[0], tmp_path / "run.mprec"
    with Monitor(model, record=path, periods=EVERY, sinks=[]) as monitor:
        for first in (True, False):
            for half in (first, not first):
                with torch.autocast("cpu", torch.float16, enabled=half), torch.no_grad():
                    model(x)
            monitor.step()
    found = read(path)["2", "value"]
    assert found.calls == 4 and found.pos_inf + found.neg_inf > 0
    assert record.DTYPES["f16"] == found.dtype


def test_periods_say_when(tmp_path):
    model = mlp()
    training = Training(model, Blobs())
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec", values="^[02]$",
                 periods={"value": 10, "gradient": 0, "parameter": 20, "optimizer": 0,
                          "output_gradient": 0}) as monitor:
        training.run(40, monitor)
        _ = monitor.alerts
    records = read(tmp_path / "run.mprec")
    assert {name for name, kind in records if kind == "value"} == {"0", "2"}
    assert records["0", "value"].calls == 4
    assert (records["0", "value"].first_step, records["0", "value"].last_step) == (7, 37)
    assert records["0.weight", "parameter"].calls == 2
    assert not [key for key in records if key[1] in ("gradient", "optimizer")]


def test_switched_off_and_on():
    model, seen = mlp(), Numbers()
    training = Training(model, Blobs())
    with Monitor(model, training.optimizer, record=None, sinks=[seen], enabled=False) as monitor:
        training.run(5, monitor)
        assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())
        assert not model._forward_pre_hooks and not training.optimizer._optimizer_step_pre_hooks
        monitor.enable()
        training.run(5, monitor)
        monitor.disable()
        training.run(5, monitor)
    assert sorted(seen.steps) == [5, 6, 7, 8, 9]


def test_nothing_is_left_behind():
    model = mlp()
    training = Training(model, Blobs(), scaler=trainings.scaler())
    with Monitor(model, training.optimizer, training.scaler, record=None) as monitor:
        training.run(3, monitor)
    assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not training.optimizer._optimizer_step_pre_hooks
    assert not training.optimizer._optimizer_step_post_hooks
    assert "unscale_" not in vars(training.scaler)


def test_state_survives_a_restart(tmp_path):
    """The run that goes on says what the one that was not interrupted says."""
    def overflow(training, step, batch):
        training.bad = step in (30, 60)
        return batch

    def make():
        training = Training(mlp(), Blobs(), scaler=trainings.scaler(), before_batch=overflow)
        training.loss = lambda output, target: classify(output, target) * (
            1e36 if training.bad else 1.0)
        return training

    def told(monitor):
        return [(alert.rule, alert.step) for alert in monitor.alerts]

    whole = make()
    with Monitor(whole.model, whole.optimizer, whole.scaler, record=tmp_path / "a.mprec") as monitor:
        whole.run(80, monitor)
        expected = told(monitor)
    assert ("MP507", 60) in expected

    training, saved = make(), tmp_path / "state.pt"
    with Monitor(training.model, training.optimizer, training.scaler,
                 record=tmp_path / "b.mprec") as monitor:
        training.run(45, monitor)
        first = told(monitor)
        torch.save(monitor.state_dict(), saved)
    with Monitor(training.model, training.optimizer, training.scaler,
                 record=tmp_path / "b.mprec") as monitor:
        monitor.load_state_dict(torch.load(saved))
        training.run(35, monitor, begin=45)
        assert first + told(monitor) == expected
    assert (tmp_path / "b.mprec").exists()


def test_actions(tmp_path):
    def spoil(training, step, batch):
        if step >= 10:
            batch[0][0] = torch.nan
        return batch

    training = Training(mlp(), Blobs(), before_batch=spoil)
    with Monitor(training.model, training.optimizer, record=None,
                 actions={"MP501": "keep"}) as monitor:
        training.run(30, monitor)
        assert torch.isnan(monitor.kept["arguments"][0]).any()
    training = Training(mlp(), Blobs(), before_batch=spoil)
    with Monitor(training.model, training.optimizer, record=None,
                 actions={"error": "stop"}) as monitor:
        with pytest.raises(StopTraining, match="MP501") as stopped:
            training.run(30, monitor)
        assert stopped.value.alert.layer == "input"
        assert monitor.alerts[0] == stopped.value.alert


@pytest.mark.parametrize("options, words", [
    ({"periods": {"norms": 3}}, "no kind is called norms"),
    ({"periods": {"norm": -1}}, "periods"),
    ({"values": "("}, "no regular expression"),
    ({"inputs": {"x": "3:1"}}, "no range"),
    ({"inputs": {"x": "ten"}}, "inputs"),
    ({"report": "nowhere.json"}, "report"),
    ({"ledger": "nowhere.json"}, "ledger"),
    ({"scaler": object()}, "no loss scale"),
    ({"sinks": [3]}, "no place for alerts"),
    ({"actions": {"MP501": "shout"}}, "one of continue, stop, keep, replay"),
    ({"actions": {"fatal": "stop"}}, "neither a rule"),
    ({"ranks": True}, "not initialised"),
])
def test_wrong_arguments(options, words):
    with pytest.raises(mpopt.Error, match=words) as raised:
        Monitor(mlp(), **options)
    assert "\n" not in str(raised.value)


def test_sums_do_not_overflow():
    """Norms of magnitudes whose squares FP32 does not hold."""
    big, small = torch.full((100,), 1e30), torch.full((100,), 1e-30)
    out = torch.empty(4)
    torch.ops.mpopt.norms([big, small, torch.full((7,), math.inf), torch.full((3,), math.nan)], out)
    assert out[:2].tolist() == pytest.approx([1e31, 1e-29])
    assert math.isinf(out[2]) and math.isnan(out[3])


@pytest.mark.parametrize("count", [1, 15, 16, 4097, 200_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_norms(count, dtype):
    x = torch.randn(count, generator=trainings.generator(count)).to(dtype)
    out = torch.empty(1)
    torch.ops.mpopt.norms([x], out)
    assert float(out) == pytest.approx(float(x.double().norm()), rel=1e-5)


@contextlib.contextmanager
def recorded(tmp_path, name="run"):
    """A record that ops write to, and the text by which they find it."""
    ledger = record.Ledger()
    for index in range(3):
        ledger.add("parameter", f"p{index}")
        ledger.add("chosen", f"m{index}")
    run = record.RunRecord(tmp_path / f"{name}.mprec", 0, ledger, None)
    yield run, lambda probe, kind: run._recorder.read(probe, kind)
    run.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_norms_from_the_pass_that_records(tmp_path, dtype):
    """`observe_gradients` is `norms` and `observe` in one."""
    draw = trainings.generator(3)
    tensors = [torch.randn(shape, generator=draw).to(dtype)
               for shape in ((), (7,), (300, 70), (0,), (64, 33), (5,), (5,))]
    tensors[4] = tensors[4].t()
    tensors[5][2], tensors[6][3] = math.inf, math.nan
    ids, norms, expected = [0, -1, 2, 4, 1, 3, 5], torch.empty(7), torch.empty(7)
    with recorded(tmp_path) as (run, read_one):
        torch.ops.mpopt.observe_gradients(tensors, norms, ids, run.hex)
        together = [bytes(read_one(probe, record.GRADIENT)) for probe in range(6)]
        for wrong, words in (((tensors, norms, ids[1:]), "an id for each tensor"),
                             ((tensors, norms[1:], ids), "an element for each tensor")):
            with pytest.raises(RuntimeError, match=words):
                torch.ops.mpopt.observe_gradients(*wrong, run.hex)
    with recorded(tmp_path, "other") as (run, read_one):
        torch.ops.mpopt.norms(tensors, expected)
        torch.ops.mpopt.observe(tensors, torch.zeros(1), ids, record.GRADIENT, run.hex)
        assert together == [bytes(read_one(probe, record.GRADIENT)) for probe in range(6)]
    assert norms.tolist() == pytest.approx(expected.tolist(), rel=1e-5, nan_ok=True)
    assert math.isinf(norms[5]) and math.isnan(norms[6])


def test_an_output_and_its_channels_in_one(tmp_path):
    """`observe_output` is `observe` and `channels` in one."""
    x, sizes, expected = torch.randn(4, 6, 5), torch.full((6,), -1.0), torch.empty(2)
    with recorded(tmp_path) as (run, read_one):
        torch.ops.mpopt.observe_output(x, sizes, 1, 3, 2, run.hex)
        torch.ops.mpopt.channels(x, 2, expected)
        assert sizes.tolist() == [-1, -1, *expected.tolist(), -1, -1]
        torch.ops.mpopt.observe_output(x, sizes, 0, -1, 1, run.hex)
        torch.ops.mpopt.observe_output(x, sizes, 0, 3, -1, run.hex)
        seen = read_one(3, record.VALUE)
        assert (seen.calls, seen.count) == (2, 2 * x.numel()) and sizes[0] > 0
        for place, axis in ((3, 1), (-1, 1), (0, 3)):
            with pytest.raises(RuntimeError, match="mpopt::observe_output takes"):
                torch.ops.mpopt.observe_output(x, sizes, place, 3, axis, run.hex)
        assert read_one(3, record.VALUE).calls == 2


def test_tensors_without_gaps_are_recorded_as_they_lie(tmp_path):
    """Channels last, transposed: the same record as that of a copy, but for how its sums round."""
    x = torch.randn(8, 5, 6, 7, generator=trainings.generator(1))
    records = []
    for name, tensor in (("a", x), ("b", x.to(memory_format=torch.channels_last)),
                         ("c", x.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0))):
        assert torch.equal(tensor, x)
        with recorded(tmp_path, name) as (run, read_one):
            torch.ops.mpopt.observe([tensor], torch.zeros(1), [1], record.VALUE, run.hex)
            records.append(read_one(1, record.VALUE))
    one = records[0]
    for other in records[1:]:
        assert root_mean_square(other) == pytest.approx(root_mean_square(one), rel=1e-12)
        other.sum, other.sum_squares = one.sum, one.sum_squares
        assert bytes(other) == bytes(one)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("layout", ["channels last", "permuted", "every other"])
def test_an_output_is_read_where_it_lies(tmp_path, layout, dtype):
    """Its record and its sizes by channel are those of a copy."""
    x = torch.randn(6, 20, 30, 34, generator=trainings.generator(2)).to(dtype)
    x *= torch.linspace(1, 3, 20)[:, None, None].to(dtype)
    lies = {"channels last": lambda: x.to(memory_format=torch.channels_last),
            "permuted": lambda: x.permute(3, 0, 2, 1).contiguous().permute(1, 3, 2, 0),
            "every other": lambda: torch.stack([x, x + 1], -1)[..., 0]}[layout]()
    assert torch.equal(lies, x) and not lies.is_contiguous()
    sizes = torch.empty(6)
    with recorded(tmp_path) as (run, read_one):
        for place, tensor in enumerate((x, lies)):
            assert torch.ops.mpopt.observe_output(tensor, sizes, place, 2 * place + 1, 1, run.hex)
        # Without a record, by the last axis, and of what has no two channels.
        assert torch.ops.mpopt.observe_output(lies, sizes, 2, -1, -3, "")
        one, other = read_one(1, record.VALUE), read_one(3, record.VALUE)
        assert not torch.ops.mpopt.observe_output(x[:, :1], sizes, 0, 1, 1, run.hex)
        assert not torch.ops.mpopt.observe_output(x[0, 0, 0], sizes, 0, 1, -1, run.hex)
        assert not torch.ops.mpopt.observe_output(x, sizes, 0, 1, None, run.hex)
        assert read_one(1, record.VALUE).calls == 4
    assert sizes[2:4].tolist() == pytest.approx(sizes[:2].tolist(), rel=1e-5)
    assert sizes[4:].tolist() == pytest.approx(sizes[:2].tolist(), rel=1e-5)
    other.probe, other.sum, other.sum_squares = one.probe, one.sum, one.sum_squares
    assert bytes(one) == bytes(other)


@pytest.mark.parametrize("shape, axis", [((5, 3), 1), ((4, 7, 9), 2), ((2, 6, 5, 5), 1), ((3, 1), 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_sizes_of_channels(shape, axis, dtype):
    """As FP64 says them; the same by the ops that other devices run."""
    x = torch.randn(shape, generator=trainings.generator()).to(dtype)
    x.select(axis, 0).zero_()
    others = [other for other in range(x.dim()) if other != axis]
    sizes = x.double().square().mean(others).sqrt()
    filled = sizes[sizes > 0].sort().values
    median = float(filled[(len(filled) - 1) // 2]) if len(filled) else 0.0
    expected = pytest.approx([float(sizes.max()), median], rel=1e-3)
    out = torch.empty(2)
    torch.ops.mpopt.channels(x, axis, out)
    assert out.tolist() == expected
    assert channels.sizes_by_ops(x, axis).tolist() == expected
    torch.ops.mpopt.channels(x.transpose(0, -1), {0: x.dim() - 1, x.dim() - 1: 0}.get(axis, axis), out)
    assert out.tolist() == expected
    for place in (0, -1):
        spoilt = x.clone()
        spoilt.select(axis, place).fill_(torch.nan)
        torch.ops.mpopt.channels(spoilt, axis, out)
        assert math.isnan(out[0]) and math.isnan(channels.sizes_by_ops(spoilt, axis)[0])
        if place == 0 and len(filled):
            # The channel of zeros became the one of NaN: the others are as they were.
            assert float(out[1]) == pytest.approx(median, rel=1e-3)


@pytest.mark.parametrize("shape, axis", [((40, 6), 1), ((70, 300), 1), ((4, 6, 9), 1)])
@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_sizes_of_channels_whose_squares_fp32_does_not_hold(shape, axis, size):
    x = torch.full(shape, size)
    x.select(axis, 0).mul_(4)
    out = torch.empty(2)
    torch.ops.mpopt.channels(x, axis, out)
    assert out.tolist() == pytest.approx([4 * size, size], rel=1e-5, abs=0)


def test_sizes_of_channels_of_zeros_and_of_odd_arguments():
    x, out = torch.zeros(3, 4), torch.empty(2)
    torch.ops.mpopt.channels(x, 1, out)
    assert out.tolist() == channels.sizes_by_ops(x, 1).tolist() == [0, 0]
    for wrong in (lambda: torch.ops.mpopt.channels(x, 2, out),
                  lambda: torch.ops.mpopt.channels(torch.zeros(0, 4), 1, out),
                  lambda: torch.ops.mpopt.channels(x, 1, torch.empty(3))):
        with pytest.raises(RuntimeError, match="mpopt::channels takes"):
            wrong()

"""Whether a run is as good as a reference."""

import json
import math
import random
import time
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import mpopt  # noqa: E402
import trainings  # noqa: E402
from tool import run_mpopt  # noqa: E402
from mpopt.monitor import Monitor, history, judge_run, verdict  # noqa: E402
from mpopt.monitor.__main__ import main  # noqa: E402
from mpopt.monitor.history import History  # noqa: E402
from trainings import Blobs, Training, mlp  # noqa: E402


def course(loss, steps=400, seed=0, noise=0.02, **metrics) -> History:
    draw = random.Random(seed)
    return History([{"step": step, "loss": loss(step) * (1 + draw.gauss(0, noise)),
                     **({"metrics": {name: value(step) for name, value in metrics.items()}} if metrics else {})}
                    for step in range(steps)], [], [], [0], None)


def falls(step, end=1.0):
    return end + 4 * math.exp(-step / 50)


REFERENCE = course(falls)


@pytest.mark.parametrize("run, type, outcome", [
    (course(falls, seed=1), 0, "within 1 %"),
    (course(lambda step: falls(step, 1.03), seed=1), 1, "1 to 5 % worse"),
    (course(lambda step: falls(step, 1.2), seed=1), 2, "over 5 % worse"),
    (course(lambda step: math.nan if step > 200 else falls(step), seed=1), 2, "NaN or Inf"),
    (course(lambda step: 5.0, seed=1), 2, "does not converge"),
    (course(lambda step: falls(step) if step < 200 else 6.0, seed=1), 2, "does not converge"),
    (course(lambda step: falls(step, 0.9), seed=1), 0, "within 1 %")])
def test_outcomes(run, type, outcome):
    judged = judge_run(REFERENCE, run)
    assert (judged.type, judged.outcome) == (type, outcome), judged.text
    assert json.loads(json.dumps(judged.as_dict()))["type"] == type


def test_a_second_seed_is_noise():
    other = course(lambda step: falls(step, 1.04), seed=2)
    run = course(lambda step: falls(step, 1.05), seed=3)
    assert judge_run(REFERENCE, run).type == 1
    judged = judge_run(REFERENCE, run, other)
    assert (judged.type, judged.outcome) == (0, "within noise") and judged.parted is None


def test_where_curves_part():
    run = course(lambda step: falls(step) + max(0, step - 250) / 200, seed=0)
    judged = judge_run(REFERENCE, run)
    assert judged.type == 2 and 240 <= judged.parted <= 270 and f"about step {judged.parted}" in judged.text
    assert judge_run(REFERENCE, course(falls, seed=5)).parted is None


def test_window_means_are_exact():
    draw = random.Random(0)
    values = [draw.gauss(0, 1) * 10.0 ** draw.randint(-20, 20) for _ in range(300)]
    assert verdict._window_means(values, 7) == [float(sum(map(Fraction, values[at:at + 7])) / 7) for at in range(294)]
    # A sum of floats would remember the large one.
    assert verdict._window_means([1e300, 1.0, 2.0, 3.0], 2) == [5e299, 1.5, 2.5]
    assert [math.isnan(mean) for mean in verdict._window_means([1.0, math.inf, 2.0, 3.0], 2)] == [True, True, False]
    assert verdict._window_means([1.0], 2) == []


def test_a_long_run_is_judged_at_once():
    """200,000 steps in 0.2 s of the processor, measured; a mean of each window anew takes 4 s."""
    steps = {step: falls(step) + 0.01 * math.sin(step) for step in range(200_000)}
    begin = time.process_time()
    assert verdict.find_parting(steps, steps) is None
    assert time.process_time() - begin < 2


def test_metrics_have_a_direction():
    one = course(falls, accuracy=lambda step: 0.8, perplexity=lambda step: 10.0)
    other = course(falls, accuracy=lambda step: 0.7, perplexity=lambda step: 9.0)
    worse = {each.name: each.outcome for each in judge_run(one, other).quantities}
    assert worse == {"loss": "within 1 %", "accuracy": "over 5 % worse", "perplexity": "within 1 %"}
    assert judge_run(one, other).text.startswith("over 5 % worse: accuracy 0.7 beside 0.8, 13 % worse")
    assert verdict.lower_is_better("val/loss") and not verdict.lower_is_better("classes")


def test_nothing_in_common():
    with pytest.raises(mpopt.Error, match="neither a loss nor a metric in common"):
        judge_run(REFERENCE, History([{"step": 0}], [], [], [0], None))


def train(path, half=False, seed=0, rate=0.05, steps=200, loss=trainings.classify) -> None:
    model = mlp()
    if seed:
        torch.manual_seed(seed)
        for module in model:
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()
    blobs = Blobs()
    blobs._centres = blobs._centres / 3
    optimizer = torch.optim.SGD(model.parameters(), rate)
    training = Training(model, blobs, loss, optimizer, None, torch.bfloat16 if half else None)
    with Monitor(model, optimizer, record=path, sinks=[], config="none") as monitor:
        for step in range(steps):
            value, = training.run(1, begin=step)
            monitor.step(loss=value, metrics={"accuracy": torch.tensor(1 / (1 + value)), "share": 0.5})


def test_trainings(tmp_path, capsys):
    """BF16, and FP32 with another seed, are no fault; a rate that is too small is one."""
    paths = {name: tmp_path / f"{name}.mprec" for name in ("fp32", "bf16", "seed", "slow")}
    train(paths["fp32"])
    train(paths["bf16"], half=True)
    train(paths["seed"], seed=7)
    train(paths["slow"], rate=1e-4)
    assert judge_run(paths["fp32"], paths["bf16"]).type == 0
    assert judge_run(paths["fp32"], paths["seed"], paths["seed"]).type == 0
    judged = judge_run(paths["fp32"], paths["slow"], paths["seed"])
    assert judged.type == 2 and judged.outcome == "does not converge" and judged.parted is not None
    read = history.read(paths["fp32"]).steps[-1]["metrics"]
    assert set(read) == {"accuracy", "share"} and 0 < read["accuracy"] < 1

    def command(*words):
        return main(list(map(str, words))), capsys.readouterr().out

    status, text = command(paths["fp32"], paths["slow"], "--noise", paths["seed"])
    assert status == 1 and text.startswith("type 2: does not converge")
    status, text = command(paths["fp32"], paths["bf16"], "--format", "json")
    assert status == 0 and json.loads(text)["type"] == 0
    for name, noise in (("slow", None), ("bf16", None), ("seed", "seed")):
        judged = judge_run(paths["fp32"], paths[name], noise and paths[noise])
        changed = mpopt.diff(paths["fp32"], paths[name], noise=noise and paths[noise])
        assert changed.verdict == judged.as_dict()
        words = f"type {judged.type}: " if judged.type else "as good: "
        assert f"{words}{judged.text}" in " ".join(str(changed).split())
    told = ["--diff", paths["fp32"], paths["slow"]]
    assert run_mpopt(*told).returncode == 1 and run_mpopt(*told, "--fail-on", "never").returncode == 0
    done = run_mpopt(*told, "--noise", tmp_path / "none.mprec")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    history.path_of(paths["slow"]).unlink()
    assert mpopt.diff(paths["fp32"], paths["slow"]).verdict == {"unknown": f"there is no '{history.path_of(paths['slow'])}'"}
    assert command(paths["fp32"], tmp_path / "none.mprec")[0] == 2 and command("--what")[0] == 2


def test_page_of_two_runs(tmp_path):
    from mpopt.view import sources
    paths = [tmp_path / "a.mprec", tmp_path / "b.mprec"]
    train(paths[0], steps=40)
    train(paths[1], half=True, steps=40)
    page, = [report for report in sources.Sources(paths).document()["reports"] if "courses" in report]
    assert set(page["courses"]["curves"]) == {"loss", "accuracy", "share"}
    assert [len(points) for points in page["courses"]["curves"]["loss"]] == [40, 40]
    assert page["courses"]["verdict"]["type"] == 0

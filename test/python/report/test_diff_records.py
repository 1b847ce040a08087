"""--diff of two records: what two runs confirmed, and what they saw."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy
import onnx
import pytest
from page_models import WIDTH, layers
from test_diff import converted, diff
from tool import run_mpopt

onnxruntime = pytest.importorskip("onnxruntime")
import mpopt  # noqa: E402


def run(model: Path, *, rows: int = 4, width: int = WIDTH, scale: float = 1.0, options=("--precision", "fp16")) -> Path:
    """The record of three batches of a model that was instrumented, in a folder of its own."""
    folder = model.parent / model.stem
    folder.mkdir(exist_ok=True)
    probed = folder / "probed.onnx"
    done = run_mpopt("--instrument", model, "-o", probed, "--probe", "all", *options)
    assert done.returncode == 0, done.stderr
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    record = folder / "run.mprec"
    session = mpopt.probe_session(probed, record=record, sess_options=settings)
    for seed in range(3):
        session.run(None, {"x": numpy.random.default_rng(seed).normal(0, scale, (rows, width)).astype(numpy.float32)})
    session.recorder.close()
    return record


def renamed(model: Path, path: Path) -> Path:
    loaded = onnx.load(model)
    for node in loaded.graph.node:
        node.name = "other" + node.name.replace("/", "_")
        for values in (node.input, node.output):
            for index, value in enumerate(values):
                values[index] = value if value in ("x", "y") else f"t.{value}"
    for weight in loaded.graph.initializer:
        weight.name = f"t.{weight.name}"
    onnx.save(loaded, path)
    return path


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    plain = layers(folder / "plain.onnx", 64)
    return {"plain": run(plain), "renamed": run(renamed(plain, folder / "renamed.onnx")),
            "large": run(layers(folder / "large.onnx", 64, large=3))}


def test_names_do_not_matter(records):
    status, report = diff(records["plain"], records["renamed"])
    assert status == 0 and report["a"]["kind"] == report["b"]["kind"] == "record"
    assert report["matched"] == report["a"]["ops"] == report["b"]["ops"] > 60
    assert not any(report[key] for key in ("came", "went", "dtypes", "ranges", "only_a", "only_b", "wide", "narrowed"))


def test_the_layer_that_changed_is_found(records):
    status, report = diff(records["renamed"], records["large"])
    assert status == 1
    assert {entry["rule"] for entry in report["came"] if entry["severity"] == "error"} == {"MP201"}
    assert all("layer.3" in entry["tensor"] for entry in report["came"])
    # Of eight equal layers the fourth: the others keep their partners.
    assert [op["type"] for op in report["only_a"]] == ["Tanh"] and [op["type"] for op in report["only_b"]] == ["Mul"]
    assert "layer.3" in report["only_a"][0]["name"] and "layer.3" in report["only_b"][0]["name"]
    [gain] = [pair for pair in report["ranges"] if "layer.3/norm" in pair["b"]["name"]]
    assert gain["b"]["seen"]["hi"] > 1000 * gain["a"]["seen"]["hi"] > 0
    back_status, back = diff(records["large"], records["renamed"])
    assert back_status == 0 and {entry["fingerprint"] for entry in back["went"]} == {entry["fingerprint"] for entry in report["came"]}


def test_what_the_other_run_did_not_confirm_is_said(records, tmp_path):
    """The same model on a hundredth of the input: the overflow is refuted, not gone."""
    small = run(layers(tmp_path / "small.onnx", 64, large=3), scale=0.0)
    _, report = diff(records["large"], small)
    [overflow] = [entry for entry in report["went"] if entry["rule"] == "MP201"]
    assert overflow["elsewhere"] == "refuted"
    text = run_mpopt("--diff", records["large"], small).stdout
    assert "refuted by the other" in text and "confirmed findings: " in text


def test_a_converter_is_judged_by_its_run(tmp_path):
    original = run(converted(tmp_path / "original.onnx", ()), rows=2, width=8)
    careful = run(converted(tmp_path / "careful.onnx", ("Sigmoid1", "MatMul2")), rows=2, width=8, options=("--precision", "as-is"))
    _, report = diff(original, careful)
    assert {pair["b"]["name"] for pair in report["wide"]} == {"Sigmoid1", "MatMul2"} and not report["narrowed"]
    assert {(pair["a"]["dtype"], pair["b"]["dtype"]) for pair in report["dtypes"]} == {("f32", "f16")}
    assert report["b"]["casts"] > report["a"]["casts"] == 0
    # The identity at the end is a cast in the other.
    assert [op["type"] for op in report["only_a"]] == ["Identity"] and not report["only_b"] and not report["ranges"]


def train(record: Path, *, factor: float = 1.0, scale: float = 1.0, seed: int = 1) -> Path:
    """The record of four steps of a small network whose second weight, and whose inputs, are multiplied."""
    torch = pytest.importorskip("torch")
    import logging

    from mpopt.monitor import Monitor

    logging.getLogger("mpopt.monitor").setLevel(logging.CRITICAL)
    record.parent.mkdir(exist_ok=True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))
    with torch.no_grad():
        model[2].weight.mul_(factor)
    draw = torch.Generator().manual_seed(seed)
    with Monitor(model, record=record, periods={"value": 1, "gradient": 1}) as monitor:
        for _ in range(4):
            model(scale * torch.randn(4, 8, generator=draw)).square().mean().backward()
            monitor.step()
    return record


def test_records_of_a_training_go_by_names(tmp_path):
    one, other = train(tmp_path / "one.mprec"), train(tmp_path / "other.mprec", factor=64.0)
    _, report = diff(one, other)
    assert report["matched"] == report["a"]["ops"] > 4
    moved = {(pair["b"]["name"], pair["b"].get("gradient", False)) for pair in report["ranges"]}
    assert ("2", False) in moved and ("0", False) not in moved and any(gradient for _, gradient in moved)
    assert "matched by name" in run_mpopt("--diff", one, other).stdout


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Folders of the records of two ranks: in the second run the second rank's inputs are larger."""
    folder = tmp_path_factory.mktemp("ranks")
    for run_name, scales in (("before", (1.0, 1.0)), ("after", (1.0, 64.0))):
        for rank, scale in enumerate(scales):
            train(folder / run_name / f"run-{rank}.mprec", scale=scale, seed=rank)
    return folder / "before", folder / "after"


def without_places(report: dict) -> dict:
    return {key: {**value, "path": "", "records": []} if key in ("a", "b") else value for key, value in report.items()}


def test_ranks_are_merged(ranks):
    before, after = ranks
    _, first = diff(before / "run-0.mprec", after / "run-0.mprec")
    assert not first["ranges"]
    _, report = diff(before, after)
    assert report["matched"] == report["a"]["ops"] == first["matched"]
    assert [Path(path).name for path in report["b"]["records"]] == ["run-0.mprec", "run-1.mprec"]
    moved = {pair["b"]["name"]: pair for pair in report["ranges"] if not pair["b"].get("gradient")}
    assert {"0", "1", "2"} <= set(moved)
    _, second = diff(before / "run-1.mprec", after / "run-1.mprec")
    alone = {pair["b"]["name"]: pair for pair in second["ranges"] if not pair["b"].get("gradient")}
    assert moved["2"]["b"]["seen"] == alone["2"]["b"]["seen"]
    # Files one by one are the same, and so is a folder with its slash.
    pairs = [["--against", after / f"run-{rank}.mprec"] for rank in (0, 1)]
    _, files = diff(before / "run-0.mprec", before / "run-1.mprec", *pairs[0], *pairs[1])
    assert without_places(files) == without_places(report)
    _, mixed = diff(f"{before}/", f"{after}/")
    assert without_places(mixed) == without_places(report)


def test_ranks_in_each_form(ranks):
    before, after = ranks
    text = run_mpopt("--diff", before, after).stdout
    assert f"- {before}: " in text and text.count("2 records") == 2 and "seen ranges that changed" in text
    files = run_mpopt("--diff", before / "run-0.mprec", before / "run-1.mprec", "--against", after, "--format", "markdown").stdout
    assert "run-0.mprec and 1 more" in files and "2 records" in files
    page = run_mpopt("--diff", before, after, "--format", "html")
    assert page.returncode == 0 and page.stdout.startswith("<!doctype html>")


def refused(*arguments) -> str:
    done = run_mpopt("--diff", *arguments)
    assert done.returncode == 2 and not done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("mpopt: error: ")
    return line


def test_bad_records_are_one_line(records, tmp_path):
    plain, large = records["plain"], records["large"]
    lonely = tmp_path / "lonely.mprec"
    shutil.copy(plain, lonely)
    assert "its ledger" in refused(lonely, large) and "its ledger" in refused(large, lonely)
    # A ledger that is named will do; that of another model will not.
    ledger = plain.with_name("probed.onnx.probes.json")
    done = run_mpopt("--diff", lonely, large, "--ledger", ledger, "--format", "json")
    assert done.returncode == 1 and json.loads(done.stdout)["came"]
    assert run_mpopt("--diff", large, lonely, "--against-ledger", ledger).returncode == 0
    assert "its ledger" in refused(lonely, large, "--ledger", large.with_name("probed.onnx.probes.json"))
    cut = tmp_path / "cut.mprec"
    cut.write_bytes(plain.read_bytes()[:60])
    assert "cut.mprec" in refused(cut, large)
    assert "is a record and" in refused(plain, plain.parent.with_suffix(".onnx"))
    assert "option of the judgement" in refused(plain, large, "--precision", "bf16")
    assert "go with records" in refused(plain.parent.with_suffix(".onnx"), plain.parent.with_suffix(".onnx"), "--ledger", ledger)
    output = tmp_path / "nosuch" / "out.html"
    assert "out.html" in refused(plain, large, "--format", "html", "-o", output)


@pytest.mark.parametrize("form", ["text", "markdown", "json", "html"])
def test_forms(records, tmp_path, form):
    output = tmp_path / "out"
    done = run_mpopt("--diff", records["plain"], records["large"], "--format", form, "-o", output)
    assert done.returncode == 1 and not done.stdout, done.stderr
    text = output.read_text(encoding="utf-8")
    assert "MP201" in text or form == "html"


def test_bad_ranks_are_one_line(ranks, records, tmp_path):
    before, after = ranks
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no record" in refused(empty, after) and "has no record" in refused(before, empty)
    model = records["plain"].parent.with_suffix(".onnx")
    assert "is a folder of records and" in refused(before, model)
    assert "--diff A... --against B" in refused(before, after, after)
    assert "is no record" in refused(model, model, "--against", model)
    assert "--against: --diff needs a file" in refused(before, "--against", "-")
    assert "was given already" in refused(before, before / "run-0.mprec", "--against", after)
    mixed = tmp_path / "mixed"
    shutil.copytree(before, mixed)
    shutil.copy(records["plain"], mixed / "run-2.mprec")
    assert "run-2.mprec: is a record of another ledger" in refused(mixed, after)
    (mixed / "run-2.mprec").write_bytes((before / "run-0.mprec").read_bytes()[:60])
    assert "run-2.mprec" in refused(after, mixed)
    kept = (mixed / "run-1.mprec").read_bytes()
    (mixed / "run-2.mprec").unlink()
    assert "would overwrite" in refused(mixed, after, "-o", mixed / "run-1.mprec")
    assert "nosuch: cannot be read" in refused(tmp_path / "nosuch", after)
    assert (mixed / "run-1.mprec").read_bytes() == kept

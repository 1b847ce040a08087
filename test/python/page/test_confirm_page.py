"""`--confirm --format html`: predictions beside what was seen."""

from __future__ import annotations

import pathlib
import shutil

import numpy
import pytest
from browser import Page, driver  # noqa: F401: a fixture
from page_models import WIDTH, layers
from test_report import document, is_clean
from tool import run_mpopt

from mpopt import Error
from mpopt.view import Sources, write

onnxruntime = pytest.importorskip("onnxruntime")
import mpopt  # noqa: E402


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("confirm")
    model, probed = layers(folder / "model.onnx", 64, large=3), folder / "probed.onnx"
    done = run_mpopt("--instrument", model, "-o", probed, "--precision", "fp16", "--probe", "all")
    assert done.returncode == 0, done.stderr
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = mpopt.probe_session(probed, record=folder / "run.mprec", sess_options=settings)
    for seed in range(3):
        session.run(None, {"x": numpy.random.default_rng(seed).normal(0, 1, (4, WIDTH)).astype(numpy.float32)})
    session.recorder.close()
    file = folder / "confirmed.html"
    done = run_mpopt("--confirm", folder / "run.mprec", "--ledger", f"{probed}.probes.json", "--format", "html", "-o", file, "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    return file


def test_map_has_what_was_seen(confirmed):
    held = document(confirmed.read_text(encoding="utf-8"))
    assert held["kind"] == "confirm"
    report, seen = held["reports"][0], held["reports"][0]["map"]["seen"]
    assert report["confirmation"]["ran"] == sum(each is not None for each in seen) > 60
    for each in seen:
        if each and each["exponents"]:
            assert sum(each["exponents"][1:]) == each["count"] - each["zero"] - each["nan"] - each["inf"]
            exponents = each["exponents"]
            # The ends of the histogram are those of the values.
            assert 2. ** exponents[0] <= each["min_nonzero"] < 2. ** (exponents[0] + 1)
            last = exponents[0] + len(exponents) - 2
            assert 2. ** last <= each["absmax"] < 2. ** (last + 1)


def test_statuses_are_shown_and_filtered(driver, confirmed):
    page = Page(driver, confirmed.as_uri())
    report = document(confirmed.read_text(encoding="utf-8"))["reports"][0]
    text = page.text()
    assert "probes ran" in text and f"{report['confirmation']['confirmed']} confirmed" in text
    page.go("findings")
    shown = page.run("return document.querySelectorAll('details.finding').length")
    page.find("[data-filter=confirmed]").click()
    assert page.run("return document.querySelectorAll('details.finding').length") < shown
    page.find("[data-filter=confirmed]").click()
    page.find("details.finding summary").click()
    page.wait("return document.querySelector('details.finding .facts')")
    assert "In the run" in page.text("details.finding") and "Range seen" in page.text("details.finding")
    page.go("map")
    assert page.find("#map-mode").get_attribute("value") == "seen-overflow"
    page.go("exponents")
    page.frame()
    for link in ("verdict", "findings", "map", "exponents"):
        page.go(link)
        assert page.violations() == [], link
    is_clean(page)


def run(folder, name, *, large=None, scale=1.):
    """The record of a model with one more, or other, values, and its ledger."""
    probed = folder / f"{name}.probed.onnx"
    done = run_mpopt("--instrument", layers(folder / f"{name}.onnx", 64, large=large), "-o", probed, "--precision", "fp16", "--probe", "all")
    assert done.returncode == 0, done.stderr
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = mpopt.probe_session(probed, record=folder / f"{name}.mprec", sess_options=settings)
    for seed in range(3):
        session.run(None, {"x": numpy.random.default_rng(seed).normal(0, scale, (4, WIDTH)).astype(numpy.float32)})
    session.recorder.close()
    return folder / f"{name}.mprec", f"{probed}.probes.json"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return run(folder, "plain"), run(folder, "large", large=3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_two_records_are_compared(driver, runs, tmp_path, theme):
    (one, _), (other, _) = runs
    file = tmp_path / "diff.html"
    done = run_mpopt("--diff", one, other, "--format", "html", "-o", file)
    assert done.returncode == 1, done.stderr
    held = document(file.read_text(encoding="utf-8"))
    before, after = held["reports"]
    assert after["compare"]["came"] and before["title"] == "plain.mprec" and before["map"]["seen"] and after["map"]["seen"]
    page = Page(driver, file.as_uri())
    page.run("if (document.documentElement.dataset.theme !== arguments[0]) document.getElementById('theme').click()", theme)
    text = page.text()
    assert "confirmed finding" in text and "Seen ranges that changed" in text and "No longer recorded: 1" in text and "MP201" in text
    assert page.violations() == []
    # From a finding that came to all that is known of it.
    page.find(".change button").click()
    assert page.run("return document.getElementById('page-findings').hidden") is False
    assert page.run("return document.querySelectorAll('details.finding[open]').length") == 1
    for link in page.run("return [...document.querySelectorAll('#pages a')].map((link) => link.id.slice(3))"):
        page.go(link)
        page.frame()
    # The other side is whole, too.
    page.find("#model option").click()
    page.go("verdict")
    assert "probes ran" in page.text()
    is_clean(page)


def test_a_run_is_held_against_another(driver, runs, tmp_path):
    (one, ledger), (other, other_ledger) = runs
    file = tmp_path / "against.html"
    done = run_mpopt("--confirm", one, "--ledger", ledger, "--against", other, "--against-ledger", other_ledger, "--format", "html", "-o", file, "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    against = document(file.read_text(encoding="utf-8"))["reports"][0]["against"]
    [first] = [entry for entry in against["differences"] if "message" in entry]
    page = Page(driver, file.as_uri())
    text = page.text()
    assert page.find("#pages a[aria-current]").text == "Compare"
    assert f"The first that differs by more than its format explains is {first['tensor']}" in text and "not explained" in text
    assert len(page.all("#page-compare tbody tr")) == len(against["differences"])
    assert page.violations() == []
    page.go("verdict")
    assert "probes ran" in page.text()
    is_clean(page)


def test_two_models_are_compared(driver, tmp_path):
    one, other = layers(tmp_path / "one.onnx", 64), layers(tmp_path / "other.onnx", 96, large=3)
    file = tmp_path / "diff.html"
    done = run_mpopt("--diff", one, other, "--precision", "fp16", "--format", "html", "-o", file)
    assert done.returncode == 1, done.stderr
    diff = document(file.read_text(encoding="utf-8"))["reports"][1]["compare"]
    page = Page(driver, file.as_uri())
    text = page.text()
    assert f"New ops: {len(diff['only_b'])}" in text and f"Findings that came: {len(diff['came'])}" in text
    assert len(page.all("#page-compare .change")) == len(diff["came"]) + len(diff["went"])
    assert page.violations() == []
    for link in ("verdict", "findings", "map", "exponents"):
        page.go(link)
        page.frame()
    is_clean(page)


def test_records_of_an_instrumented_model_are_viewed(driver, runs, tmp_path):
    """By themselves, and again where they grew; one whose ledger is gone is an error if it was named."""
    (one, ledger), _ = runs
    write([one], tmp_path / "view.html")
    report = document((tmp_path / "view.html").read_text(encoding="utf-8"))["reports"][0]
    assert report["title"] == "plain" and report["confirmation"]["ran"] > 60 and report["map"]["seen"]
    page = Page(driver, (tmp_path / "view.html").as_uri())
    assert "probes ran" in page.text(".verdict")
    is_clean(page)
    inside = tmp_path / "inside"
    inside.mkdir()
    for file in (one, ledger):
        shutil.copy(file, inside)
    sources = Sources([inside])
    before = sources.version()
    assert [each["title"] for each in sources.document()["reports"]] == ["plain"]
    (inside / one.name).write_bytes(one.read_bytes() + b"\0")
    assert sources.version() != before and sources.document()["reports"]
    (inside / pathlib.Path(ledger).name).unlink()
    with pytest.raises(Error, match="ledger"):
        write([inside / one.name], tmp_path / "none.html")

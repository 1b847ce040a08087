"""`--confirm --format html`: predictions beside what was seen."""

from __future__ import annotations

import numpy
import pytest
from browser import Page, driver  # noqa: F401: a fixture
from page_models import WIDTH, layers
from test_report import document, is_clean
from tool import run_mpopt

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

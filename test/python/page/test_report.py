"""`--format html`: one file with the report in it, in a real browser."""

from __future__ import annotations

import base64
import json
import re
import zlib

import numpy
import onnx
import pytest
from browser import Page, driver  # noqa: F401: a fixture
from onnx import TensorProto, helper, numpy_helper
from page_models import EVERYTHING, HOSTILE, folder, hostile, layers, report, small, trained  # noqa: F401: fixtures
from tool import BUILD, ROOT, run_mpopt

def document(text: str) -> dict:
    """The JSON in a page."""
    data = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', text)
    return json.loads(zlib.decompress(base64.b64decode(data.group(1))))


# -- The file ---------------------------------------------------------------------------------


def test_holds_what_json_has(folder, small):
    done = run_mpopt("--check", folder / "small.onnx", *EVERYTHING, "--precision", "fp16", "--format", "json")
    plain, held = json.loads(done.stdout), document(small.read_text(encoding="utf-8"))
    assert held["schema"] == "mpopt-page/1" and held["kind"] == "check"
    inside = held["reports"][0]
    assert {key: inside[key] for key in plain} == plain
    assert {finding["rule"] for finding in plain["findings"]} <= {rule["id"] for rule in held["rules"]}
    lengths = {key: len(column) for key, column in inside["map"].items()}
    assert len(set(lengths.values())) == 1 and lengths["tensor"] >= 64


def test_map_agrees_with_the_ranges(folder, small):
    """Bounds of the map are those of `--dump-ranges`, to the digits that it keeps."""
    ranges = folder / "ranges.json"
    run_mpopt("--check", folder / "small.onnx", *EVERYTHING, "--precision", "fp16", "--dump-ranges", ranges, "-o", "/dev/null")
    tensors = json.loads(ranges.read_text())["tensors"]
    held = document(small.read_text(encoding="utf-8"))["reports"][0]["map"]
    assert len(held["tensor"]) > 60
    for at, name in enumerate(held["tensor"]):
        for key in ("lo", "hi"):
            assert float(held[key][at]) == pytest.approx(float(tensors[name][key]), rel=1e-5), name
        assert held["dtype"][at] == tensors[name]["dtype"]
        shares = held["exponents"][at]
        if shares:
            assert sum(shares[1:]) == pytest.approx(1, abs=1e-3)
        assert all(operand < at for operand in held["operands"][at])


def test_several_models_and_none_that_can_be_read(folder, small):
    broken = folder / "broken.onnx"
    broken.write_bytes(b"no model")
    both = folder / "both.html"
    done = run_mpopt("--check", folder / "small.onnx", folder / "small.onnx", broken, "--fail-on", "never", "--format", "html", "-o", both)
    assert done.returncode == 2 and len(document(both.read_text(encoding="utf-8"))["reports"]) == 2
    alone = folder / "alone.html"
    done = run_mpopt("--check", broken, "--format", "html", "-o", alone)
    assert done.returncode == 2 and not alone.exists()


def test_names_no_other_host(small):
    text = small.read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href|action|poster|data)\s*=\s*["'`]?\s*(?:[a-z]+:)?//""", text, re.I)
    assert not re.search(r"""url\(|@import|import\s*\(|\bfetch\(\s*["'`]|XMLHttpRequest\(\)\s*\.\s*open""", text.split("<script>")[0])
    own = text.rsplit("<script>", 1)[1]
    assert set(re.findall(r"https?://[\w./-]+", own)) <= {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in text and "unsafe-inline'; img" in text


def test_policy_allows_these_scripts_alone(small):
    import hashlib

    text = small.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == 2
    for script in scripts:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    # Libraries: everything that is not the report's own script.
    assert len(scripts[0]) < 1_000_000
    assert (BUILD / "share" / "page.html").read_text(encoding="utf-8") == \
        text.replace(re.search(r'id="data">([^<]*)<', text).group(1), "<!-- data -->", 1)


def test_size_of_two_thousand_ops(folder):
    file = report(layers(folder / "two.onnx", 2000, large=100), folder, "--precision", "fp16")
    assert file.stat().st_size < 2_000_000


# -- In the browser ---------------------------------------------------------------------------


@pytest.fixture()
def page(driver, small):
    return Page(driver, small.as_uri())


def is_clean(page):
    assert page.errors() == []
    assert page.requests() == []


def test_verdict_says_what_breaks(page):
    text = page.text("#page-verdict")
    assert "fp16" in text and "To do" in text and "Open" in text
    assert page.find(".verdict").get_attribute("class").endswith("bad")
    chips = page.all(".chip")
    assert len(chips) == 1 and "default" in chips[0].get_attribute("class") and "x" in chips[0].text
    is_clean(page)


def listed(page):
    return page.run("return [...document.querySelectorAll('details.finding')].map((item) => item.querySelector('.badge').textContent)")


def test_filters_of_findings(page, small):
    findings = document(small.read_text(encoding="utf-8"))["reports"][0]["findings"]
    page.go("findings")
    everything = listed(page)
    assert everything == sorted(everything, key=["error", "warning", "note"].index)
    page.find("[data-filter=note]").click()
    assert "note" not in listed(page) and listed(page)
    page.find("[data-filter=error]").click()
    page.find("[data-filter=warning]").click()
    assert listed(page) == [] and "No finding is like that" in page.text("#finding-list")
    for severity in ("note", "error", "warning"):
        page.find(f"[data-filter={severity}]").click()
    assert listed(page) == everything
    rule = findings[-1]["rule"]
    page.find(f"#filter-rule option[value={rule}]").click()
    assert set(page.run("return [...document.querySelectorAll('details.finding b')].map((each) => each.textContent)")) == {rule}
    page.find("#filter-rule option").click()
    page.find("#filter-text").send_keys("LAYER.3/output/Mul")
    assert "layer.3/output/Mul" in page.text("#finding-list") and len(listed(page)) < len(everything)
    is_clean(page)


def test_finding_opens_with_its_chain_fixes_and_rule(page):
    page.go("findings")
    page.find("#filter-text").send_keys("layer.3/output/Mul")
    item = page.find("details.finding")
    item.find_element("css selector", "summary").click()
    page.wait("return document.querySelector('details.finding .facts')")
    assert "Bound" in item.text and "Fingerprint" in item.text
    rules = item.find_elements("css selector", "details.rule")
    rules[-1].find_element("css selector", "summary").click()
    page.wait("return [...document.querySelectorAll('details.rule h4')].some((each) => each.textContent === 'Why it matters')")
    item.find_element("xpath", ".//button[text()='Show on the map']").click()
    page.wait("return !document.getElementById('page-map').hidden")
    assert page.all(".node.chain") and "layer.3/output/Mul" in page.text(".panel")
    is_clean(page)


def test_map_by_mouse_and_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.go("map")
    assert "# × 7" in page.run("return document.querySelector('#page-map svg').textContent")
    page.find("#map-fold").click()
    assert "# × 7" not in page.run("return document.querySelector('#page-map svg').textContent")
    page.find("#map-fold").click()
    before = page.run("return document.querySelectorAll('.node').length")
    page.all(".node.module")[-1].click()
    assert page.run("return document.querySelectorAll('.node').length") < before
    assert len(page.all(".crumbs li")) > 1
    page.find(".crumbs button").click()
    assert page.run("return document.querySelectorAll('.node').length") == before
    selected = page.find(".node[aria-selected=true]")
    page.run("arguments[0].focus()", selected)
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN):
        page.driver.switch_to.active_element.send_keys(key)
    active = page.run("return document.activeElement.getAttribute('aria-label')")
    assert active and page.run("return document.activeElement.getAttribute('aria-selected')") == "true"
    page.find("#map-find").send_keys("layer.3/output/Mul", Keys.TAB)
    assert "Mul" in page.text(".panel") and "Room in bits" in page.text(".panel")
    page.find("#map-mode option[value=expected-flush]").click()
    page.find("#map-format option[value=f8E4M3FN]").click()
    assert "bits" in page.text(".panel")
    is_clean(page)


def test_headroom_is_what_the_bounds_say(page, small):
    """The op that multiplies by 3000 and squares: its room is log2(65504 / bound)."""
    import math

    held = document(small.read_text(encoding="utf-8"))["reports"][0]["map"]
    at = held["tensor"].index("/model/encoder/layer.3/output/Mul_output_0")
    largest = max(abs(float(held["lo"][at])), abs(float(held["hi"][at])))
    page.go("map")
    page.find("#map-find").send_keys("/model/encoder/layer.3/output/Mul_output_0\t")
    rows = page.run("return [...document.querySelectorAll('.panel tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    proved = {row[0]: row[2] for row in rows}
    assert float(proved["FP16"].replace("−", "-")) == pytest.approx(math.log2(65504 / largest), abs=.06)
    assert float(proved["E4M3"].replace("−", "-")) == pytest.approx(math.log2(448 / largest), abs=.06)


def test_slider_moves_what_is_lost(driver, trained):
    page = Page(driver, trained.as_uri())
    gradients = document(trained.read_text(encoding="utf-8"))["reports"][0]["training"]["gradients"]
    page.go("exponents")

    def lost(scale):
        page.run("const slider = document.getElementById('loss-scale'); slider.value = arguments[0];"
                 "slider.dispatchEvent(new Event('input'))", scale)
        return page.text("[data-format=f16] b")

    shares = {scale: lost(scale) for scale in (-8, 0, 16, 30)}
    assert f"2^{30}" in page.text("output")
    weight = [size_of(each) * (1 - each["likely"]["zero"]) for each in gradients]
    for scale in (0, 16):
        flushed = [sum(share for exponent, share in each["likely"]["hist"].items() if int(exponent) + scale < -25)
                   / sum(each["likely"]["hist"].values()) for each in gradients]
        mean = sum(map(lambda pair: pair[0] * pair[1], zip(flushed, weight, strict=True))) / sum(weight)
        if mean < 1e-4:
            assert shares[scale] in ("0 %", "< 0.01 %")
        else:
            assert float(shares[scale].split()[0]) == pytest.approx(100 * mean, rel=.06)
    assert shares[-8] != shares[16]
    page.find("input[value=values]").click()
    assert not page.find("#loss-scale").is_displayed()
    is_clean(page)


def size_of(gradient):
    size = 1
    for dim in gradient["shape"]:
        size *= max(1, dim)
    return size


def test_heat_map_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.go("exponents")
    page.frame()
    page.run("document.querySelector('.rows').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.PAGE_DOWN)
    assert "in [2^" in page.text(".readout")
    painted = page.run("const canvas = document.querySelector('.rows canvas'); const data = canvas.getContext('2d')"
                       ".getImageData(0, 0, canvas.width, canvas.height).data; const seen = new Set();"
                       "for (let at = 0; at < data.length; at += 4) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);"
                       "return seen.size")
    assert painted > 10
    is_clean(page)


def test_says_why_no_finding_is_listed(driver, folder):
    """A square that bounds alone let overflow: certain findings, or likely ones, there are none."""
    nodes = [helper.make_node("Mul", ["x", "x"], ["square"], name="square")]
    model = helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("square", TensorProto.FLOAT, [4])]),
        ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder / "unlisted.onnx")
    file = folder / "unlisted.html"
    done = run_mpopt("--check", folder / "unlisted.onnx", "--precision", "fp16", "--input", "x=-1000:1000",
                     "--input", "x~0,1",
                     "--format", "html", "-o", file)
    assert done.returncode == 0, done.stderr
    held = document(file.read_text(encoding="utf-8"))["reports"][0]
    assert not held["findings"] and held["summary"]["possible"] > 0
    page = Page(driver, file.as_uri())
    assert "less certain than asked for" in page.text() and "Look at them" not in page.text()
    page.go("findings")
    assert "--min-certainty possible" in page.text()
    is_clean(page)


def test_tensors_without_a_name_are_told_apart(driver, folder):
    """The importer makes many ops of an LSTM."""
    hidden, width = 4, 3
    weights = [numpy_helper.from_array(numpy.full((1, 4 * hidden, size), .1, numpy.float32), key)
               for key, size in (("w", width), ("r", hidden))]
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="cell", hidden_size=hidden)], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [5, 1, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [5, 1, 1, hidden])], weights)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), folder / "lstm.onnx")
    file = report(folder / "lstm.onnx", folder, "--precision", "fp16")
    held = document(file.read_text(encoding="utf-8"))["reports"][0]["map"]
    assert held["tensor"].count("") >= 2
    page = Page(driver, file.as_uri())
    page.go("map")
    labels = [label for label in page.run("return [...document.querySelectorAll('#page-map svg text')].map((each) => each.textContent)") if "#" in label]
    assert len(labels) >= 2 and len(set(labels)) == len(labels)
    is_clean(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_barriers(driver, small, trained, theme):
    for file in (small, trained):
        page = Page(driver, file.as_uri())
        page.run("if (document.documentElement.dataset.theme !== arguments[0]) document.getElementById('theme').click()", theme)
        for link in page.run("return [...document.querySelectorAll('#pages a')].map((link) => link.id.slice(3))"):
            page.go(link)
            for summary in page.all("details.finding summary")[:1] if link == "findings" else ():
                summary.click()
                # Its content comes with an event of its own, which frames need not wait for.
                page.wait("return document.querySelector('details.finding[open] .facts')")
            page.frame()
            assert page.violations() == [], (file.name, link)
        is_clean(page)


def test_prints_every_page(page):
    shown = page.run("window.dispatchEvent(new Event('beforeprint'));"
                     "const shown = [...document.querySelectorAll('main > section')].map((each) => [each.id, each.hidden, each.innerText.length > 20]);"
                     "window.dispatchEvent(new Event('afterprint')); return shown")
    assert [entry[0] for entry in shown] == ["page-verdict", "page-findings", "page-map", "page-exponents"]
    assert all(not hidden and filled for _, hidden, filled in shown)
    assert page.run("return [...document.querySelectorAll('main > section')].filter((each) => !each.hidden).length") == 1
    assert len(page.driver.print_page()) > 10_000


def test_hostile_names_are_text(driver, folder):
    """300 names with markup, scripts, marks that turn text around, and 4000 bytes of one letter, which
    is near what importers take."""
    file = report(hostile(folder / "hostile.onnx", 300), folder, "--precision", "fp16")
    text = file.read_text(encoding="utf-8")
    assert text.count("<script") == 3 and "executed" not in re.sub(r'id="data">[^<]*<', "", text)
    held = document(text)["reports"][0]["map"]
    assert any(name.endswith(HOSTILE[0]) for name in held["tensor"])
    page = Page(driver, file.as_uri())
    kinds = page.run("return [...new Set([...document.querySelectorAll('*')].map((each) => each.tagName))]")
    for link in page.run("return [...document.querySelectorAll('#pages a')].map((link) => link.id.slice(3))"):
        page.go(link)
        if link == "findings":
            page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page.frame()
            page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.frame()
        assert page.run("return document.querySelectorAll('iframe, img, base, object, embed, [onload], [onerror]').length") == 0
        assert page.run("return window.executed === undefined && !document.querySelector('main script, main style, main base')")
        # Marks that turn text around, and others that are not seen, are shown as escapes.
        assert page.run("return !/[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.body.innerText)")
    assert "SCRIPT" in kinds
    is_clean(page)


def test_hostile_names_of_two_models_are_text(driver, folder):
    """What came, went and is new, by the same names."""
    one, other = hostile(folder / "one.onnx", 150), hostile(folder / "other.onnx", 300)
    file = folder / "two.html"
    done = run_mpopt("--diff", one, other, "--precision", "fp16", *EVERYTHING, "--format", "html", "-o", file)
    assert done.returncode == 0, done.stderr
    assert document(file.read_text(encoding="utf-8"))["reports"][1]["compare"]["only_b"]
    page = Page(driver, file.as_uri())
    for button in page.all("#page-compare .card > div > button"):
        if button.is_displayed():
            button.click()
    assert page.run("return document.querySelectorAll('iframe, img, base, object, embed, [onload], [onerror]').length") == 0
    assert page.run("return window.executed === undefined && !document.querySelector('main script, main style, main base')")
    assert page.run("return !/[\\u202a-\\u202e\\u2066-\\u2069\\u200b]/.test(document.body.innerText)")
    is_clean(page)


@pytest.mark.parametrize("ops,seconds", [(2000, 5), (20000, 20)])
def test_large_models_are_quick(driver, folder, ops, seconds, record_property):
    """Limits are far above what is measured (docs/html.md), for machines that do other things."""
    import time

    file = report(layers(folder / f"large{ops}.onnx", ops, large=100), folder, "--precision", "fp16")
    begin = time.monotonic()
    page = Page(driver, file.as_uri())
    times = {"load": time.monotonic() - begin}
    for link in ("findings", "map", "exponents"):
        begin = time.monotonic()
        page.go(link)
        page.frame()
        times[link] = time.monotonic() - begin
    begin = time.monotonic()
    page.go("map")
    page.all(".node.module")[-1].click()
    page.frame()
    times["zoom"] = time.monotonic() - begin
    print({key: f"{value:.2f}" for key, value in times.items()}, file.stat().st_size)
    for key, value in times.items():
        record_property(key, value)
        assert value < seconds, times
    is_clean(page)


def test_verdict_is_that_of_the_text(driver, tmp_path):
    """What only bounds reach does not break a model whose estimates are fine; consequences are not counted twice."""
    # Bounds grow with each layer, estimates do not.
    rng, nodes, weights = numpy.random.default_rng(0), [], []
    for layer in range(12):
        weights.append(numpy_helper.from_array(
            (rng.standard_normal((64, 64)) * (2 / 64) ** 0.5).astype(numpy.float32), f"w{layer}"))
        nodes += [helper.make_node("MatMul", [f"x{layer}", f"w{layer}"], [f"y{layer}"], f"product{layer}"),
                  helper.make_node("Tanh" if layer == 11 else "Relu", [f"y{layer}"], [f"x{layer + 1}"], f"end{layer}")]
    floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 64]) for name in ("x0", "x12")]
    model = tmp_path / "deep.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "deep", floats[:1], floats[1:], weights),
                                     ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), model)
    options = ("--precision", "fp16", "--min-certainty", "possible", "--fail-on", "never")
    text = run_mpopt("--check", model, *options).stdout
    moved, = re.findall(r"is expected to change `x12` by ([\d.]+ %): fine", text)
    errors, follow = map(int, re.findall(r"^(\d+) errors? and (\d+) that follow", text, re.M)[0])
    file = tmp_path / "report.html"
    assert run_mpopt("--check", model, *options, "--format", "html", "-o", file).returncode == 0
    page = Page(driver, file.as_uri())
    said = page.text(".verdict")
    assert f"by {moved} of its largest value: fine." in said and "breaks" not in said
    assert [int(tile.text) for tile in page.all(".tile b")] == [errors, 0, 0] and f"{follow} more follow" in page.text()
    page.go("findings")
    assert f"{errors} finding of {errors + follow}" in page.text() or f"{errors} findings of {errors + follow}" in page.text()
    is_clean(page)


def test_what_a_project_bears_is_marked(driver, tmp_path):
    """A suppressed finding is listed with its reason, and is no part of the verdict."""
    model = layers(tmp_path / "model.onnx", 64, large=3)
    (tmp_path / "mpopt.toml").write_text('[[suppress]]\nrule = "MP201"\nreason = "clamped <b>behind</b> it"\n')
    file = tmp_path / "report.html"
    assert run_mpopt("--check", model, "--precision", "fp16", "--format", "html", "-o", file, "--fail-on", "never").returncode == 0
    page = Page(driver, file.as_uri())
    assert page.find(".tile b").text == "0" and "1 suppressed" in page.text()
    page.go("findings")
    item = page.all("details.finding")[-1]
    assert "suppressed" in item.text and "MP201" in item.text
    item.find_element("css selector", "summary").click()
    page.wait("return document.querySelector('details.finding[open] .facts')")
    assert "clamped <b>behind</b> it" in page.text("details.finding[open]")
    is_clean(page)

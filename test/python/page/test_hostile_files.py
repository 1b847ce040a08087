"""Files in a folder that is shown, which are broken: the page passes over them and says so; a page in a
file is never made of one."""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys

import histories
import pytest
from browser import Page, driver  # noqa: F401: a fixture
from page_models import classifier, layers
from test_report import document
from tool import ROOT, run_mpopt

from mpopt import Error
from mpopt.view import Sources, report_form, write

EVERYTHING = ("--min-certainty", "possible", "--fail-on", "never", "--format", "json")


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """A report with findings and one of a training, as text."""
    folder = tmp_path_factory.mktemp("reports")
    models = {"layers": (layers(folder / "layers.onnx", 64, large=3), "--precision", "fp16", "--safe-input"),
              "training": (classifier(folder / "training.onnx"), "--train", "--memory", "--optimizer", "adamw",
                           "--precision", "autocast-fp16", "--loss", "cross-entropy")}
    made = {}
    for name, (model, *options) in models.items():
        done = run_mpopt("--check", model, *options, *EVERYTHING)
        assert done.returncode == 0, done.stderr
        made[name] = done.stdout
    return made


REPORT = {"schema": "mpopt-report/1", "precision": "fp16", "findings": [], "coverage": {"ops": 1, "modelled": 1},
          "model": {"path": "m.onnx", "format": "onnx", "nodes": 1, "parameters": 0},
          "summary": {"error": 0, "warning": 0, "note": 0, "certain": 0, "likely": 0, "possible": 0, "tensors": 0, "proved": 0}}


def changed(**changes) -> bytes:
    return json.dumps({**REPORT, **changes}).encode()


MANY = b'{"schema": "mpopt-reports/1", "reports": '
BROKEN = {
    "empty": b"", "truncated": changed()[:-20], "not UTF-8": changed(precision="x").replace(b'"x"', b'"\xff"'),
    "nested": b"[" * 100_000, "nested and closed": b"[" * 5000 + b"]" * 5000,
    "nested in a report": changed(warnings=json.loads("[" * 200 + "]" * 200)),
    "NaN": changed(findings=[float("nan")]), "Infinity": changed(safe_input=[{"input": "x", "proved": float("inf"), "likely": 1}]),
    "digits": changed(precision="x").replace(b'"x"', b"1" * 5000), "zero bytes": b"\0" * 100,
    "no reports": MANY[:-13] + b"}", "reports a number": MANY + b"1}", "reports null": MANY + b"null}", "reports of text": MANY + b'["a"]}',
    "reports an object": MANY + b'{"a": 1}}', "one of two": MANY + changed() + b", {}]}",
    "no summary": json.dumps({"schema": "mpopt-report/1"}).encode(), "summary of text": changed(summary={**REPORT["summary"], "error": "x"}),
    "finding of text": changed(findings=["x"]), "finding without op": changed(findings=[{"rule": "MP201"}]),
    "model of null": changed(model=None), "coverage of a list": changed(coverage=[]), "training of text": changed(training="x"),
    "effects of numbers": changed(effects=[1]), "negative": changed(coverage={"ops": -1, "modelled": 1}),
    "far exponents": changed(training={"loss": [], "scale": {"lo": 1, "hi": 2}, "gradients": [
        {"parameter": "w", "dtype": "f16", "flushed": {}, "likely": {"rms": 1, "absmax": 1, "zero": 0, "hist": {"-999999999": 1, "999999999": 1}}}]}),
}
HEADER = b'{"schema": "mpopt-history/1", "rank": 0, "first_scale": 1.0}\n'
BROKEN_HISTORIES = {
    "not JSON": b"{\n", "other schema": b'{"schema": "x"}\n', "nested": HEADER + b"[" * 100_000 + b"\n", "list": HEADER + b"[1]\n",
    "step of text": HEADER + b'{"step": "x", "loss": 1}\n', "loss of null": HEADER + b'{"step": 1, "loss": null}\n',
    "alert of text": HEADER + b'{"alert": "x"}\n', "alert of lists": HEADER + b'{"alert": {"rule": [], "severity": 1, "layer": {}, "step": 1, "message": 2}}\n',
    "far exponent": HEADER + b'{"sample": 1, "scale": 1, "of": [["value", "a", "f16", 1, 0, 0, 0, 1.0, 1000000000, [1]], '
                    b'["gradient", "a", "f16", 1, 0, 0, 0, 1.0, -1000000000, [1]]]}\n',
    "infinite": HEADER + b'{"sample": 1e400, "scale": 1, "of": []}\n', "rank of text": b'{"schema": "mpopt-history/1", "rank": "x"}\n',
    "not UTF-8": HEADER + b"\xff\n", "counts of text": HEADER + b'{"sample": 1, "scale": 1, "of": [["value", "a", "f16", 1, 0, 0, 0, 1.0, 0, ["x"]]]}\n',
}


@pytest.fixture
def folder(tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    (served / "good.json").write_bytes(changed())
    histories.write(served / "run-0.history.jsonl", steps=20)
    return served


def shown(folder) -> dict:
    """What a server of the folder gives."""
    pytest.importorskip("httpx")
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from mpopt.view.server import make_app

    client = TestClient(make_app(Sources([folder]), "right"), base_url="http://127.0.0.1:1234")
    answer = client.get("/data", params={"token": "right"})
    assert answer.status_code == 200
    return answer.json()


def view(*arguments) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "mpopt.view", *map(str, arguments)], capture_output=True, text=True, timeout=60,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "python")})


def refused(done, *words) -> None:
    assert done.returncode == 2 and done.stdout == "", (done.stdout, done.stderr)
    assert done.stderr.startswith("mpopt.view: error: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


CASES = [pytest.param("bad.json", data, id=name) for name, data in BROKEN.items()] + \
    [pytest.param("bad-0.history.jsonl", data, id=f"history: {name}") for name, data in BROKEN_HISTORIES.items()] + \
    [pytest.param("bad.mprec", data, id=f"record: {len(data)}") for data in (b"", b"MPREC\r\n\x1a", b"MPREC\r\n\x1a" + b"\xff" * 1000)]


@pytest.mark.parametrize("name, data", CASES)
def test_broken_file(name, data, folder, tmp_path):
    (folder / name).write_bytes(data)
    page = shown(folder)
    assert len(page["reports"]) == 2
    assert len(page["passed"]) == 1 and page["passed"][0].startswith(str(folder / name))
    write(folder, tmp_path / "out.html")
    assert document((tmp_path / "out.html").read_text())["passed"] == page["passed"]
    with pytest.raises(Error, match=name):
        write(folder / name, tmp_path / "alone.html")
    with pytest.raises(Error):
        write([folder / "good.json", folder / name], tmp_path / "alone.html")
    assert not (tmp_path / "alone.html").exists()


@pytest.mark.parametrize("name", ["nested", "no reports", "reports of text", "NaN", "truncated", "summary of text", "far exponents"])
def test_command(name, folder, tmp_path):
    (folder / "bad.json").write_bytes(BROKEN[name])
    refused(view(folder / "bad.json", "-o", tmp_path / "out.html"), "bad.json")
    assert not (tmp_path / "out.html").exists()
    done = view(folder, "-o", tmp_path / "out.html")
    assert done.returncode == 0 and done.stderr.startswith("mpopt.view: warning: ") and done.stderr.count("\n") == 1


def test_two_reports_that_cannot_be_compared(folder, tmp_path):
    """The tool takes for no report what the pages take for one."""
    finding = {"rule": "MP201", "name": "overflow", "severity": "error", "certainty": "likely", "tensor": "x", "dtype": "f16", "message": "",
               "op": {"name": "", "type": "", "scope": ""}, "fingerprint": "none", "fixes": []}
    (folder / "other.json").write_bytes(changed(findings=[finding], precision="x" * 1000))
    page = shown(folder)
    assert len(page["reports"]) == 3


def test_other_json_is_not_mentioned(folder):
    """Configurations and ledgers lie beside records."""
    for name, text in {"config.json": '{"a": 1}', "run.probes.json": '{"schema": "mpopt-probes/1"}', "list.json": "[1, 2]", "number.json": "1"}.items():
        (folder / name).write_text(text)
    assert shown(folder)["passed"] == []


def test_pipes_devices_and_links(folder, tmp_path):
    os.mkfifo(folder / "pipe.json")
    os.mkfifo(folder / "pipe-0.history.jsonl")
    os.mkfifo(folder / "pipe.mprec")
    os.mkfifo(folder / "pipe.probes.json")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "zero.json").symlink_to("/dev/zero")
    (folder / "folder.json").mkdir()
    assert len(shown(folder)["reports"]) == 2
    for name, word in (("pipe.json", "is a pipe"), ("pipe.mprec", "is a pipe"), ("loop.json", "cannot be read"), ("zero.json", "is a device")):
        refused(view(folder / name, "-o", tmp_path / "out.html"), word)
    refused(view("/dev/zero", "-o", tmp_path / "out.html"), "/dev/zero: is a device, not a file")
    refused(view("/dev/zero"), "/dev/zero: is a device, not a file")


def test_large_files(folder, tmp_path):
    with open(folder / "huge.json", "wb") as file:
        file.truncate(1 << 40)
    with open(folder / "huge-0.history.jsonl", "wb") as file:
        file.write(HEADER)
        file.truncate(200 << 20)
    passed = shown(folder)["passed"]
    assert len(passed) == 2 and "is larger than 64 MB" in passed[0] and "more than 64 MB" in passed[1]


def test_a_file_that_is_mended_is_shown(folder):
    (folder / "bad.json").write_bytes(BROKEN["truncated"])
    sources = Sources([folder])
    assert len(sources.document()["reports"]) == 2 and len(sources.passed) == 1
    (folder / "bad.json").write_bytes(changed(precision="bf16"))
    assert len(sources.document()["reports"]) == 3 and sources.passed == []


def test_only_broken_files(tmp_path):
    (tmp_path / "bad.json").write_bytes(BROKEN["truncated"])
    refused(view(tmp_path), "bad.json", "is not JSON")
    refused(view(tmp_path, "-o", tmp_path / "out.html"), "bad.json", "is not JSON")


@pytest.mark.parametrize("given, output", [(".", "good.json"), (".", "link"), (".", "run-0.history.jsonl"), ("good.json", "good.json"),
                                           ("good.json", "link"), ("run-0.history.jsonl", "run-0.history.jsonl")])
def test_nothing_is_written_over(given, output, folder):
    (folder / "link").symlink_to("good.json")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(view(folder / given, "-o", folder / output), f"-o: '{folder / output}' would overwrite the file '")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_links_are_written_through(folder, tmp_path):
    (tmp_path / "link.html").symlink_to("page.html")
    assert view(folder, "-o", tmp_path / "link.html").returncode == 0
    assert (tmp_path / "link.html").is_symlink() and document((tmp_path / "page.html").read_text())["kind"] == "view"


# --- Wrong types at any depth ---


WRONG = (None, True, "x", -1, 1.5, [], {}, ["x"], [[]], {"x": 1}, [None], "MISSING")


def list_places(value, path=()) -> list[tuple]:
    """The paths of all members; of a list those of its first part."""
    found = [path] if path else []
    parts = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in parts:
        found += list_places(part, (*path, key))
    return found


def replaced(value, path, wrong):
    value = copy.deepcopy(value)
    inside = value
    for key in path[:-1]:
        inside = inside[key]
    if wrong == "MISSING":
        del inside[path[-1]]
    else:
        inside[path[-1]] = copy.deepcopy(wrong)
    return value


# Draws all pages of a report, and opens what can be opened: the first error, or nothing.
DRAW = """
const done = [];
for (const report of arguments[0]) {
  try {
    const held = window.mpoptReport;
    held.at = 0;
    held.renew({ ...held.data, reports: [report] });
    for (const page of held.pages) {
      held.show(page.id);
      for (const each of document.querySelectorAll("details")) { each.open = true; each.dispatchEvent(new Event("toggle")); }
    }
    done.push("");
  } catch (error) { done.push(String(error.stack || error)); }
}
return done;
"""


@pytest.mark.parametrize("name", ["layers", "training"])
def test_what_is_accepted_is_drawn(name, reports, driver, tmp_path):
    """Each member of a report is made another thing: the report is refused, or every page of it can be drawn."""
    report = json.loads(reports[name])
    report["findings"] = report["findings"][:3]
    changes = [(path, wrong) for path in list_places(report) for wrong in WRONG]
    most = int(os.environ.get("MPOPT_MOST_REPORTS", 250))
    accepted = []
    for path, wrong in random.Random(0).sample(changes, min(most, len(changes))):
        try:
            accepted.append((path, wrong, report_form.read(replaced(report, path, wrong))))
        except ValueError as error:
            assert str(error).startswith("is not a complete report of mpopt") and "\n" not in str(error)
    assert 0 < len(accepted) < most
    (tmp_path / "report.json").write_text(json.dumps(report))
    write(tmp_path / "report.json", tmp_path / "report.html")
    page = Page(driver, (tmp_path / "report.html").as_uri())
    failed = []
    for begin in range(0, len(accepted), 20):
        part = accepted[begin:begin + 20]
        errors = page.run(DRAW, [report for *_, report in part])
        failed += [(path, wrong, error.splitlines()[:2]) for (path, wrong, _), error in zip(part, errors) if error]
    assert not failed

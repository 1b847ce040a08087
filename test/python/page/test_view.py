"""python -m mpopt.view: the server's manners, and pages that follow what grows."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys

import histories
import pytest
from browser import Page, driver  # noqa: F401: a fixture
from histories import alert
from tool import ROOT, run_mpopt

from mpopt import Error
from mpopt.view import Sources, write
from page_models import layers
from test_report import document, is_clean

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture()
def folder(tmp_path):
    histories.write(tmp_path / "run-0.history.jsonl", steps=40)
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path


@pytest.fixture()
def client(folder):
    pytest.importorskip("httpx")
    from starlette.testclient import TestClient

    from mpopt.view.server import make_app

    return TestClient(make_app(Sources([folder]), "right"), base_url="http://127.0.0.1:1234")


def test_needs_its_token(client):
    for path in ("/", "/data"):
        assert client.get(path).status_code == 403
        assert client.get(path, params={"token": "wrong"}).status_code == 403
        assert client.get(path, params={"token": "rightx"}).status_code == 403
        assert client.get(path, params={"token": "right"}).status_code == 200
        answer = client.get(path, params={"token": "right"}, headers={"host": "attacker.example:1234"})
        assert answer.status_code == 421
    assert "secret" not in client.get("/").text


def test_reads_alone(client):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        for path in ("/", "/data", "/run-0.history.jsonl"):
            assert client.request(method, path, params={"token": "right"}).status_code in (404, 405)


@pytest.mark.parametrize("path", ["/secret.txt", "/../secret.txt", "/..%2fsecret.txt", "/%2e%2e/secret.txt", "/data/../secret.txt", "//etc/passwd",
                                  "/data/%2e%2e/%2e%2e/etc/passwd", "/..\\secret.txt", "/run-0.history.jsonl", "/data%00", "/static/../../etc/passwd"])
def test_no_path_leads_to_a_file(client, path):
    answer = client.get(path, params={"token": "right", "file": "secret.txt", "path": "/etc/passwd"})
    assert answer.status_code == 404 and "secret" not in answer.text and "root:" not in answer.text


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    histories.write(inside / "run-0.history.jsonl", steps=10)
    histories.write(outside / "other-0.history.jsonl", steps=10)
    (inside / "other-0.history.jsonl").symlink_to(outside / "other-0.history.jsonl")
    assert [report["title"] for report in Sources([inside]).document()["reports"]] == ["run"]


def test_version_saves_the_way(client, folder):
    first = client.get("/data", params={"token": "right"}).json()
    assert client.get("/data", params={"token": "right", "version": first["live"]}).status_code == 204
    histories.write(folder / "run-1.history.jsonl", rank=1, steps=40)
    second = client.get("/data", params={"token": "right", "version": first["live"]}).json()
    assert second["reports"][0]["run"]["ranks"] == [0, 1] and second["live"] != first["live"]


def test_headers(client):
    answer = client.get("/", params={"token": "right"})
    assert answer.headers["cache-control"] == "no-store" and answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-frame-options"] == "DENY" and "connect-src 'self'" in answer.text


@pytest.fixture()
def served(folder, tmp_path):
    """The address of a server that runs on its own."""
    process = subprocess.Popen([sys.executable, "-m", "mpopt.view", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    address = process.stdout.readline().strip()
    yield address
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0 and "Traceback" not in errors, errors


def test_page_follows_a_run_that_grows(driver, folder, served):
    assert served.startswith("http://127.0.0.1:") and "token=" in served
    page = Page(driver, served)
    assert "40 steps of 1 rank" in page.text()
    page.find("#run-kind option[value=value]").click()
    path = folder / "run-0.history.jsonl"
    with path.open("a") as file:
        for step in range(40, 90):
            file.write(json.dumps({"step": step, "loss": 1.0}) + "\n")
        file.write(json.dumps({"alert": alert("MP505", 85, severity="error", message="step 85: <b>grows</b>")}) + "\n")
        file.write('{"step": 90, "lo')
    page.wait("return document.querySelector('main').innerText.includes('90 steps')", 30)
    assert "<b>grows</b>" in page.text()
    # What was chosen stays.
    assert page.find("#run-kind").get_attribute("value") == "value"
    assert page.errors() == []
    own = served.split("?")[0]
    assert {url.split("?")[0] for url in page.requests()} <= {f"{own}data", f"{own}favicon.ico"}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_run_page(driver, tmp_path, theme):
    path = histories.write(tmp_path / "run-0.history.jsonl", loss=lambda step: float("nan") if step > 150 else 2.,
                           scale=lambda step: 65536. if step < 50 else 65536. * 2. ** (50 - step), skipped=lambda step: step >= 50,
                           extra=lambda layer, step: {"inf": 9} if step > 40 and layer == "blocks.1.mlp" else {},
                           alerts=[alert("MP506", 60, severity="error"), alert("MP507", 70, layer="</script><img src=x>")])
    write(path, tmp_path / "run.html")
    page = Page(driver, (tmp_path / "run.html").as_uri())
    page.run("if (document.documentElement.dataset.theme !== arguments[0]) document.getElementById('theme').click()", theme)
    text = page.text()
    assert "Values overflow in the forward pass" in text and "blocks.1.mlp" in text and "MP507" in text
    assert page.run("return document.querySelectorAll('figure svg').length") >= 4
    for measure in ("median", "zeros", "lost", "bad"):
        page.find(f"#run-measure option[value={measure}]").click()
        page.frame()
    assert page.violations() == []
    page.go("exponents")
    page.frame()
    assert page.violations() == [] and page.run("return document.querySelectorAll('img').length") == 0
    is_clean(page)


def test_two_reports_are_compared(driver, tmp_path):
    for name, precision in (("a", "fp16"), ("b", "bf16")):
        done = run_mpopt("--check", layers(tmp_path / "m.onnx", 64, large=3), "--precision", precision, "--fail-on", "never", "--min-certainty", "possible",
                         "--format", "json", "-o", tmp_path / f"{name}.json")
        assert done.returncode == 0
    write([tmp_path / "a.json", tmp_path / "b.json"], tmp_path / "both.html")
    one, other = (json.loads((tmp_path / f"{name}.json").read_text()) for name in "ab")
    held = document((tmp_path / "both.html").read_text())["reports"][1]["compare"]
    prints = [{finding["fingerprint"] for finding in report["findings"]} for report in (one, other)]
    assert {finding["fingerprint"] for finding in held["went"]} == prints[0] - prints[1]
    assert {finding["fingerprint"] for finding in held["came"]} == prints[1] - prints[0]
    page = Page(driver, (tmp_path / "both.html").as_uri())
    assert f"Findings that went: {len(held['went'])}" in page.text() and page.violations() == []
    page.find("#model option").click()
    assert "Verdict" in page.text()
    is_clean(page)


@pytest.mark.parametrize("make", [lambda folder: folder / "none", lambda folder: folder / "secret.txt", lambda folder: folder / "broken.json",
                                  lambda folder: folder / "list.json", lambda folder: folder / "part.json", lambda folder: folder / "run.mprec",
                                  lambda folder: folder / "empty"])
def test_refuses_in_one_line(folder, make):
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "part.json").write_text('{"schema": "mpopt-report/1"}')
    (folder / "run.mprec").write_bytes(b"")
    (folder / "empty").mkdir()
    with pytest.raises(Error):
        write(make(folder), folder / "out.html")
    assert not (folder / "out.html").exists()
    done = subprocess.run([sys.executable, "-m", "mpopt.view", make(folder), "-o", folder / "out.html"], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith("mpopt.view: error: ")
    assert not (folder / "out.html").exists()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """FP32 and BF16 of one network, on the same batches; a layer of one has other weights."""
    torch = pytest.importorskip("torch")
    import logging

    from mpopt.monitor import Monitor

    folder = tmp_path_factory.mktemp("runs")
    logging.getLogger("mpopt.monitor").setLevel(logging.CRITICAL)
    for name, dtype in (("one", torch.float32), ("other", torch.bfloat16)):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).to(dtype)
        if name == "other":
            with torch.no_grad():
                model[2].weight.mul_(1.5)
        draw = torch.Generator().manual_seed(1)
        with Monitor(model, record=folder / f"{name}.mprec", periods={"value": 1}) as monitor:
            for _ in range(12):
                loss = model(torch.randn(4, 8, generator=draw).to(dtype)).float().square().mean()
                loss.backward()
                monitor.step(loss=loss)
    return folder


def test_two_runs_are_compared(driver, runs, tmp_path):
    write([runs / "one.mprec", runs / "other.mprec"], tmp_path / "both.html")
    page = Page(driver, (tmp_path / "both.html").as_uri())
    assert "The first that differs by more than its format explains is 2" in page.text() and "MP512" in page.text()
    assert page.violations() == []
    is_clean(page)


@pytest.mark.parametrize("left", [("one",), ("other",), ("one", "other")])
def test_records_without_histories_are_compared(runs, tmp_path, left):
    """Their tensors are; there is no course of the loss to judge."""
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    for name in left:
        (folder / f"{name}.history.jsonl").unlink()
    compared = Sources([folder / "one.mprec", folder / "other.mprec"]).document()["reports"][-1]
    assert "courses" not in compared
    assert [each["tensor"] for each in compared["against"]["differences"] if "message" in each] == ["2"]


def test_reports_need_no_pytorch(tmp_path, folder):
    """A machine that shows reports and histories has none."""
    program = ("import sys; sys.modules['torch'] = None\nfrom mpopt.view import write\n"
               f"write([{str(folder / 'run-0.history.jsonl')!r}], {str(tmp_path / 'out.html')!r})")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    assert document((tmp_path / "out.html").read_text())["reports"][0]["run"]["count"] == 40

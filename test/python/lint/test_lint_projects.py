"""Folders are one program: what one file makes and another one uses."""

from __future__ import annotations

import json

import mpopt
import pytest
from mpopt.lint import interpreter, linter, project
from test_lint_command import lint

TRAIN = """\
import torch
from lib.loss import Dice
from lib import nets
from lib.engine import fit as take

def main():
    model = nets.build()
    criterion = Dice()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(x)
        loss = criterion(out, y.half())
        take(loss, optimizer, scaler, model)
        optimizer.zero_grad()
main()
"""
LOSS = "from torch import nn\nclass Dice(nn.Module):\n    def forward(self, p, t):\n        return 1 - (p * t).sum() / p.numel()\n"
NETS = "import torch\nfrom .types import LOW\ndef build():\n    net = torch.nn.Linear(4, 4)\n    return net.to(LOW)\n"
ENGINE = ("import torch\ndef fit(loss, optimizer, scaler, model):\n    scaler.scale(loss).backward()\n"
          "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    scaler.update()\n")
FILES = {"train.py": TRAIN, "lib/__init__.py": "", "lib/loss.py": LOSS, "lib/nets.py": NETS, "lib/engine.py": ENGINE,
         "lib/types.py": "import torch\nLOW = torch.float16\n"}


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def find(folder, *options, **given):
    done = lint(*options, folder, "--format", "json", **given)
    assert done.stderr == "", done.stderr
    return {(finding["file"], finding["line"], finding["rule"]) for finding in json.loads(done.stdout)["findings"]}


def test_files_are_one_program(tmp_path):
    write(tmp_path, FILES)
    found = find(tmp_path)
    assert {(f"{tmp_path}/lib/nets.py", 5, "MP701"), (f"{tmp_path}/lib/loss.py", 4, "MP711"),
            (f"{tmp_path}/lib/engine.py", 4, "MP721")} <= found
    # A file by itself imports what is not known.
    assert "MP701" not in {rule for *_, rule in find(tmp_path / "train.py")}
    assert find(tmp_path, "--jobs", "2") == found


def test_python_has_the_findings_of_the_command(tmp_path):
    write(tmp_path, {**FILES, "eval.py": TRAIN, "broken.yaml": "dtype: bf16\na:\n\tb: 1\n"})
    found = [(finding.file, finding.line, finding.rule) for finding in mpopt.lint.lint_path(tmp_path)]
    assert len(found) == len(set(found)) and set(found) == find(tmp_path)


def test_paths_are_those_that_were_given(tmp_path):
    write(tmp_path, FILES)
    assert {file for file, *_ in find(".", cwd=tmp_path)} == {"./lib/nets.py", "./lib/loss.py", "./lib/engine.py"}


def test_mended_project_is_silent(tmp_path):
    write(tmp_path, {**FILES, "lib/types.py": "import torch\nLOW = torch.float32\n", "lib/loss.py": LOSS.replace("(p * t)", "(p * t).float()"),
                     "lib/engine.py": ENGINE.replace("    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn")})
    assert find(tmp_path) == set()


def test_a_file_that_is_imported_is_not_the_one_that_is_started(tmp_path):
    types = "import torch\nLOW = torch.float32\nif %s:\n    LOW = torch.float16\n"
    for test, found in (("__name__ == '__main__'", False), ("fast", True)):
        write(tmp_path, {**FILES, "lib/types.py": types % test})
        assert ("MP701" in {rule for *_, rule in find(tmp_path)}) == found


def test_comments_silence_lines_of_their_file(tmp_path):
    write(tmp_path, {**FILES, "lib/nets.py": NETS.replace("net.to(LOW)", "net.to(LOW)  # noqa: MP701")})
    assert "MP701" not in {rule for *_, rule in find(tmp_path)}


@pytest.mark.parametrize("line, use", [
    ("import lib.nets", "lib.nets.build()"), ("import lib.nets as n", "n.build()"), ("from lib.nets import build", "build()"),
    ("from lib import build", "build()"), ("from lib import nets as n", "n.build()"), ("import lib", "lib.nets.build()")])
def test_forms_of_imports(line, use, tmp_path):
    write(tmp_path, {"lib/__init__.py": "from .nets import build\n", "lib/nets.py": NETS, "lib/types.py": FILES["lib/types.py"],
                     "train.py": f"import torch\n{line}\nmodel = {use}\ntorch.optim.SGD(model.parameters(), lr=1)\n"})
    assert (f"{tmp_path}/lib/nets.py", 5, "MP701") in find(tmp_path)


def test_imports_in_a_circle_and_of_what_cannot_be_read(tmp_path):
    write(tmp_path, {"a.py": "import torch\nfrom b import g\nfrom bad import h\ndef f(x): return g(x)\nf(h(1))\n",
                     "b.py": "import torch\nfrom a import f\ndef g(x): return f(x)\n", "bad.py": "def h(:\n"})
    assert find(tmp_path) == set()


def test_no_file_outside_of_the_folder_is_read(tmp_path):
    write(tmp_path, {"lib/nets.py": "import torch\ndef build(): return torch.nn.Linear(1, 1).half()\n",
                     "in/train.py": "import torch\nfrom ..lib.nets import build\nmodel = build()\n"
                                    "torch.optim.SGD(model.parameters(), lr=1)\n"})
    assert find(tmp_path / "in") == set()
    assert "MP701" in {rule for *_, rule in find(tmp_path)}


def test_fixes_are_of_one_file(tmp_path):
    write(tmp_path, FILES)
    done = lint(tmp_path, "--fix", "--format", "json")
    assert done.returncode in (0, 1) and done.stderr == ""
    assert "unscale_" in (tmp_path / "lib/engine.py").read_text() and (tmp_path / "train.py").read_text() == TRAIN


def test_changes_of_other_files_are_none(tmp_path):
    write(tmp_path, FILES)
    path = str(tmp_path / "train.py")
    found = linter.lint_text(TRAIN, path, project=project.load((str(tmp_path),)))
    assert [finding for finding in found if finding.file != path]
    assert all(finding.change is None for finding in found if finding.file != path)


HYDRA = """\
import hydra
import torch
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    model = torch.nn.Linear(4, 4)
    model.to(getattr(torch, cfg.model.dtype))
    optimizer = torch.optim.AdamW(model.parameters())
main()
"""
OMEGA = """\
import torch
import yaml
from omegaconf import OmegaConf
with open("conf/config.yaml") as file:
    cfg = %s
model = torch.nn.Linear(4, 4)
model.to(getattr(torch, cfg%s))
optimizer = torch.optim.AdamW(model.parameters())
"""


@pytest.mark.parametrize("text, line", [
    (HYDRA, 6), (OMEGA % ("OmegaConf.load('conf/config.yaml')", ".model.dtype"), 7),
    (OMEGA % ("yaml.safe_load(file)", "['model']['dtype']"), 7)])
def test_configurations_choose_dtypes(text, line, tmp_path):
    conf = "low: %s\nmodel:\n  dtype: ${low}\n"
    write(tmp_path, {"train.py": text, "conf/config.yaml": conf % "bfloat16"})
    assert (f"{tmp_path}/train.py", line, "MP701") in find(tmp_path)
    write(tmp_path, {"conf/config.yaml": conf % "float32"})
    assert find(tmp_path) == set()
    # Of a file by itself nothing else is read.
    write(tmp_path, {"conf/config.yaml": conf % "bfloat16"})
    assert find(tmp_path / "train.py") == set()


def test_a_configuration_of_deepspeed_is_that_of_its_engine(tmp_path):
    text = ("import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=model, config='ds.json')\nfor x in data:\n"
            "    loss = engine(x)\n    loss.backward()\n    engine.step()\n")
    write(tmp_path, {"train.py": text, "ds.json": '{"fp16": {"enabled": true}, "train_batch_size": 8}'})
    assert find(tmp_path) == {(f"{tmp_path}/train.py", 5, "MP770")}
    write(tmp_path, {"ds.json": '{"bf16": {"enabled": true}, "train_batch_size": 8}'})
    assert find(tmp_path) == set()


def test_settings_of_a_library_are_looked_up_once(tmp_path):
    """A function that does nothing of a training step is not followed anew for each of its calls."""
    library = ("class State:\n    def __init__(self, device=None):\n" + "".join(
        f"        self.name{number} = str(device) + 'x' * {number}\n" for number in range(50))
        + "def device():\n    return State('cuda').name3\n")
    files = {"library.py": library, "train.py": "import torch\nfrom library import State, device\n" + "".join(
        f"place{number} = device()\nState('cuda')\n" for number in range(200))}
    write(tmp_path, files)
    whole = project.Project((str(tmp_path),))
    program = interpreter.Interpreter(whole.read(str(tmp_path / "train.py")), whole)
    program.interpret()
    # Each of the 400 calls would take 250 steps.
    assert program.steps < 10_000


def test_steps_of_a_library_happen_in_each_call(tmp_path):
    """What a function does to a scaler or to gradients belongs to each of its calls."""
    write(tmp_path, {"steps.py": "import torch\nSCALER = torch.amp.GradScaler('cuda')\ndef finish():\n    SCALER.update()\n",
                     "train.py": "import torch\nfrom steps import SCALER, finish\nfor x in loader:\n"
                     "    SCALER.scale(model(x).mean()).backward()\n    SCALER.step(first)\n    finish()\n"
                     "    SCALER.step(second)\n    finish()\n"})
    assert (f"{tmp_path}/steps.py", 4, "MP734") in find(tmp_path)


def test_a_long_library_leaves_steps_for_the_script(tmp_path):
    """The loop that trains is followed behind calls that take all steps that other files may take."""
    parts = range(300)
    library = "".join(f"def part{part}(x):\n" + "    x = x * 2 + 1\n" * 20 + "    return x\n" for part in parts)
    library += "def transform(x):\n" + "".join(f"    x = part{part}(x)\n" for part in parts) + "    return x\n"
    script = ("import torch\nfrom library import transform\n"
              "def step(model, optimizer, x):\n    scaler = torch.amp.GradScaler('cuda')\n    scaler.scale(model(x).mean()).backward()\n"
              "    scaler.step(optimizer)\n    scaler.update()\n"
              "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\ny = transform(1)\nfor x in loader:\n    step(model, optimizer, x)\n")
    write(tmp_path, {"library.py": library, "train.py": script})
    assert (f"{tmp_path}/train.py", 4, "MP736") in find(tmp_path)


# -- Long libraries ------------------------------------------------------------------------------------


def make_long(depth):
    """A script whose library has modules that import one another, each with a function that calls the one before."""
    files = {"lib/__init__.py": "", "lib/m0.py": "def f(x):\n    return x + 1\n", "lib/late.py": "def cast(model, x):\n    return model.half()\n"}
    for level in range(1, depth):
        files[f"lib/m{level}.py"] = f"from .m{level - 1} import f as before\ndef f(x):\n    return [before(x), before(x), before(x), before(x)]\n"
    files["train.py"] = (f"import torch\nfrom lib.m{depth - 1} import f\nfrom lib.late import cast\nmodel = torch.nn.Linear(4, 4)\n"
                         "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nbatches = f(torch.ones(3))\n"
                         "model = cast(model, batches)\nfor x in batches:\n    model(x).mean().backward()\n    optimizer.step()\n")
    return files


def test_a_fault_behind_a_long_library(tmp_path, monkeypatch):
    """The cast of what is trained is followed with eight times the steps."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, make_long(7))
    files = project.Project((".",))
    script = files.read(str(tmp_path / "train.py"))
    first = interpreter.Interpreter(script, files)
    first.interpret()
    assert any(function.name == "cast" for function in first.unfollowed)
    unfollowed: set[str] = set()
    found = linter.lint_text(script.text, script.path, None, files, unfollowed=unfollowed)
    assert "MP701" in [finding.rule for finding in found] and not unfollowed


def test_calls_that_are_not_followed_are_told(tmp_path):
    write(tmp_path, make_long(12))
    done = lint(tmp_path, "--no-cache")
    assert "not followed to their end: calls of long or deep functions in" in done.stdout and "train.py" in done.stdout
    kept = [json.loads(lint(tmp_path, "--format", "json").stdout)["unfollowed"] for _ in range(2)]
    assert kept[0] == kept[1] and any(entry["file"].endswith("train.py") and entry["functions"] for entry in kept[0])
    assert "calls not followed" in lint(tmp_path, "--format", "sarif").stdout


def test_a_function_that_no_call_reaches_is_gone_through():
    """Calls of eight levels do not reach it, and it is judged by itself."""
    chain = "".join(f"def f{level}(x):\n    return f{level + 1}(x)\n" for level in range(12))
    text = ("import torch\n" + chain + "def f12(x):\n    loss = torch.nan_to_num(torch.nn.functional.mse_loss(x, x))\n"
            "    loss.backward()\nf0(torch.ones(3))\n")
    assert [(finding.rule, finding.line) for finding in linter.lint_text(text)] == [("MP749", 27)]

"""action.yml and .pre-commit-hooks.yaml, run as their services run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess

import pytest
import yaml
from ci_models import overflowing, save
from tool import BIN, ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def run_action(folder, **given):
    """The steps of the composite action, its expressions replaced by the inputs."""
    assert ACTION["runs"]["using"] == "composite"
    inputs = {key: value.get("default") for key, value in ACTION["inputs"].items()}
    inputs.update(given)
    assert None not in inputs.values()
    expression = re.compile(r"\$\{\{ inputs\.(\w+)( != '')? \}\}")

    def expand(text):
        return expression.sub(lambda match: str(bool(inputs[match[1]])) if match[2] else inputs[match[1]], text)

    summary, output = folder / "summary.md", ""
    for step in ACTION["runs"]["steps"]:
        # No expression is part of a script: an input could hold commands.
        assert "${{" not in step["run"] and step["shell"] == "bash"
        if expand(step.get("if", "True")) == "False":
            continue
        environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
                       "GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary),
                       **{key: expand(value) for key, value in step["env"].items()}}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], cwd=folder,
                              env=environment, capture_output=True, text=True, timeout=120)
        output += done.stdout
        if done.returncode:
            return done.returncode, output, done.stderr
    return 0, output, done.stderr


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "models with blanks").mkdir()
    save(overflowing(), tmp_path / "models with blanks" / "a.onnx")
    save(overflowing(layers=1), tmp_path / "models with blanks" / "b.onnx")
    return tmp_path


def test_the_action_reports_in_every_form(checkout):
    status, output, _ = run_action(checkout, models="models with blanks/*.onnx\n", arguments="--precision\nfp16",
                                   package="")
    assert status == 1
    assert output.count("::notice title=mpopt::") == 2 and "::error file=models with blanks/a.onnx" in output
    results = json.loads((checkout / "mpopt.sarif").read_text())["runs"][0]["results"]
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert uris == {"models%20with%20blanks/a.onnx", "models%20with%20blanks/b.onnx"}
    assert (checkout / "summary.md").read_text().count("## mpopt: ") == 2


def test_the_action_passes_where_nothing_fails(checkout):
    status, output, _ = run_action(checkout, models="models with blanks/a.onnx", arguments="--fail-on=never", package="",
                                   sarif="")
    assert status == 0 and not (checkout / "mpopt.sarif").exists()


def test_inputs_of_the_action_are_no_commands(checkout):
    hostile = '"; touch pwned; $(touch pwned) `touch pwned`'
    for given in ({"models": hostile}, {"models": "models with blanks/a.onnx", "arguments": hostile},
                  {"models": "models with blanks/a.onnx", "sarif": "x" + hostile}):
        run_action(checkout, **{"package": "", **given})
    assert not (checkout / "pwned").exists()


def test_the_action_refuses_what_matches_nothing(checkout):
    status, output, _ = run_action(checkout, models="nosuch*.onnx", package="")
    assert status == 2 and output.startswith("::error ")


def test_hooks_say_what_pre_commit_asks_for():
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook["language"] == "system" and ("types" in hook or re.compile(hook["files"]))


def test_the_hook_judges_models(checkout):
    [hook] = [hook for hook in HOOKS if hook["id"] == "mpopt-check"]
    files = [str(path.relative_to(checkout)) for path in checkout.rglob("*") if re.search(hook["files"], path.name)]
    assert len(files) == 2
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for arguments, status in ((["--precision=fp16"], 1), (["--fail-on=never"], 0)):
        done = subprocess.run([*shlex.split(hook["entry"]), *arguments, *files], cwd=checkout, env=environment,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == status, done.stderr

"""Rules about dtypes on real TorchScript archives, with the Python line.

Each module of torchscript_rule_models.py that has a marked line must get that
finding there, and its twin without a mark must not get it anywhere.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torchscript_import  # noqa: E402
import torchscript_rule_models as models  # noqa: E402
from tool import run_mpopt  # noqa: E402

if not torchscript_import.TOOL.exists():
    pytest.skip("this build has no mpopt-import-torchscript", allow_module_level=True)

X = ("x", torch.ones(4, 8))
TARGET = ("target", torch.ones(4, 1))
HALF = ("x", torch.ones(4, 8).half())
TARGETS = ("target", torch.ones(4, 8).half())
# Rule, precision, module with the finding, one without, inputs.
CASES = [
    ("MP102", "autocast-fp16", models.ProbabilityLoss, models.LogitLoss, (X, TARGET)),
    ("MP103", "autocast-fp16", models.FloatShift, models.CastShift, (X,)),
    ("MP104", "as-is", models.LateFloat, models.EarlyFloat, (X,)),
    ("MP105", "as-is", models.ManualHalf, models.LeftToAutocast, (X,)),
    ("MP106", "as-is", models.HalfLoss, models.FloatLoss, (HALF, TARGETS)),
]


def findings(module, inputs, form: str, precision: str, path: Path) -> list[dict]:
    if form == "traced":
        values = tuple(value for _, value in inputs)
        with torch.no_grad():
            archive = torch.jit.trace(module, values, check_trace=False)
    else:
        archive = torch.jit.script(module)
    archive.save(str(path))
    shapes = [f"--input-shape={torchscript_import.shape_option(name, value)}"
              for name, value in inputs]
    done = run_mpopt("--check", path, "--precision", precision, "--format", "json", "--fail-on",
                     "never", *shapes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["findings"]


def marked_line(kind: type, rule: str) -> int:
    lines, first = inspect.getsourcelines(kind)
    [offset] = [at for at, line in enumerate(lines) if line.rstrip().endswith(f"# {rule}")]
    return first + offset


FORMS = [(case, form) for case in CASES for form in ("scripted", "traced")
         # A trace has no regions, only what autocast cast.
         if (case[0], form) != ("MP105", "traced")]


@pytest.mark.parametrize("case,form", FORMS, ids=lambda x: x if isinstance(x, str) else x[0])
def test_finding_has_its_line(case, form, tmp_path):
    rule, precision, kind, _, inputs = case
    found = [f for f in findings(kind(), inputs, form, precision, tmp_path / "m.pt")
             if f["rule"] == rule]
    assert len(found) == 1, found
    location = found[0]["location"]
    assert location["file"].endswith("torchscript_rule_models.py")
    assert location["line"] == marked_line(kind, rule)


@pytest.mark.parametrize("case,form", FORMS, ids=lambda x: x if isinstance(x, str) else x[0])
def test_clean_twin_has_none(case, form, tmp_path):
    rule, precision, _, kind, inputs = case
    found = findings(kind(), inputs, form, precision, tmp_path / "m.pt")
    assert rule not in {f["rule"] for f in found}, found


def test_trace_of_autocast_holds_the_cast(tmp_path):
    """The module's own cast is a finding where autocast governs the rest."""
    class Manual(torch.nn.Module):
        def forward(self, x):
            return torch.exp((x * x).half())

    for form in ("scripted", "traced"):
        found = findings(Manual(), (X,), form, "autocast-fp16", tmp_path / "m.pt")
        [finding] = [f for f in found if f["rule"] == "MP105"]
        assert finding["location"]["file"] == __file__

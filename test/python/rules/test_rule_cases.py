"""Every rule about values has a lit test that fires in each dtype in which it can, and
is clean in each dtype.

The lit tests themselves say what is found where; here only their coverage is looked
at, by running the rule over its file."""

import json
import re
import subprocess

import pytest
from tool import BIN, ROOT, run_mpopt

OPT = BIN / "mpopt-opt"
ALL = {"f16", "bf16", "f32"}
FINDING = re.compile(r"^\S+?:(\d+):\d+: (?:error|warning|remark): .*\[(MP\d{3}) \w+\]$", re.M)
FLOAT = re.compile(r"tensor<(?:[\d?]+x)*(f16|bf16|f32|f64)[,>]")


def list_rules():
    listing = run_mpopt("--list-rules", "--format", "json", check=True).stdout
    # No passes: MP215 and MP309 (test/python/effects), settings of FP8 (test/python/train/test_fp8_settings.py).
    return [rule for rule in json.loads(listing)["rules"]
            if rule["id"][:3] in ("MP2", "MP3", "MP4") and rule["id"] not in ("MP215", "MP309")
            and rule["id"][:4] not in ("MP42", "MP43")]


def functions(lines):
    """Of each function: the numbers of its lines, from 1."""
    starts = [i for i, line in enumerate(lines) if line.lstrip().startswith("func.func")]
    for start, end in zip(starts, [*starts[1:], len(lines)]):
        yield range(start + 1, end + 1)


def dtypes(line):
    return [dtype for dtype in FLOAT.findall(line)]


@pytest.mark.parametrize("rule", list_rules(), ids=lambda rule: rule["id"])
def test_fires_and_is_clean_in_every_dtype(rule):
    file = ROOT / "test" / "Rules" / rule["family"] / f"{rule['name']}.mlir"
    text = file.read_text(encoding="utf-8")
    assert re.search(r"// RUN: .*-verify-diagnostics", text)
    # Rules about training judge the backward graph, which is made first.
    backward = re.findall(r"--mp-differentiate=\"([^\"]*)\"", text)[:1]
    run = subprocess.run([OPT, file, "--split-input-file",
                          *(f"--mp-differentiate={options}" for options in backward),
                          f"--rule-{rule['name']}", "--mp-emit-findings"],
                         capture_output=True, text=True, timeout=60)
    found = {int(line) for line, name in FINDING.findall(run.stderr) if name == rule["id"]}
    assert found, run.stderr
    lines = text.splitlines()
    # What an op computes in is its result's type, the last in its line.
    fired = {dtypes(lines[number - 1])[-1] for number in found if dtypes(lines[number - 1])}
    clean = set()
    for numbers in functions(lines):
        if not found & set(numbers):
            clean |= {dtype for number in numbers if " = " in lines[number - 1]
                      for dtype in dtypes(lines[number - 1])}
    expected = set(rule["dtypes"])
    # These are reported at the constant, which has another dtype in the file.
    at_constant = rule["decision"] == "file-fact"
    assert fired & ALL >= expected, f"{file.name} has no finding in {expected - fired}"
    assert fired & ALL <= expected or at_constant, f"{rule['id']} fires in {fired - expected}"
    assert clean >= ALL, f"{file.name} has no clean function in {ALL - clean}"


@pytest.mark.parametrize("rule", list_rules(), ids=lambda rule: rule["id"])
def test_offers_a_fix_where_its_record_says_so(rule):
    name = "".join(word.capitalize() for word in rule["name"].split("-"))
    source = (ROOT / "passes" / "rules" / rule["family"] / f"{name}.cpp").read_text(encoding="utf-8")
    assert bool(re.search(r"\bfix(By\w+)?\(", source)) == (rule["fix"] != "none")

"""Every rule about scripts fires where its cases say, and nowhere else."""

from __future__ import annotations

import json

import pytest
from lint_cases import CASES, read_cases
from mpopt.lint import linter, rules, table
from tool import run_mpopt

ALL = read_cases()


@pytest.mark.parametrize("case", ALL, ids=str)
def test_case(case):
    findings = linter.lint_text(case.text, "case.py", {case.rule})
    found = sorted({(finding.line, finding.severity, finding.fix is not None) for finding in findings})
    assert found == case.expected


@pytest.mark.parametrize("case", [case for case in ALL if any(fix for *_, fix in case.expected)], ids=str)
def test_fix_mends_and_does_nothing_twice(case):
    fixed, made = linter.fix_text(case.text, "case.py", {case.rule})
    assert made == sum(fix for *_, fix in case.expected)
    left = linter.lint_text(fixed, "case.py", {case.rule})
    assert [finding for finding in left if finding.fix is not None] == []
    assert len(left) == sum(not fix for *_, fix in case.expected)
    assert linter.fix_text(fixed, "case.py", {case.rule}) == (fixed, 0)
    compile(fixed, "case.py", "exec")


def test_every_rule_has_a_check_and_cases():
    names = set(table.load())
    assert names == set(rules.load()) == {path.stem for path in CASES.glob("*.py")}
    assert len(names) >= 25
    for name in names:
        own = [case for case in ALL if case.rule == name]
        assert any(case.expected for case in own), name
        assert any(not case.expected for case in own), name


def test_fixes_are_declared():
    """`fix` of a record: safe if every finding has one, sometimes if some do."""
    for name, rule in table.load().items():
        fixes = [fix for case in ALL if case.rule == name for *_, fix in case.expected]
        if rule.fix == "none":
            assert not any(fixes), name
        elif rule.fix == "safe":
            assert all(fixes), name
        else:
            assert any(fixes), name


def test_a_record_says_the_worst_severity():
    order = ("note", "warning", "error")
    worst = {}
    for case in ALL:
        for _, severity, _ in case.expected:
            worst[case.rule] = max(worst.get(case.rule, severity), severity, key=order.index)
    for name, rule in table.load().items():
        assert worst[name] == rule.severity, name


def test_the_tool_knows_the_rules():
    listed = json.loads(run_mpopt("--list-rules", "--format", "json", check=True).stdout)["rules"]
    ours = {rule["id"]: rule["name"] for rule in listed if rule["family"] == "source"}
    assert ours == {rule.id: rule.name for rule in table.load().values()}
    page = run_mpopt("--explain", "MP721", check=True).stdout
    assert "clip-without-unscale" in page and "docs/rules/MP721.md" in page

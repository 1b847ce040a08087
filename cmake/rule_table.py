"""Rules.td, as dumped by llvm-tblgen --dump-json, as a C++ table.

usage: rule_table.py RULES.json RULES.inc
"""

import json
import re
import sys
import textwrap
from pathlib import Path

TEXTS = ("id", "name", "family", "severity", "since", "observable", "summary",
         "what", "why", "example", "instead")
# Fields that are an enum each, with their words.
WORDS = {"hazard": ("own", "overflow", "underflow"),
         "mildHazard": ("own", "overflow", "underflow"),
         "about": ("results", "arguments"),
         "fix": ("safe", "sometimes", "none")}
FLAGS = ("byList", "byRange", "nonFinite", "byEffect", "ownSeverity", "ofLosses")
DTYPES = ("f16", "bf16", "f32")
DECISIONS_FILE = Path(__file__).resolve().parent.parent / "include/mpopt/Report/Decision.def"


def load_decisions():
    """The enumerator and the text of each test, by its word."""
    text = re.sub(r"^ *//.*$", "", DECISIONS_FILE.read_text(encoding="utf-8"), flags=re.M)
    found = re.findall(r'DECISION\((\w+), "([a-z-]+)",((?:\s*"(?:[^"\\]|\\.)*")+)\)', text)
    return {word: (enumerator, "".join(json.loads(part) for part in
                                       re.findall(r'"(?:[^"\\]|\\.)*"', texts)))
            for enumerator, word, texts in found}


DECISIONS = load_decisions()


def load(path):
    """The rules by id, each a dict of texts and a list of thresholds."""
    with open(path, encoding="utf-8") as file:
        records = json.load(file)
    rules = []
    for name in records["!instanceof"]["RuleRecord"]:
        record = records[name]
        rule = {key: textwrap.dedent(record[key]).strip() for key in TEXTS}
        rule["def"] = name
        rule["decision"] = record["decision"]
        rule["decisionThreshold"] = record["decisionThreshold"]
        for key in (*WORDS, *FLAGS, "dtypes"):
            rule[key] = record[key]
        rule["mildHazard"] = rule["mildHazard"] or rule["hazard"]
        rule["byMonitor"] = record["byMonitor"]
        rule["isPass"] = "Rule" in record["!superclasses"]
        rule["group"] = record.get("group", "")
        rule["thresholds"] = [
            {key: records[item["def"]][key] for key in ("key", "value", "meaning")}
            for item in record["thresholds"]]
        check(rule)
        rules.append(rule)
    rules.sort(key=lambda rule: rule["id"])
    keys = {item["key"] for rule in rules for item in rule["thresholds"]}
    for rule in rules:
        key = rule["decisionThreshold"]
        if key and key not in keys:
            sys.exit(f"Rules.td: {rule['id']}: no threshold '{key}'")
    for field in ("id", "name"):
        values = [rule[field] for rule in rules]
        twice = sorted({value for value in values if values.count(value) > 1})
        if twice:
            sys.exit(f"Rules.td: {field} used twice: {', '.join(twice)}")
    return rules


def check(rule):
    if not re.fullmatch(r"MP\d{3}", rule["id"]):
        sys.exit(f"Rules.td: {rule['def']}: id '{rule['id']}' is not MPnnn")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule["name"]):
        sys.exit(f"Rules.td: {rule['id']}: name '{rule['name']}' is not kebab-case")
    if rule["severity"] not in ("error", "warning", "note"):
        sys.exit(f"Rules.td: {rule['id']}: unknown severity '{rule['severity']}'")
    if rule["decision"] not in DECISIONS:
        sys.exit(f"Rules.td: {rule['id']}: unknown decision '{rule['decision']}'")
    if (rule["decision"] == "none") != (rule["observable"] == "not observable"):
        sys.exit(f"Rules.td: {rule['id']}: 'decision' and 'observable' disagree")
    for key, words in WORDS.items():
        if rule[key] not in words:
            sys.exit(f"Rules.td: {rule['id']}: {key} '{rule[key]}' is none of {', '.join(words)}")
    if not rule["dtypes"] or set(rule["dtypes"]) - set(DTYPES):
        sys.exit(f"Rules.td: {rule['id']}: 'dtypes' are some of {', '.join(DTYPES)}")
    for key in TEXTS:
        if not rule[key]:
            sys.exit(f"Rules.td: {rule['id']}: '{key}' is empty")


def is_unwritten(rule):
    """Whether texts are still those that scripts/new-rule wrote."""
    return any("(to be written" in rule[key] for key in TEXTS)


def raw(text):
    return f'R"mpopt({text})mpopt"'


def write(rules, out):
    out.write("// Made from passes/rules/Rules.td by cmake/rule_table.py.\n\n")
    for rule in rules:
        if rule["thresholds"]:
            out.write(f"constexpr ThresholdInfo k{rule['id']}Thresholds[] = {{\n")
            for item in rule["thresholds"]:
                out.write(f"  {{{raw(item['key'])}, {float(item['value'])!r}, "
                          f"{raw(item['meaning'])}}},\n")
            out.write("};\n")
        dtypes = ", ".join(raw(dtype) for dtype in rule["dtypes"])
        out.write(f"constexpr std::string_view k{rule['id']}Dtypes[] = {{{dtypes}}};\n")
    out.write("constexpr RuleInfo kRules[] = {\n")
    for rule in rules:
        fields = [f"Severity::{rule[key].title()}" if key == "severity"
                  else raw(rule[key]) for key in TEXTS]
        fields.append(f"k{rule['id']}Thresholds" if rule["thresholds"] else "{}")
        fields.append("Decision::" + DECISIONS[rule["decision"]][0])
        fields.append(raw(rule["decisionThreshold"]))
        for key, name in (("hazard", "Hazard"), ("mildHazard", "Hazard"), ("about", "Subject")):
            fields.append(f"{name}::{rule[key].title()}")
        fields += ["true" if rule[key] else "false" for key in FLAGS]
        fields.append(f"k{rule['id']}Dtypes")
        fields.append(raw(rule["fix"]))
        fields.append("true" if rule["isPass"] else "false")
        out.write("  {" + ",\n   ".join(fields) + "},\n")
    out.write("};\n")


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        write(load(sys.argv[1]), file)

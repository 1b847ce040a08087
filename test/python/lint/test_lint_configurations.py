"""Configurations: what is found in them, at which line, and what is refused."""

from __future__ import annotations

import json

import pytest
from mpopt.lint import cli, configuration, linter, source
from test_lint_command import lint, refused

TITAN = """\
[model]
name = "llama3"
[training]
# bytes
dtype = "%s"
mixed_precision_reduce = "%s"
[optimizer]
lr = 1e-4
"""
TUNE = """\
# A full training.
model:
  _component_: torchtune.models.llama3.%s
checkpointer:
  files: [
    a.safetensors
  ]
optimizer:
  _component_: torch.optim.AdamW
dtype: bf16  # of the weights
"""
HYDRA = "low: %s\ntrainer:\n  precision: ${low}\n  devices: 1\n"
DEEPSPEED = """{
\t"train_batch_size": 8,
  "fp16": {"enabled": true},
  "bf16": {"enabled": %s}
}
"""
AXOLOTL = "base_model: x\nlearning_rate: 1e-5\nfp16: true\nbf16: %s\n"


def find(text, path):
    return [(finding.rule, finding.line) for finding in linter.lint_text(text, path)]


@pytest.mark.parametrize("path, text, found", [
    ("a.toml", TITAN % ("bfloat16", "float16"), [("MP771", 5), ("MP771", 6)]),
    ("a.toml", TITAN % ("float32", "float32"), []),
    ("a.yaml", TUNE % "llama3_8b", [("MP771", 10)]),
    ("a.yaml", TUNE % "lora_llama3_8b", []),
    ("a.yml", HYDRA % "16-true", [("MP771", 3)]),
    ("a.yml", HYDRA % "16-mixed", []),
    ("a.yml", HYDRA % "${env:X}", []),
    ("ds.json", DEEPSPEED % "true", [("MP765", 1)]),
    ("ds.json", DEEPSPEED % "false", []),
    ("a.yaml", AXOLOTL % "yes", [("MP767", 1)]),
    ("a.yaml", AXOLOTL % "auto", []),
    ("a.yaml", "pure_bf16: true\nstage: sft\n", [("MP771", 1)]),
    ("a.yaml", "pure_bf16: true\nfinetuning_type: lora\n", [])])
def test_findings(path, text, found):
    assert find(text, path) == found


@pytest.mark.parametrize("path, text, reason", [
    ("a.json", '{"colour": 1}', "is no configuration of a training that is known"),
    ("a.json", '{"fp16": true,}', "is no JSON"),
    ("a.json", '["fp16: 1", {"train_batch_size": 1}]', "is no configuration"),
    ("a.toml", "dtype = \n", "is no TOML"),
    ("a.yaml", "a:\n\tdtype: bf16\n", "line 2 is no YAML: it is indented by a tab"),
    ("a.yaml", "- dtype: bf16\n", "is no YAML that is read"),
    ("a.yaml", "".join(f"{' ' * n}dtype{n}:\n" for n in range(99)) + "dtype: bf16\n", "nests deeper than"),
    ("a.json", '{"bf16": ' * 3000 + "1" + "}" * 3000, "is no JSON"),
    ("a.toml", "dtype = 1\n[" + ".".join("a" * 20_000) + "]\n", "nests deeper than 64 levels"),
    ("a.cfg", "dtype = bf16\n", "is no Python script, notebook or configuration")])
def test_refusals(path, text, reason, tmp_path):
    (tmp_path / path).write_text(text)
    done = lint(tmp_path / path)
    refused(done, reason)
    assert "no findings" not in done.stdout


def test_a_folder_has_those_that_are_known(tmp_path):
    (tmp_path / "ds.json").write_text(DEEPSPEED % "true")
    (tmp_path / "data.json").write_text('{"colour": 1}')
    (tmp_path / "broken.yaml").write_text("dtype: bf16\na:\n\tb: 1\n")
    done = lint(tmp_path, "--format", "json")
    assert done.stderr == ""
    assert [finding["file"] for finding in json.loads(done.stdout)["findings"]] == [f"{tmp_path}/ds.json"]


def test_those_of_a_folder_are_parsed_once(tmp_path, monkeypatch):
    (tmp_path / "deep.toml").write_text("dtype = 1\n[" + ".".join("a" * 20_000) + "]\n")
    (tmp_path / "a.yaml").write_text(TUNE % "llama3_8b")
    done = lint(tmp_path, "--format", "json")
    assert done.stderr == "" and [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == ["MP771"]
    # One that is named is refused in the same run.
    refused(lint(tmp_path, tmp_path / "deep.toml"), "deep.toml: nests deeper than 64 levels")
    monkeypatch.setattr(configuration, "parse", None)
    assert cli.list_files([str(tmp_path)]) == ([f"{tmp_path}/a.yaml", f"{tmp_path}/deep.toml"], [])


def test_what_yaml_is_read():
    text = ("a: 1  # one\nb: 'x # y'\nc: [1, 2.5, yes]\nd:\n  - e: 1\n    f: 2\n  - g\nh: &anchor\n  i: 1\nj: |\n  k: 1\n"
            "l:\n  m: ${a}\n  n: ${a}x\n  \"o p\": ~\ndtype: x\n---\nq: 1\n")
    tree = configuration.read_yaml(text)
    configuration.resolve(tree)
    assert tree["a"] == (1, 1) and tree["b"] == ("x # y", 2) and tree["c"] == ([1, 2.5, True], 3)
    assert tree["d"] == ({}, 4) and tree["h"][0] is tree["j"][0] is configuration.UNKNOWN
    assert tree["l"] == ({"m": (1, 13), "n": (configuration.UNKNOWN, 14), "o p": (None, 15)}, 12)
    assert list(tree) == ["a", "b", "c", "d", "h", "j", "l", "dtype"]


def test_references_that_go_round_end():
    with pytest.raises(source.SourceError, match="not read"):
        linter.lint_text("x: 1\n", "a.yaml")
    assert find("dtype: ${b}\nb: ${dtype}\n", "a.yaml") == []

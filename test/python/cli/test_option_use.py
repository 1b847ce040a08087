"""Which options go with which action of mpopt: no option is ignored in silence."""

import re

import pytest
from tool import run_mpopt


# The files do not exist: what is wrong with options is said before any is read.
ACTIONS = {
    "check": ["--check", "none.onnx"],
    "advise": ["--advise", "none.onnx"],
    "convert": ["--convert", "none.onnx", "-o", "none/out.onnx"],
    "instrument": ["--instrument", "none.onnx", "-o", "none/out.onnx"],
    "fix": ["--fix", "none.onnx", "-o", "none/out.onnx"],
    "strip": ["--strip", "none.onnx", "-o", "none/out.onnx"],
    "confirm": ["--confirm", "none.mprec", "--ledger", "none.json"],
    "emit-mlir": ["--emit-mlir", "none.onnx"],
    "list-rules": ["--list-rules"],
    "explain": ["--explain", "MP201"],
    "diff": ["--diff", "none.onnx", "other.onnx"],
    "completion": ["--completion", "bash"],
}
WRITING = {"check", "instrument"}
JUDGING = WRITING | {"diff", "fix"}
ASSUMING = JUDGING | {"advise"}
LEARNING = WRITING | {"advise"}
LISTING = ASSUMING | {"confirm"}
IMPORTING = ASSUMING | {"emit-mlir"}
CONVERTING = {"convert"}
# Option: a value that is right, and the actions that look at it.
OPTIONS = {
    "precision": ("fp16", JUDGING),
    "fp16": (None, JUDGING),
    "bf16": (None, JUDGING),
    "policy": ("tensorflow-cuda", ASSUMING | CONVERTING),
    "target": ("strict16", ASSUMING | CONVERTING),
    "device": ("a100", {"advise"}),
    "effort": ("high", ASSUMING),
    "input": ("x=0:1", ASSUMING | CONVERTING),
    "assume": ("0:1", ASSUMING | CONVERTING),
    "op": ("acme::Mix=range=0:1;slope=1;dtypes=f32", ASSUMING | CONVERTING),
    "dim": ("N=2", IMPORTING | CONVERTING),
    "input-shape": ("x=1x2", IMPORTING | CONVERTING),
    "method": ("forward", IMPORTING),
    "select": ("MP2", LISTING),
    "ignore": ("MP2", LISTING),
    "set": ("near-overflow=60000", LISTING),
    "min-certainty": ("certain", LISTING),
    "fail-on": ("error", LISTING),
    "require-verdict": (None, {"check"}),
    "format": ("json", LISTING - {"fix"} | {"list-rules", "explain"}),
    "baseline": ("none/known.json", {"check"}),
    "write-baseline": ("none/known.json", {"check"}),
    "config": ("none", WRITING),
    "color": ("never", set(ACTIONS)),
    "quiet": (None, set(ACTIONS)),
    "keep-fp32": ("none/keep.json", WRITING | {"confirm"}),
    "scales": ("none/scales.json", {"check"}),
    "headroom": ("1", {"check"}),
    "powers-of-two": (None, {"check"}),
    "max-error": ("0.1", {"check", "convert", "fix"}),
    "max-gradient-error": ("0.1", {"check"}),
    "dump-ranges": ("none/ranges.json", WRITING),
    "safe-input": (None, WRITING),
    "witness": ("none/witnesses", {"check"}),
    "fail-on-witness": (None, {"check"}),
    "whole-trials": (None, WRITING),
    "train": (None, LEARNING),
    "loss": ("mse", LEARNING),
    "loss-value": ("2.5", LEARNING),
    "train-config": ("none/train.json", LEARNING),
    "optimizer": ("adamw", LEARNING),
    "scaler": ("dynamic", LEARNING),
    "batch": ("8", LEARNING),
    "reduce": ("f16", LEARNING),
    "lr": ("1e-4", LEARNING),
    "clip": ("1", LEARNING),
    "memory": (None, WRITING),
    "dump-gradients": ("none/gradients.json", WRITING),
    "dry-run": (None, {"fix"}),
    "unsafe-fixes": (None, {"fix"}),
    "to": ("mixed-bf16", CONVERTING),
    "keep": ("Softmax", CONVERTING),
    "never": ("Softmax", CONVERTING),
    "keep-io-types": (None, CONVERTING),
    "assume-fp16": ("acme::Mix", CONVERTING),
    "report": ("none/report.json", CONVERTING),
    "opset": ("19", CONVERTING),
    "state": ("s=t:10", CONVERTING),
    "verify": ("random:2", CONVERTING | {"fix"}),
    "verify-tensors": (None, CONVERTING),
    "min-low": ("0.5", CONVERTING),
    "with-fixes": (None, CONVERTING),
    "write-anyway": (None, CONVERTING),
    "probe": ("all", {"instrument"}),
    "probe-with": ("outputs", {"instrument"}),
    "ledger": ("none.json", {"confirm", "diff"}),
    "against": ("none.mprec", {"check", "confirm", "diff"}),
    "calibration": ("none.json", {"check"}),
    "against-ledger": ("none.json", {"confirm", "diff"}),
    "noise": ("none.mprec", {"diff"}),
}
# They go with --train.
TRAINING = {"loss", "loss-value", "train-config", "optimizer", "lr", "scaler", "batch", "reduce", "clip",
            "memory", "dump-gradients", "max-gradient-error"}
# They go with operands that have scales, or with the file of those.
SCALED = {"scales", "max-error"}
OF_SCALES = {"headroom", "powers-of-two"}
IDLE = {"min-certainty", "fail-on", "format"}


def run(*arguments):
    return run_mpopt(*arguments)


def words(option):
    value, _ = OPTIONS[option]
    return [f"--{option}"] if value is None else [f"--{option}", value]


def test_every_option_is_here():
    """All that --help names, but actions, -o and what ends the program itself."""
    named = set(re.findall(r"--([a-z0-9-]+)", run("--help").stdout))
    assert named == (OPTIONS.keys() | ACTIONS.keys() | {"help", "version"}) - {"whole-trials"}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("option", OPTIONS)
def test_option_with_action(option, action):
    if option == "ledger" and action == "confirm":
        return  # its command has it already
    train = ["--train"] if option in TRAINING and action in OPTIONS[option][1] else []
    scaled = ["--precision", "fp8-e4m3"] if option in SCALED | OF_SCALES and action == "check" else []
    scales = ["--scales", "none/scales.json"] if option in OF_SCALES and action == "check" else []
    runs = ["--verify", "random", "--report", "none/report.json"] if option == "verify-tensors" and action in CONVERTING else []
    runs += ["--verify", "random"] if option == "max-error" and action == "fix" else []
    trained = ["--precision", "fp8"] if option == "max-gradient-error" and action == "check" else []
    done = run(*ACTIONS[action], *train, *trained, *scaled, *scales, *runs, *words(option))
    takers = OPTIONS[option][1]
    if action in takers:
        assert "goes with" not in done.stderr
        warned = f"mpopt: warning: --{option} has no effect on --instrument\n" in done.stderr
        assert warned == (action == "instrument" and option in IDLE)
        assert done.returncode == (0 if action in ("list-rules", "explain", "completion") else 2)
        return
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(rf"mpopt: error: --{option} goes with .*, not with --{action}\n",
                        done.stderr), done.stderr
    stated = re.findall(r"--([a-z-]+)", done.stderr.split("goes with")[1].split(", not with")[0])
    assert set(stated) == takers

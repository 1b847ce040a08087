"""What reads files that others wrote, with seeds for each: a row of READERS is a reader.

Readers in Python run in a fork of the fuzzer, the tool by itself. A command is words, of which FILE is the
mutated file, and names of other seeds stand for files of their contents."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mutations
import records
from mpopt import _assumed, _console, _feeds, converting, instrumenting
from mpopt._command import Error
from mpopt.lint import cli, rules
from mpopt.monitor import assumptions, history, reading, record
from mpopt.view import __main__, sources
from mutations import Mutation

ROOT = Path(__file__).resolve().parents[2]
FILE, BESIDE = "FILE", "BESIDE"
#: Bytes that a thread with the stack for deep scripts reserves, and does not use (python/mpopt/lint/source.py).
DEEP_STACK = 512 << 20


@dataclasses.dataclass(frozen=True)
class Reader:
    """`command`: of the tool, or for `main` in Python. `suffix`: of the mutated file. `share`: of the runs, beside
    those of others. `prefix`: of an error line; `many`: each fault of a file has one. `beside`: a seed, and what
    makes the file BESIDE of it and of the mutated file."""

    name: str
    command: tuple[str, ...]
    seeds: tuple[str, ...]
    mutate: tuple[Mutation, ...]
    suffix: str = ""
    main: Callable[[list[str]], int] | None = None
    share: int = 1
    prefix: str = "mpopt: error: "
    many: bool = False
    beside: tuple[str, Callable[[bytes, bytes], bytes]] | None = None
    reserved: int = 0


def lint(arguments: list[str]) -> int:
    return cli.main(arguments)


# Forks share these: the modules of the linter's rules, and the pages of all rules, which take a run of the tool each.
rules.load()
sources._rules()


def view(arguments: list[str]) -> int:
    return __main__.main(arguments)


def load(arguments: list[str]) -> int:
    """The functions of the package that read a kind of file, as a command would call them."""
    readers = {
        "assumptions": _feeds.read_assumptions, "ledger": record.Ledger.read, "record": reading.RunFile, "history": history.read,
        "keep": converting._read_keep, "report": lambda path: assumptions.read(None, path),
        "settings": lambda path: _assumed._read_toml(Path(path), _assumed.Assumed(0, 1)),
        "instrumented": lambda path: instrumenting.Instrumented.read(path.removesuffix(".probes.json")),
        "ranges": lambda path: _assumed._read_npz(Path(path), "x")}
    kind, path = arguments
    try:
        readers[kind](path)
    except Error as error:
        _console.print_error("mpopt", error)
        return 2
    return 0


BINARY = (mutations.of_bytes,)
TEXT = (mutations.of_bytes, mutations.of_text, mutations.of_literals, mutations.of_literals)
JSON = (mutations.of_bytes, mutations.of_text, mutations.of_json, mutations.of_json)
RECORD = (mutations.of_bytes, records.of_record, records.of_record)
ARCHIVE = (mutations.of_bytes, mutations.of_archive, mutations.of_archive)
CHECK = ("--fail-on", "never", "-o", "/dev/null")

READERS = [
    Reader("onnx", ("--check", FILE, *CHECK), ("mlp.onnx", "conv.onnx", "layers.onnx"), BINARY, ".onnx", share=4, many=True),
    Reader("program", ("--check", FILE, *CHECK), ("linear.pt2",), ARCHIVE, ".pt2", share=3, many=True),
    Reader("torchscript", ("--check", FILE, "--input-shape", "input=2x4", *CHECK), ("linear.pt",), ARCHIVE, ".pt", share=2, many=True),
    Reader("settings", ("--check", "mlp.onnx", "--config", FILE, *CHECK), ("settings.toml",), TEXT, ".toml", share=2),
    Reader("policy", ("--check", "mlp.onnx", "--policy", FILE, *CHECK), ("policy.json",), JSON, ".json"),
    Reader("target", ("--check", "mlp.onnx", "--target", FILE, *CHECK), ("target.json",), JSON, ".json"),
    Reader("training", ("--check", "mlp.onnx", "--train", "--train-config", FILE, *CHECK),
           ("deepspeed.json", "trainer.json", "lightning.yaml"), JSON, ".json", share=2),
    Reader("baseline", ("--check", "mlp.onnx", "--baseline", FILE, *CHECK), ("baseline.json",), JSON, ".json"),
    Reader("feeds", ("--check", "mlp.onnx", "--input", f"x=@{FILE}", *CHECK), ("x.npz",), ARCHIVE, ".npz"),
    Reader("two reports", ("--diff", "report.json", FILE, *CHECK), ("report.json",), JSON, ".json"),
    Reader("ledger", ("--confirm", BESIDE, "--ledger", FILE, *CHECK), ("ledger.json",), JSON, ".json", share=2,
           beside=("run.mprec", records.tie)),
    Reader("record", ("--confirm", FILE, "--ledger", "ledger.json", *CHECK), ("run.mprec",), RECORD, ".mprec"),
    Reader("script", (FILE, "--fail-on", "never", "--jobs", "1"), ("train.py", "cases.py"), TEXT, ".py", lint, 4, reserved=DEEP_STACK),
    Reader("script to fix", (FILE, "--diff"), ("train.py", "cases.py"), TEXT, ".py", lint, 2, reserved=DEEP_STACK),
    Reader("shown report", (FILE, "-o", "/dev/null"), ("report.json", "reports.json"), JSON, ".json", view, 3, "mpopt.view: error: "),
    Reader("shown history", (FILE, "-o", "/dev/null"), ("run.history.jsonl",), (*JSON, mutations.of_lines), ".history.jsonl", view, 2,
           "mpopt.view: error: "),
    *(Reader(f"{kind} in Python", (kind, FILE), (seed,), mutate, suffix, load) for kind, seed, mutate, suffix in (
        ("assumptions", "ledger.json", JSON, ".json"), ("ledger", "ledger.json", JSON, ".json"), ("record", "run.mprec", RECORD, ".mprec"),
        ("history", "run.history.jsonl", (*JSON, mutations.of_lines), ".history.jsonl"), ("keep", "keep.json", JSON, ".json"),
        ("report", "report.json", JSON, ".json"), ("settings", "settings.toml", TEXT, ".toml"),
        ("instrumented", "ledger.json", JSON, ".probes.json"), ("ranges", "x.npz", ARCHIVE, ".npz"))),
]


# --- Seeds ---

SETTINGS = """\
precision = "fp16"
fail-on = "error"
[inputs]
x = ["-1:1", "~0,0.5"]
[[suppress]]
rule = "MP201"
reason = "known"
expires = 2999-12-31
"""
DEEPSPEED = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4, "gradient_clipping": 1.0,
             "fp16": {"enabled": True, "initial_scale_power": 16, "loss_scale_window": 1000}, "zero_optimization": {"stage": 2},
             "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95], "eps": 1e-8}}}
TRAINER = {"output_dir": "out", "learning_rate": 5e-5, "per_device_train_batch_size": 8, "fp16": True, "max_grad_norm": 1.0,
           "adam_epsilon": 1e-8, "gradient_accumulation_steps": 2}
LIGHTNING = "trainer:\n  precision: 16-mixed\n  gradient_clip_val: 1.0\n  accumulate_grad_batches: 4\n  devices: 2\n"


def _run(tool: Path, *arguments, folder: Path) -> None:
    done = subprocess.run([tool, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1):
        raise SystemExit(f"a seed cannot be made: {done.stderr}")


def _write_models(folder: Path) -> None:
    import numpy
    import onnx
    import page_models
    import small_models

    models = small_models.models()
    onnx.save(onnx.parser.parse_model(small_models.texts()["mlp"]), folder / "mlp.onnx")
    name = max(models, key=lambda each: len(models[each].SerializeToString()))
    onnx.save(models[name], folder / "conv.onnx")
    page_models.layers(folder / "layers.onnx", 16, large=1)
    numpy.savez(folder / "x.npz", x=numpy.ones((2, 4), "f4"), lo=numpy.zeros(4, "f4"), hi=numpy.ones(4, "f4"))


def _write_torch_models(folder: Path) -> None:
    """Nothing where there is no PyTorch: readers without seeds are left out."""
    try:
        import torch
    except ImportError:
        return
    import warnings

    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(module, (torch.ones(2, 4),)), str(folder / "linear.pt2"))
        torch.jit.script(module).save(str(folder / "linear.pt"))


def _write_runs(folder: Path, tool: Path) -> None:
    """Reports, a ledger and a record of it."""
    import histories

    library = tool.parents[1] / "lib" / "libmpopt_record.so"
    _run(tool, "--check", "layers.onnx", "--precision", "fp16", "--min-certainty", "possible", "--format", "json", "-o", "report.json",
         "--keep-fp32", "keep.json", "--write-baseline", "baseline.json", folder=folder)
    _run(tool, "--check", "mlp.onnx", "layers.onnx", "--format", "json", "-o", "reports.json", folder=folder)
    _run(tool, "--instrument", "mlp.onnx", "--probe", "all", "-o", "probed", folder=folder)
    (folder / "probed.probes.json").rename(folder / "ledger.json")
    record = ROOT / "test" / "Tools" / "mpopt" / "Inputs" / "record.py"
    subprocess.run([sys.executable, record, library, "ledger.json", "run.mprec", "0:f32:1,2,3,4", "1:f32:nan,1"], cwd=folder, check=True)
    histories.write(folder / "run.history.jsonl", steps=30)


def make_seeds(folder: Path, tool: Path) -> None:
    """Files under the names that READERS have, by a process of its own: those of the readers are forks of the
    fuzzer's, which PyTorch would make large."""
    paths = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, __file__, folder, tool], check=True, env={**os.environ, "PYTHONPATH": paths})


def write_seeds(folder: Path, tool: Path) -> None:
    cases = ROOT / "test" / "python" / "lint" / "cases"
    texts = {
        "settings.toml": SETTINGS, "deepspeed.json": json.dumps(DEEPSPEED), "trainer.json": json.dumps(TRAINER), "lightning.yaml": LIGHTNING,
        "policy.json": (ROOT / "lib" / "Policy" / "tables" / "tensorflow-cuda.json").read_text(),
        "target.json": (ROOT / "lib" / "Support" / "targets" / "strict16.json").read_text(),
        "train.py": (cases / "clip-without-unscale.py").read_text(),
        "cases.py": "".join(path.read_text() for path in sorted(cases.glob("*.py"))[::5])}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    _write_models(folder)
    _write_torch_models(folder)
    _write_runs(folder, tool)


if __name__ == "__main__":
    write_seeds(Path(sys.argv[1]), Path(sys.argv[2]))

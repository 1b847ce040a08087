"""The commands of the example, for one training in a folder of its own.

`Steps` runs what the page shows, in its order, and keeps what came of it in the folder:
lint.json, model.pt2, model.pt, check.json, check.html, run.mprec, run.html, probed.pt,
confirm.json, confirm.html, and the commands themselves in commands.txt."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
#: Autocast's lists on a CPU differ from those on CUDA.
CPU = "--policy=pytorch-cpu-2.14"


@dataclasses.dataclass(frozen=True)
class Training:
    """A training script with what mpopt is told of it: `options` of --check --train, the cast
    that the script makes of the model, and the steps that the monitor sees. `model` is exported, with
    the rows of one of the `passes` of a step."""

    name: str
    title: str
    script: str
    options: tuple[str, ...]
    cast: str = ""
    steps: int = 100
    #: Beside FP32 (docs/monitor.md): 0 is as good, 1 is worse by at most 5 %, 2 is not accepted.
    type: int = 0
    model: str = "MiniMind"
    passes: int = 1
    #: What the first step multiplies the loss by, where the script has it and not the model.
    scale: float | None = None
    #: What makes the script its own FP32 reference; without it that is FP32's script.
    wide: tuple[tuple[str, str], ...] = ()
    #: Lint reads the folder as one program, and not script and model file by file.
    project: bool = False


ADAM = "--optimizer=adamw,lr=1e-3"
TRAININGS = {training.name: training for training in (
    Training("fp32", "FP32", "train_fp32.py", ("--precision=as-is", ADAM, "--scaler=none")),
    Training("bf16_autocast", "BF16 autocast", "train_bf16_autocast.py",
             ("--precision=autocast-bf16", CPU, ADAM, "--scaler=none")),
    Training("fp16_autocast", "FP16 autocast, GradScaler", "train_fp16_autocast.py",
             ("--precision=autocast-fp16", CPU, ADAM, "--scaler=dynamic")),
    Training("fp16", "FP16 throughout", "train_fp16.py",
             ("--precision=as-is", f"{ADAM},eps=1e-4", "--scaler=1024"), cast="half", type=1),
    Training("bf16", "BF16 throughout", "train_bf16.py",
             ("--precision=as-is", ADAM, "--scaler=none"), cast="bfloat16"),
    Training("bf16_master", "BF16, FP32 master weights", "train_bf16_master.py",
             ("--precision=as-is", f"{ADAM},master=yes", "--scaler=none"), cast="bfloat16"),
    # The auxiliary loss, a thousandth of the whole, is not told.
    Training("documented", "FP16 autocast, the documented loop", "train_documented.py",
             ("--precision=autocast-fp16", CPU, ADAM, "--scaler=dynamic", "--batch=1,accumulate=4",
              "--loss=cross-entropy:,labels:ignore=-100:class_axis=-1"),
             model="MiniMindLM", passes=4, scale=65536 / 4,
             wide=(('GradScaler("cpu"', 'GradScaler("cpu", enabled=False'),
                   ("dtype=torch.float16", "dtype=torch.float16, enabled=False"))),
)}


class Failed(RuntimeError):
    """A command ended with a status that it should not have."""


def environment() -> dict[str, str]:
    """That of the commands: the package of the checkout, where none is installed."""
    variables = dict(os.environ)
    if importlib.util.find_spec("mpopt") is None:
        variables.setdefault("MPOPT_BUILD", str(ROOT / "build"))
        variables["PYTHONPATH"] = str(ROOT / "python")
    return variables


class Steps:
    """Steps of `training` on the scripts in `sources`, in `folder`."""

    def __init__(self, training: Training, sources: Path, folder: Path, data: Path,
                 batch: int = 4):
        self.training, self.sources, self.folder = training, sources, folder
        self._data, self._batch = data, batch
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "commands.txt").write_text("")

    def run(self, *command: str | Path, accepted: tuple[int, ...] = (0,)) -> str:
        """The standard output of a command, which goes by the Python that runs this."""
        words = [str(word) for word in command]
        with (self.folder / "commands.txt").open("a") as file:
            file.write(shlex.join(["python", *words]) + "\n")
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True,
                              env=environment())
        if done.returncode not in accepted:
            raise Failed(f"status {done.returncode} of: {shlex.join(['python', *words])}\n"
                         f"{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return done.stdout

    def mpopt(self, *words: str | Path) -> None:
        """Findings make the status 1."""
        self.run("-m", "mpopt", *words, accepted=(0, 1))

    def _json(self, name: str) -> dict:
        return json.loads((self.folder / name).read_text())

    def lint(self) -> list[dict]:
        """Findings in the script and in the model's code."""
        files = [self.sources / self.training.script, self.sources / "model.py"]
        self.mpopt("lint", *([self.sources] if self.training.project else files), "--format=json", "-o",
                   self.folder / "lint.json")
        return [finding for finding in self._json("lint.json")["findings"] if Path(finding["file"]) in files]

    def mend_by_lint(self) -> None:
        self.mpopt("lint", "--fix", self.sources / self.training.script,
                   self.sources / "model.py")

    def export(self) -> None:
        cast = [f"--cast={self.training.cast}"] if self.training.cast else []
        self.run(self.sources / "export.py", self.folder, *cast, f"--model={self.training.model}",
                 f"--batch={self._batch // self.training.passes}", f"--data={self._data}")

    def _judged(self) -> list[str]:
        batch = self.folder / "batch.npz"
        return ["--train", *self.training.options, f"--input=tokens=@{batch}",
                f"--input=labels=@{batch}"]

    def check(self) -> dict:
        """The report on model and training step before the first one."""
        for form in ("json", "html"):
            self.mpopt("--check", self.folder / "model.pt2", *self._judged(),
                       f"--format={form}", "-o", self.folder / f"check.{form}")
        return self._json("check.json")

    def train(self, steps: int | None = None) -> dict:
        """Losses and alerts of a training that the monitor watches."""
        self.record("run", steps or self.training.steps)
        self.run("-m", "mpopt.view", self.folder / "run.mprec", "-o", self.folder / "run.html")
        return self._json("run.json")

    def record(self, name: str, steps: int, seed: int = 0) -> None:
        """NAME.mprec and NAME.json of a training."""
        for old in self.folder.glob(f"{name}*"):
            old.unlink()
        self.run(self.sources / self.training.script, f"--steps={steps}", f"--batch={self._batch}",
                 f"--data={self._data}", f"--seed={seed}", "--record", self.folder / f"{name}.mprec",
                 "--summary", self.folder / f"{name}.json")

    def judge(self, reference: "Steps", steps: int) -> dict:
        """The verdict on the training that `train` left, by the one that the reference left; what is
        noise, a training of the reference with another seed says."""
        reference.record("seed", steps, seed=1)
        self.mpopt("--diff", reference.folder / "run.mprec", self.folder / "run.mprec",
                   "--noise", reference.folder / "seed.mprec", "--format=json", "-o", self.folder / "verdict.json")
        return self._json("verdict.json")["verdict"]

    def confirm(self, steps: int) -> dict:
        """Predictions, decided by a training of the model with probes."""
        probed, record = self.folder / "probed.pt", self.folder / "probed.mprec"
        record.unlink(missing_ok=True)
        self.mpopt("--instrument", self.folder / "model.pt", *self._judged(), "-o", probed)
        self.run(self.sources / self.training.script, f"--steps={steps}",
                 f"--batch={self._batch}", f"--data={self._data}",
                 "--probed", probed, "--record", record)
        for form in ("json", "html"):
            self.mpopt("--confirm", record, "--ledger", f"{probed}.probes.json",
                       f"--format={form}", "-o", self.folder / f"confirm.{form}")
        return self._json("confirm.json")


def copy_sources(folder: Path) -> Path:
    """The example's modules, to be changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in HERE.glob("*.py"):
        shutil.copy(file, folder)
    return folder

"""Hostile and generated scripts: lint takes time in proportion to their length, takes values that would
grow without end as unknown, and reports a script that cannot be read in one line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest
from mpopt.lint import linter
from test_lint_command import FAULTY, lint, refused
from tool import ROOT

HEAD = "import torch\n"
# Of an idle machine's processor; one that is shared is up to three times as slow.
LINES_A_SECOND = 10_000 / 3
START = 1.0


def measure(path) -> float:
    """Seconds of the processor for a script, with the start of Python."""
    program = ("import resource, subprocess, sys\n"
               "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, timeout=110)\n"
               "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
               "assert done.returncode in (0, 1), done.returncode\n"
               "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n")
    done = subprocess.run([sys.executable, "-c", program, sys.executable, "-m", "mpopt.lint", path],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    seconds, kilobytes = map(float, done.stdout.split())
    assert kilobytes < 1 << 20
    return seconds


def call(index: int) -> str:
    return f"model.layer{index}.attn.weight.data.copy_(other.part{index % 7}.get('a{index}').view(-1, {index}))\n"


STEP = ("  scaler.scale(loss).backward()\n  torch.nn.utils.clip_grad_norm_(p, 1)\n  scaler.step(opt)\n"
        "  scaler.update()\n  opt.zero_grad()\n")
# Scripts of about as many lines as asked for.
MANY_LINES = {
    "calls": lambda lines: "".join(map(call, range(lines))),
    "backward": lambda lines: "".join(f"y{index} = net(x).loss.mean().backward()\n" for index in range(lines)),
    "steps": lambda lines: "for x in y:\n" + STEP * (lines // 5),
    "branches": lambda lines: "for x in y:\n" + "".join(
        f"  if x{index}:\n    loss.backward()\n    opt.step()\n" for index in range(lines // 3)),
    "variables in branches": lambda lines: "def f(x):\n" + "".join(
        f"  v{index} = 1\n  if x:\n    v{index} = 2\n" for index in range(lines // 3)),
    "attributes": lambda lines: "".join(f"self.a{index}.b = 1\nself.a{index} = 2\n" for index in range(lines // 2)),
    "every nth pass": lambda lines: "for i, x in y:\n" + "".join(
        "  loss.backward()\n  if i % n == 0:\n    opt.step()\n" for _ in range(lines // 3)),
    "paths": lambda lines: "".join(
        f"def f{number}(loss, opt):\n" + "".join(f"  if a{index}:\n    loss.backward()\n" for index in range(10))
        + "  opt.step()\n" * 20 for number in range(lines // 41)),
    "optimizers": lambda lines: "".join(
        f"m{index} = torch.nn.Linear(3, 3).half()\no{index} = torch.optim.Adam(m{index}.parameters())\n"
        for index in range(lines // 2)),
    "swallowed errors": lambda lines: "for x in y:\n" + (
        "  try:\n    loss.backward()\n    opt.step()\n  except Exception:\n    pass\n" * (lines // 5)),
    "trainers": lambda lines: "from transformers import TrainingArguments, Trainer\n" + "".join(
        f"a{index} = TrainingArguments(fp16=True)\nTrainer(m, a{index})\n" for index in range(lines // 2)),
    "classes": lambda lines: "class A0: pass\n" + "".join(
        f"class A{index}({', '.join([f'A{index - 1}'] * 10)}):\n  def f(self): return self.g.h\n"
        for index in range(1, lines // 2)),
    "names": lambda lines: "x = torch\n" + "x = x.aaaaaaaaaa\n" * lines,
    "mappings": lambda lines: "d = {}\n" + "".join(
        f"d = {{**d, 'k{index}': 1}}\nd[y]\n" for index in range(lines // 2)),
    "parameters": lambda lines: f"def f({', '.join(f'a{index}=1' for index in range(lines // 10))}): pass\n"
                                + "f()\n" * lines,
    "entries": lambda lines: "x = [\n" + "".join(f"  ({index}, 'a', [1.5, None]),\n" for index in range(lines)) + "]\n",
}


@pytest.mark.parametrize("kind", MANY_LINES)
def test_lines_a_second(kind, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + "scaler = torch.cuda.amp.GradScaler()\n" + MANY_LINES[kind](10_000))
    assert measure(path) < START + 10_000 / LINES_A_SECOND


# A line of some 100 kB each.
LONG_LINES = {
    "digits": "x = '" + "deadbeef" * 12_500 + "'\n",
    "word": "x = " + "a1b2" * 25_000 + "\n",
    "scalers": "x = " + "scaler" * 17_000 + "\n",
    "brackets": "# " + "scaler[" * 14_000 + "\n",
    "imports": "from torch.cuda.amp import autocast\nautocast()\n# " + "import " * 14_000 + "from torch import " * 5_000 + "\n",
    "silenced": "x = y.half().softmax(0)  " + "# noqa: " * 12_500 + "\n",
    "literal": "x = [" + ", ".join(map(str, range(20_000))) + "]\n",
    "chain": ("x = " + ".".join(["abcd"] * 1_400) + "\n") * 15,
    "product": "x = torch.zeros(3)\n" + ("y = " + "*".join("x" * 1_400) + "\n") * 35,
    "minus": ("x = " + "-" * 1_400 + "1\n") * 70,
    "spaces": "opt.step()\nx = 1 /" + "\f" * 50_000 + "2\n",
}


@pytest.mark.parametrize("kind", LONG_LINES)
def test_long_lines(kind, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + LONG_LINES[kind])
    assert measure(path) < START + 5


# Of some 100 kB each.
CONFIGURATIONS = {
    "dashes": ("a.yaml", "-\n" * 50_000),
    "spaces": ("a.yaml", "dtype: bf16\na" + " " * 100_000 + "b\n"),
    "digits": ("a.yaml", "dtype: bf16\na: " + "1" * 100_000 + "b\n"),
    "levels": ("a.toml", "dtype = 1\n[" + ".".join("a" * 50_000) + "]\n"),
}


@pytest.mark.parametrize("kind", CONFIGURATIONS)
def test_configurations(kind, tmp_path):
    name, text = CONFIGURATIONS[kind]
    (tmp_path / name).write_text(text)
    assert measure(tmp_path) < START + 2


def test_literal_of_200000_entries(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + "x = [" + ", ".join(map(str, range(200_000))) + "]\nfor y in x: pass\n")
    assert measure(path) < START + 10


GROWING = ["a = a * a", "a = a ** a", "a = a + a", "a = a << a", "a = a * 9999", "a = (a, a)", "a = [a, a]", "a = [*a, *a]",
           "a = {'x': a, 'y': a}", "a = {**a, **a}", "a = f'{a}{a}'", "a = '%s%s' % (a, a)", "a = -a * a", "a = lambda: a + a",
           "a = [a for _ in a]", "a = a.replace(a, a)", "a = a @ a"]


@pytest.mark.parametrize("first", ["3", "2.5", "'ab'", "[1]", "(1, 2)", "{'x': 1}", "torch.zeros(3)"])
def test_values_do_not_grow(first):
    uses = "x.masked_fill(m, a)\nm = mask * a\ntorch.optim.Adam(a)\nfor b in a: a[b]\nx.half().clamp(a)\n"
    for line in GROWING:
        linter.lint_text(f"{HEAD}a = {first}\n" + f"{line}\n" * 40 + uses)


def test_wide_values(tmp_path):
    wide = "a = [" + "0," * 900 + "]\n" + "".join(f"{name} = [" + f"{of}," * 900 + "]\n" for of, name in ("ab", "bc", "cd"))
    path = tmp_path / "train.py"
    path.write_text(HEAD + wide + "torch.optim.SGD(d)\n" * 50 + "for z in d: pass\n" * 50)
    assert measure(path) < START + 5


def test_large_numbers():
    """No format holds them, and none of them can be printed as a float."""
    text = f"{HEAD}x = torch.zeros(3).half()\n" + "".join(
        f"x.masked_fill(m, {sign}{number})\ny = mask * {sign}{number}\nx + {number}\nx.clamp({number})\nx ** {number}\n"
        for sign in ("", "-") for number in ("1" + "0" * 400, "1e400", "1e308 * 10", "10 ** 64 * 10 ** 300"))
    linter.lint_text(text)


# --- Files that are none ---


@pytest.mark.parametrize("data, reason", [
    (b"# coding: undefined\nimport torch\n", "'undefined' codec"),
    (b"# coding: punycode\n" + b"a" * 1_000_000, "unknown encoding: punycode"),
    (b"# coding: idna\n" + b"a" * 1_000_000, "unknown encoding: idna"),
    (b"# coding: rot13\n", "encoding"), (b"# coding: zlib\n", "encoding"),
    (b"import torch\nx = " + b"1" * 4301 + b"\n", "line 2 is not valid Python"),
    (b"x = [" + b"1," * 1_500_000 + b"]\n", "more than 1,000,000 operators"),
])
def test_other_files_are_judged(data, reason, tmp_path):
    (tmp_path / "bad.py").write_bytes(data)
    (tmp_path / "good.py").write_text(FAULTY)
    (tmp_path / "clean.py").write_text("import torch\n")
    done = lint(tmp_path / "bad.py")
    refused(done, reason)
    assert done.stdout == ""
    done = lint(tmp_path / "bad.py", tmp_path / "clean.py")
    refused(done, reason)
    assert done.stdout == "no findings in 1 file\n"
    done = lint(tmp_path / "bad.py", tmp_path / "good.py")
    refused(done, reason)
    assert "MP721" in done.stdout and "in 1 file of 1" in done.stdout


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_reports_name_what_could_not_be_read(form, tmp_path):
    (tmp_path / "bad.py").write_text("import torch\nx = = 1\n")
    done = lint("bad.py", "--format", form, cwd=tmp_path)
    refused(done, "line 2 is not valid Python")
    assert "bad.py" in done.stdout and "line 2 is not valid Python" in done.stdout
    assert form != "sarif" or '"executionSuccessful": false' in done.stdout


def test_pipes(tmp_path):
    """One that something writes to is read; no command waits for one that nothing does."""
    pipe = tmp_path / "pipe.py"
    os.mkfifo(pipe)
    done = lint(pipe)
    refused(done, "pipe.py: is a pipe that nothing writes to")
    assert done.stdout == ""
    (tmp_path / "good.py").write_text(FAULTY)
    assert "MP721" in lint(tmp_path, "--format", "json").stdout
    read, write = os.pipe()
    os.write(write, FAULTY.encode())
    os.close(write)
    assert "MP721" in lint(f"/dev/fd/{read}", pass_fds=[read]).stdout
    os.close(read)


def test_devices(tmp_path):
    refused(lint("/dev/zero"), "is a device, not a file")
    with open("/dev/zero", "rb") as zero:
        refused(lint("-", stdin=zero), "is larger than 8 MB")


def test_long_names_are_shortened(tmp_path):
    for arguments in ([f"--{'x' * 100_000}"], ["--select", "y" * 100_000, "."], ["z" * 100_000], ["-o", "o" * 100_000, "."]):
        done = lint(*arguments, cwd=tmp_path)
        refused(done, "characters]")
        assert len(done.stderr) < 1200


def test_out_of_memory_is_one_line(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(HEAD + "x = [" + "f(a, b), " * 150_000 + "]\n")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))

    done = lint(path, preexec_fn=limit)
    assert done.returncode == 0 or "Traceback" not in done.stderr and done.stderr.count("\n") == 1


def test_newer_grammar(tmp_path):
    """The line names the Python that read the script, which may be older than the script's."""
    path = tmp_path / "train.py"
    path.write_text("import torch\nx = await = 1\n")
    refused(lint(path), f"line 2 is not valid Python {sys.version_info.major}.{sys.version_info.minor}: ")

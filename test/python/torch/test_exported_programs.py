"""What programs of torch.export have beside plain ops: symbolic dims, changed buffers,
operators that take graphs, gradients. Each is run, too: values lie in their bounds."""

from __future__ import annotations

import itertools
import json
import re
import resource
import shutil
import subprocess

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
import torchscript_import  # noqa: E402
from tool import MPOPT, run_mpopt  # noqa: E402

INPUT = torch.linspace(-1, 1, 24).reshape(6, 4)


@pytest.fixture
def judged(tmp_path):
    """Saves a module's program and checks it, with and without decomposition."""
    def run(module, *inputs, options=(), **how):
        program = exported_programs.export(module, inputs, **how)
        given = [program, program.run_decompositions()]
        said = []
        for number, one in enumerate(given):
            path = exported_programs.save(one, tmp_path / f"{number}.pt2")
            said.append(exported_programs.check(path, tmp_path, "--precision", "as-is",
                                                "--assume=-1:1", *options))
            coverage = said[-1].report["coverage"]
            assert coverage["ops"] and not coverage["unmodelled"], coverage
        return given[0], said

    return run


def assert_sound(module, inputs, checked):
    with torch.no_grad():
        outputs = torchscript_import.flatten(module(*inputs))
    names = checked.ranges["outputs"]
    assert len(names) == len(outputs)
    for name, output in zip(names, outputs):
        bounds = checked.ranges["tensors"][name]
        assert not torchscript_import.outside(output, bounds), name
        assert bounds["dtype"] == torchscript_import.DTYPES[output.dtype]


class Cond(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.exp(), lambda x: x - 5, (x,))


class While(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * 0.5 + 1),
                          (torch.tensor(0), x))


class Scan(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        return scan(lambda carry, row: (carry * 0.5 + row, (carry + row).tanh()),
                    torch.zeros(4), x)


class Map(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.map import map as map_rows

        return map_rows(lambda row, w: (row * w).sin(), x, torch.full((4,), 2.0))


class Regions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            x = self.first(x)
            with torch.autocast("cpu", enabled=False):
                x = x.float() * 2
        with torch.no_grad():
            return self.second(x)


@pytest.mark.parametrize("module", [Cond(), While(), Scan(), Map(), Regions()],
                         ids=lambda module: type(module).__name__)
def test_operators_that_take_graphs(judged, module):
    _, said = judged(module, INPUT)
    for checked, sign in itertools.product(said, (1, -1)):
        assert_sound(module, (INPUT * sign,), checked)


def test_long_scan(judged):
    """More rounds than are followed one by one."""
    rows = torch.linspace(-1, 1, 1200).reshape(300, 4)
    _, said = judged(Scan(), rows)
    for checked in said:
        assert_sound(Scan(), (rows,), checked)
        stacked = checked.ranges["tensors"][checked.ranges["outputs"][1]]
        assert stacked["lo"] >= -1 and stacked["hi"] <= 1
        assert stacked["shape"] == [300, 4]


def test_branches_keep_both_sides(judged):
    _, said = judged(Cond(), INPUT)
    for checked in said:
        bounds = checked.ranges["tensors"][checked.ranges["outputs"][0]]
        assert bounds["lo"] <= -6 and bounds["hi"] >= 2.718


def test_autocast_region(judged):
    """The region's product is in bf16, what it switches off is not."""
    _, said = judged(Regions(), INPUT)
    dtypes = {name.rsplit(".", 1)[-1].rsplit("/", 1)[-1]: bounds["dtype"]
              for name, bounds in said[0].ranges["tensors"].items()}
    assert dtypes["linear"] == "bf16" and dtypes["mul"] == dtypes["linear_1"] == "f32"


class Dims(torch.nn.Module):
    def forward(self, x):
        rows = x.shape[0]
        return x.reshape(rows * 2, -1) / rows, x.sum(0) + rows // 2


def test_dims(judged, tmp_path):
    batch = torch.export.Dim("batch", min=3, max=9)
    how = {"dynamic_shapes": ({0: batch},)}
    program, said = judged(Dims(), INPUT, **how)
    (symbol,) = map(str, program.range_constraints)
    assert f"dim '{symbol}' is 3 to 9" in said[0].warnings
    for checked in said:
        assert checked.ranges["tensors"]["x"]["shape"] == [-1, 4]
    _, said = judged(Dims(), INPUT, options=("--dim", f"{symbol}=6"), **how)
    for checked in said:
        assert checked.ranges["tensors"]["x"]["shape"] == [6, 4]
        assert_sound(Dims(), (INPUT,), checked)
    path = exported_programs.save(program, tmp_path / "p.pt2")
    for options, text in (
            ([f"--dim={symbol}=10"], f"MPI201: dim '{symbol}' cannot be 10: the program was "
                                     "exported for 3 to 9"),
            (["--dim=batch=6"], "no symbolic dimension 'batch'"),
            (["--input-shape=x=6x5"], "MPI206: 'x': the given shape contradicts"),
            (["--input-shape=x=6x4:f16"], "MPI206"), (["--input-shape=y=6"], "no such input")):
        done = run_mpopt("--check", path, *options)
        assert done.returncode == 2 and text in done.stderr, done.stderr
        assert sum("error" in line for line in done.stderr.splitlines()) == 1
    done = run_mpopt("--check", path, "--input-shape=x=6x4", "--fail-on=never")
    assert done.returncode == 0, done.stderr


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))
        self.register_buffer("kept", torch.ones(4))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x + self.seen, x + self.kept


def test_changed_buffers(judged):
    """A buffer that the program changes holds what the last call left."""
    _, said = judged(Counter(), INPUT)
    for checked in said:
        changed, kept = (checked.ranges["tensors"][name] for name in checked.ranges["outputs"])
        assert changed["hi"] == "inf" and changed["nan"]
        assert kept["hi"] == 2 and kept["lo"] == 0 and not kept["nan"]


class Shared(torch.nn.Module):
    """Weights that share a storage, one transposed, one a slice."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(24.0).reshape(6, 4)
        self.whole = torch.nn.Parameter(whole)
        self.register_buffer("turned", torch.arange(16.0).reshape(4, 4).t())
        self.register_buffer("part", torch.arange(40.0).reshape(5, 8)[:4, 2:6])

    def forward(self, x):
        return x @ self.turned + x @ self.part, self.whole * 1


def test_views_of_storage(judged):
    module = Shared()
    _, said = judged(module, INPUT)
    for checked in said:
        assert_sound(module, (INPUT,), checked)
        whole = checked.ranges["tensors"][checked.ranges["outputs"][1]]
        assert whole["lo"] == 0 and whole["hi"] == 23
    low = (-torch.ones(1, 4)) @ (module.turned + module.part)
    product = said[0].ranges["tensors"][said[0].ranges["outputs"][0]]
    assert product["lo"] <= low.min() and product["lo"] >= 1.01 * low.min()


def test_scope_and_line(tmp_path):
    path = exported_programs.save(exported_programs.export(Regions(), (INPUT,)),
                                  tmp_path / "p.pt2")
    text = run_mpopt("--emit-mlir", path, check=True).stdout
    assert re.search(r'"second/[\w.]+", "aten::linear", "second", \["[\w.]*linear\w*"\]', text)
    assert 'test_exported_programs.py":' in text


class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return (self.layer(x) ** 2).mean()


def test_joint_graph(tmp_path):
    from torch.export.experimental import _export_forward_backward

    program = _export_forward_backward(exported_programs.export(Loss(), (INPUT,)))
    path = exported_programs.save(program, tmp_path / "p.pt2")
    checked = exported_programs.check(path, tmp_path, "--precision", "fp16")
    assert "a training step: it computes 2 gradients" in checked.warnings
    assert len(checked.ranges["outputs"]) == 3
    assert not checked.report["coverage"]["unmodelled"]


def test_custom_operator(tmp_path):
    """Unknown, of the type that the program declares; what it changes is unknown."""
    with torch.library._scoped_library("mpopt_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        torch.library.register_fake("mpopt_test::twice", lambda x: torch.empty_like(x),
                                    lib=library)

        class Custom(torch.nn.Module):
            def forward(self, x):
                return torch.ops.mpopt_test.twice(x.half()) + 1

        path = exported_programs.save(exported_programs.export(Custom(), (INPUT,)),
                                      tmp_path / "p.pt2")
    checked = exported_programs.check(path, tmp_path)
    assert checked.report["coverage"]["unmodelled"] == {"mpopt_test::twice": 1}
    (name,) = checked.ranges["outputs"]
    assert checked.ranges["tensors"][name]["dtype"] == "f16"
    assert checked.ranges["tensors"][name]["shape"] == [6, 4]


def test_start_needs_no_libtorch(tmp_path):
    """mpopt alone reads it, without the process that is linked with LibTorch, in the
    processor time of an ONNX file."""
    path = exported_programs.save(exported_programs.export(Regions(), (INPUT,)),
                                  tmp_path / "p.pt2")
    alone = shutil.copy2(MPOPT, tmp_path / "mpopt")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([alone, "--check", path, "--fail-on", "never"], check=False,
                          capture_output=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime) < 0.2


class TiedHead(torch.nn.Module):
    """A table that is read as an embedding and as the weight of the logits."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids, factor):
        return (self.head(self.embed(ids)) * factor).sum()


def test_a_tied_parameter_has_the_gradient_of_both_readers(tmp_path):
    """Under its first name, as `named_parameters` has it."""
    torch.manual_seed(0)
    module = TiedHead()
    inputs = torch.randint(0, 50, (4, 12)), torch.randn(4, 12, 50)
    path = exported_programs.save(exported_programs.export(module, inputs), tmp_path / "tied.pt2")
    [output] = exported_programs.check(path, tmp_path).ranges["outputs"]
    run = run_mpopt("--check", path, "--train", "--loss", f"sum:{output}", "--input", "factor~0,1",
                    "--dump-gradients", tmp_path / "gradients.json", "--fail-on", "never")
    assert run.returncode == 0, run.stderr
    said = json.loads((tmp_path / "gradients.json").read_text())["parameters"]
    module(*inputs).backward()
    [(name, parameter)] = module.named_parameters()
    assert list(said) == [name]
    seen = parameter.grad.pow(2).mean().sqrt().item()
    assert seen / 2 < said[name]["rms"] < seen * 2

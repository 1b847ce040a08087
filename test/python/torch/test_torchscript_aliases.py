"""What is written to a view, or to what may be one, is seen in its base: through ops that
have no lowering where ranks are not known, through members of lists, and through the
results of branches and loops.

Each statement changes a copy of the input. What TorchScript makes of it must lie in the
ranges that mpopt says."""

import importlib.util
import re
import textwrap

import pytest
from tool import read_ranges

torch = pytest.importorskip("torch")

WRITES = """
a.t().mul_(9.)
a.T.mul_(9.)
a.mT.mul_(9.)
a.transpose(0, -1).add_(100.)
torch.swapaxes(a, 0, 1).mul_(9.)
a.movedim(0, 1).mul_(9.)
a.permute([1, 0]).mul_(9.)
a.squeeze().mul_(9.)
torch.squeeze(a, 0).mul_(9.)
a.unsqueeze(-1).transpose(0, 2).mul_(9.)
a.narrow(1, 0, 2).t().mul_(9.)
a.unflatten(1, [3, 1]).mul_(9.)
torch.broadcast_to(a, v.shape).mul_(9.)
torch.diagonal(a).mul_(9.)
a.split(1)[0].mul_(9.)
a.chunk(2, 1)[1].mul_(9.)
a.unbind(1)[1].mul_(9.)
torch.tensor_split(a, 2)[1].mul_(9.)
a.hsplit(3)[0].mul_(9.)
torch.as_strided(a, [2], [1]).mul_(9.)
a.unfold(1, 2, 1).mul_(9.)
a[:1].contiguous().mul_(9.)
a[:, 1:].contiguous().mul_(9.)
a.t().contiguous().mul_(9.)
a[:, 1].contiguous().mul_(9.)
a[:, :1].t().contiguous().mul_(9.)
a.t().t().contiguous().mul_(9.)
a.t().reshape(-1).mul_(9.)
a.t().to(torch.float32).mul_(9.)
a.view(3, 2).t()[0].mul_(9.)
a.expand(2, 2, 3).contiguous().mul_(9.)
torch.atleast_3d(a).mul_(9.)
a.swapdims(0, 1).fill_(9.)
""".strip().splitlines()

PROGRAMS = ["""
    if bool(v.sum() > 7.5):
        w = a[0]
    else:
        w = a[1]
    w.mul_(9.)
""", """
    if bool(v.sum() > 7.5):
        w = a
    else:
        w = v.clone()
    w.mul_(9.)
""", """
    w = a
    for i in range(n):
        w.mul_(2.)
        w = w.t()
""", """
    members = [a, v.clone()]
    members[n % 2].mul_(9.)
""", """
    members = [v.clone()]
    for i in range(n):
        members.append(a)
    members[-1].mul_(9.)
""", """
    w = a
    for i in range(n):
        w = a[0]
    w.mul_(9.)
""", """
    w = a
    k = 0
    while k < n:
        w = w.view(3, 2)
        w.mul_(9.)
        k += 1
""", """
    w = a.t()
    a.mul_(9.)
    a = w.clone()
""", """
    members = torch.split(a, 1)
    a.mul_(9.)
    a = members[0].clone()
"""]

SHAPES = ["v=2x3:f32", "v=?x?:f32", None]


def build(folder, name, programs):
    """A module of all programs, each with an `a` of its own, and their number."""
    lines = []
    for number, program in enumerate(programs):
        text = f"a = v.clone()\n{textwrap.dedent(program)}"
        text = re.sub(r"\b(a|w|k|members)\b", rf"\g<1>{number}", text)
        lines.append(textwrap.indent(text, " " * 8))
    results = ", ".join(f"a{number}" for number in range(len(programs)))
    path = folder / f"{name}.py"
    path.write_text("import torch\n\n\nclass Module(torch.nn.Module):\n"
                    "    def forward(self, v, n: int):\n" + "\n".join(lines)
                    + f"\n        return {results}\n")
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return torch.jit.script(module.Module())


def dump(module, folder, shape):
    module.save(str(folder / "m.pt"))
    ranges = read_ranges(folder / "m.pt", "--input", "v=1:2", "--input", "n=0:4",
                         *(["--input-shape", shape] if shape else []))
    return [ranges["tensors"][name] for name in ranges["outputs"]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("programs", [WRITES, PROGRAMS], ids=["writes", "programs"])
def test_writes_reach_their_base(programs, shape, tmp_path):
    module = build(tmp_path, "aliases", programs)
    said = dump(module, tmp_path, shape)
    assert len(said) == len(programs)
    for value in (1.0, 1.5, 2.0):
        for n in range(5):
            results = module(torch.full((2, 3), value), n)
            for program, result, range_ in zip(programs, results, said):
                lo, hi = float(range_["lo"]) - 1e-6, float(range_["hi"]) + 1e-6
                assert lo <= result.min() and result.max() <= hi, program


def test_copies_are_no_views(tmp_path):
    """A contiguous tensor that lay out of order is a copy: writing to it is not writing to
    what it was made of."""
    copies = ["a.t().contiguous().mul_(9.)", "a[:, 1:].contiguous().mul_(9.)",
              "a.expand(2, 2, 3).contiguous().mul_(9.)"]
    for range_ in dump(build(tmp_path, "copies", copies), tmp_path, "v=2x3:f32"):
        assert (range_["lo"], range_["hi"]) == (1, 2)

"""mpopt::probe_grad and mpopt::autocast_operand, the ops that record gradients: training is
bit for bit what it is without them, and what they record is what flowed back."""

import hashlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    bits, library, plain_execution, recorded, summary)
from mpopt.recorder import DTYPES, Recorder  # noqa: E402

OPS = torch.ops.mpopt
DTYPE = {torch.float16: DTYPES["f16"], torch.bfloat16: DTYPES["bf16"], torch.float32: DTYPES["f32"]}
GRADIENT = 1
WEIGHT, BIAS, HIDDEN = 0, 1, 2


@pytest.fixture
def ledger(request):
    """The hash of a ledger that no other test has."""
    return hashlib.sha256(request.node.nodeid.encode()).hexdigest()


def record_of(ledger, probe):
    return Recorder(bytes.fromhex(ledger)).read(probe, GRADIENT)


class Net(torch.nn.Module):
    """A layer that is used twice, so that the gradients of its uses are added up. Without a
    ledger it has no probes."""

    __constants__ = ["ledger"]

    def __init__(self, ledger: str = ""):
        super().__init__()
        torch.manual_seed(0)
        self.ledger = ledger
        self.layer, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, x):
        weight, bias = self.layer.weight, self.layer.bias
        if len(self.ledger) > 0:
            weight = torch.ops.mpopt.autocast_operand(weight, True, True)
            weight = torch.ops.mpopt.probe_grad(weight, 0, self.ledger)
            bias = torch.ops.mpopt.autocast_operand(bias, True, True)
            bias = torch.ops.mpopt.probe_grad(bias, 1, self.ledger)
        h = torch.nn.functional.linear(x, weight, bias)
        if len(self.ledger) > 0:
            h = torch.ops.mpopt.probe_grad(h, 2, self.ledger)
        h = torch.nn.functional.linear(self.norm(torch.relu(h)), weight, bias)
        return h.float().square().mean()


X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def train(module, dtype, steps=20):
    """The weights that a user gets; `dtype`: that of autocast, None without."""
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(steps):
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            loss = module(X)
        (loss * 1024).backward()
        optimizer.step()
        optimizer.zero_grad()
    return [bits(parameter.detach()) for parameter in module.parameters()]


def archive(form, module, folder):
    """The module from a file, as a user has it."""
    if form == "eager":
        return module
    made = (torch.jit.script(module) if form == "script"
            else torch.jit.trace(module, X, check_trace=False))
    made.save(str(folder / "net.pt"))
    return torch.jit.load(str(folder / "net.pt"))


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("form", ["eager", "script", "trace"])
def test_training_is_the_same_bit_for_bit(ledger, tmp_path, form, dtype):
    plain, probed = (train(archive(form, Net(key), tmp_path), dtype) for key in ("", ledger))
    assert probed == plain
    for probe, count in (WEIGHT, 64), (BIAS, 8), (HIDDEN, 32):
        record = record_of(ledger, probe)
        assert (record.calls, record.count) == (20, 20 * count)
        assert record.dtype == DTYPE[dtype or torch.float32]


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("form", ["script", "trace"])
def test_training_is_the_same_with_the_executors_own_passes(ledger, tmp_path, form, dtype):
    """TorchScript's executor has casts of its own for autocast, before any op runs."""
    torch._C._jit_set_profiling_executor(True)
    torch._C._set_graph_executor_optimize(True)
    plain, probed = (train(archive(form, Net(key), tmp_path), dtype) for key in ("", ledger))
    assert probed == plain
    record = record_of(ledger, WEIGHT)
    assert record.calls == 20 and record.dtype == DTYPE[dtype or torch.float32]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_gradient_is_recorded_in_the_dtype_of_the_cast(ledger, dtype):
    """In 16 bits, where small ones are lost, and not what is left of it in FP32."""
    weight = torch.nn.Parameter(torch.randn(8, 8))
    x = (X * torch.logspace(0, -9, 8)).to(dtype)
    with torch.autocast("cpu", dtype):
        cast = OPS.autocast_operand(weight, True, False)
        torch.nn.functional.linear(x, OPS.probe_grad(cast, 0, ledger)).sum().backward()
    record = record_of(ledger, 0)
    assert weight.dtype == torch.float32 and cast.dtype == dtype
    assert record.dtype == DTYPE[dtype] and recorded(record) == summary(weight.grad)
    assert (record.zero > 0) == (dtype == torch.float16)


def test_an_op_that_autocast_does_not_list_keeps_its_operand():
    weight = torch.nn.Parameter(torch.randn(3))
    with torch.autocast("cpu", torch.float16):
        assert OPS.autocast_operand(weight, False, True).dtype == torch.float32
        assert OPS.autocast_operand(weight.double(), True, True).dtype == torch.float64
    assert OPS.autocast_operand(weight, True, True).dtype == torch.float32


def test_calls_of_one_region_share_a_cast(ledger):
    """Autocast keeps the cast of a weight; each backward is recorded once all the same."""
    weight = torch.nn.Parameter(torch.randn(8, 8))
    with torch.autocast("cpu", torch.bfloat16):
        losses = [torch.nn.functional.linear(
            X, OPS.probe_grad(OPS.autocast_operand(weight, True, True), 0, ledger)).sum()
            for _ in range(3)]
    sum(losses).backward()
    assert record_of(ledger, 0).calls == 3


def test_hooks_do_not_gather_on_a_parameter(ledger):
    weight = torch.nn.Parameter(torch.randn(3))
    for _ in range(4):
        OPS.probe_grad(weight, 0, ledger).sum().backward()
    assert record_of(ledger, 0).calls == 4


def test_nothing_is_copied(ledger):
    x = torch.randn(3, requires_grad=True)
    h = x * 2
    assert OPS.probe_grad(x, 0, ledger).data_ptr() == x.data_ptr()
    assert OPS.probe_grad(h, 0, ledger).data_ptr() == h.data_ptr()
    assert OPS.probe_grad(x.detach(), 0, ledger).data_ptr() == x.data_ptr()
    with torch.no_grad():
        assert OPS.probe_grad(x, 0, ledger).is_leaf


@pytest.mark.parametrize("base", [False, True], ids=["tensor", "view"])
def test_changes_in_place(ledger, base):
    """What is recorded is the gradient of the tensor as it was, and the rest is as without."""

    def run(probe):
        x = torch.linspace(-1, 1, 6, requires_grad=True)
        whole = x * 3
        h = whole[2:] if base else whole
        if probe:
            h = OPS.probe_grad(h, 0, ledger)
        h.mul_(5)
        (whole * whole).sum().backward()
        return bits(x.grad)

    assert run(True) == run(False)
    record = record_of(ledger, 0)
    if not base:
        # d/dh of (5 h)^2, of the largest h = 3
        assert record.max == 150
    else:
        assert record is None or record.calls <= 1


def test_gradients_that_are_not_there(ledger):
    x = torch.randn(3, requires_grad=True)
    h = OPS.probe_grad(x * 2, 0, ledger)
    torch.autograd.grad(h.detach().sum() + (x * 1).sum(), x)
    assert record_of(ledger, 0) is None


class Undefined(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return None


def test_undefined_gradients(ledger):
    x = torch.randn(3, requires_grad=True)
    (Undefined.apply(OPS.probe_grad(x * 2, 0, ledger)).sum() + x.sum()).backward()
    assert torch.equal(x.grad, torch.ones(3)) and record_of(ledger, 0) is None


def test_sparse_gradients(ledger):
    """They have no plain elements: the count alone, and they are passed on as they are."""
    table = torch.nn.Parameter(torch.randn(10, 4))
    rows = OPS.probe_grad(table, 0, ledger)
    torch.nn.functional.embedding(torch.tensor([1, 1, 5]), rows, sparse=True).sum().backward()
    assert table.grad.is_sparse and table.grad.to_dense()[1, 0] == 2
    assert record_of(ledger, 0).count == 40


def test_second_derivatives(ledger):
    def run(probe):
        x = torch.linspace(-1, 1, 5, requires_grad=True)
        h = OPS.probe_grad(x * 2, 0, ledger) if probe else x * 2
        gradient, = torch.autograd.grad((h ** 3).sum(), x, create_graph=True)
        second, = torch.autograd.grad(gradient.square().sum(), x)
        return bits(gradient.detach()), bits(second)

    assert run(True) == run(False)
    assert record_of(ledger, 0).calls == 2  # the second pass comes through h, too


def test_gradients_under_vmap(ledger):
    """By example; what is recorded of gradients of a transform is its own affair."""

    def loss(weight, x):
        return (OPS.probe_grad(weight * 2, 0, ledger) * x).square().sum()

    weight = torch.randn(8)
    expected = [torch.func.grad(lambda w, x: ((w * 2) * x).square().sum())(weight, x) for x in X]
    got = torch.func.vmap(torch.func.grad(loss), (None, 0))(weight, X)
    assert torch.equal(got, torch.stack(expected))


def test_it_is_not_removed(ledger, tmp_path):
    """Neither as dead code nor as the identity."""
    module = archive("script", Net(ledger), tmp_path)
    for form in (module.graph, torch.jit.freeze(module.eval(), optimize_numerics=False).graph):
        graph = form.copy()
        torch._C._jit_pass_inline(graph)
        for name in ("dce", "peephole", "cse", "constant_propagation"):
            getattr(torch._C, f"_jit_pass_{name}")(graph)
        assert str(graph).count("mpopt::probe_grad") == 3

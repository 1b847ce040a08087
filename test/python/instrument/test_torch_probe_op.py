"""The op that a probe is in PyTorch, on tensors of every dtype and layout."""

import hashlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    library, plain_execution, recorded, summary)
from mpopt.recorder import Recorder  # noqa: E402


LEDGER = hashlib.sha256(b"test_torch_probe_op").hexdigest()


def observe(value, op="probe"):
    """The record of one call."""
    observe.next += 1
    getattr(torch.ops.mpopt, op)(value, observe.next, LEDGER)
    return Recorder(bytes.fromhex(LEDGER)).read(observe.next)


observe.next = 0


def values_of(dtype):
    torch.manual_seed(2)
    value = torch.randn(6, 5, 4) * 100
    value[0, 0, 0], value[1, 1, 1], value[2, 2, 2], value[3] = 0, float("inf"), float("nan"), -1
    return value.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.transpose(0, 2), lambda x: x[:, 1], lambda x: x[1:4, ::2, 1:],
    lambda x: x[0, :1].expand(7, 4), lambda x: x[2:2], lambda x: x[0, 0, 0],
    lambda x: x.as_strided([3, 3], [1, 2])], ids=range(8))
def test_op_on_strided_tensors(dtype, view):
    value = view(values_of(dtype))
    record = observe(value)
    assert record.calls == 1 and record.rank == value.dim()
    assert list(record.dim_min)[:value.dim()] == list(value.shape)
    assert recorded(record) == summary(value)


def test_numbers_that_do_not_fit():
    """Neither an id nor an axis is taken for what is left of it in 32 bits."""
    observe.next += 1
    value, recorder = torch.ones(2, 3), Recorder(bytes.fromhex(LEDGER))
    torch.ops.mpopt.probe(value, observe.next, LEDGER)
    torch.ops.mpopt.probe(value, (1 << 32) + observe.next, LEDGER)
    torch.ops.mpopt.probe(torch.tensor(1.0), (1 << 32) + observe.next, LEDGER)
    assert recorder.read(observe.next).calls == 1
    observe.next += 1
    torch.ops.mpopt.probe_channels(value, observe.next, 1 << 32, LEDGER)
    assert recorder.read(observe.next).channels == 0


def test_op_on_negated_views():
    """The imaginary part of a conjugate is a view with the signs of the original in memory."""
    value = torch.imag(torch.tensor([1 + 2j, 3 - 5j]).conj())
    assert value.is_neg()
    assert recorded(observe(value)) == summary(torch.tensor([-2.0, 5.0]))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool])
def test_op_on_integers(dtype):
    value = torch.arange(-3, 4).to(dtype)
    record = observe(value)
    assert (record.count, record.zero) == (7, int((value == 0).sum()))
    assert (record.min, record.max) == (value.double().min(), value.double().max())


def test_op_on_eight_bit_floats():
    value = torch.tensor([0.0, 1.5, -448.0]).to(torch.float8_e4m3fn)
    assert recorded(observe(value)) == {"count": 3, "nan": 0, "inf": 0, "zero": 1, "min": -448.0,
                                        "max": 1.5}


def test_op_without_elements_to_look_at():
    count_only = 8
    quantized = torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.randn(2), torch.randn(3)])
    for value, count in ((torch.randn(5, dtype=torch.complex64), 5), (quantized, 12),
                         (torch.eye(3).to_sparse(), 9), (torch.eye(3).to_sparse_csr(), 9),
                         (nested, 5)):
        record = observe(value)
        assert (record.count, record.flags & count_only) == (count, count_only), value
    assert observe(torch.randn(3, dtype=torch.complex64).conj().imag).count == 3
    assert observe(torch.empty(3, device="meta")) is None


def test_op_on_numbers_and_nothing():
    assert observe(2.5, "probe_number").max == 2.5
    assert observe(-7, "probe_number").min == -7
    assert observe(True, "probe_number").max == 1
    assert observe(None, "probe_optional") is None
    assert observe(torch.ones(2), "probe_optional").count == 2
    torch.ops.mpopt.probe(torch.ones(2), -1, LEDGER)
    table = [0, 0, 901, 1, 0, 902, 1, 1, 903, 2, 9, 904]
    torch.ops.mpopt.probe_members([torch.zeros(1), torch.ones(2)], [1], table, LEDGER)
    torch.ops.mpopt.probe_members([], [2], table, LEDGER)
    seen = Recorder(bytes.fromhex(LEDGER))
    assert [seen.read(probe) and seen.read(probe).count for probe in range(901, 905)] == [
        None, 1, 2, None]


def test_op_is_known_to_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        torch.ops.mpopt.probe(torch.ones(3), 950, LEDGER)
    assert Recorder(bytes.fromhex(LEDGER)).read(950) is None

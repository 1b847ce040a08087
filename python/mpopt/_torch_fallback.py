"""The ops `torch.ops.mpopt.*` for every PyTorch that the op library was not built for: the same
schemas and meanings (kernels/include/mpopt/Kernels/TorchOps.h, kernels/torch), registered from Python.

On the processor a tensor is read where it lies, by the recorder's own C interface: records are
the library's, bit for bit. Less than the library: a call costs some microseconds more, and a
tensor on a device is copied to be recorded, for which the program waits."""

import ctypes
import weakref

import torch

from mpopt import recorder as _recorder

_F32 = torch.float32
_DTYPES = {getattr(torch, name): _recorder.DTYPES[ledger] for name, ledger in (
    ("float32", "f32"), ("float16", "f16"), ("bfloat16", "bf16"), ("float64", "f64"),
    ("float8_e4m3fn", "f8E4M3FN"), ("float8_e4m3fnuz", "f8E4M3FNUZ"),
    ("float8_e5m2", "f8E5M2"), ("float8_e5m2fnuz", "f8E5M2FNUZ"), ("uint8", "ui8"), ("int8", "i8"),
    ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("uint16", "ui16"), ("uint32", "ui32"),
    ("uint64", "ui64"), ("bool", "i1"))}
_VALUE, _GRADIENT = 0, 1
#: Tensors from here on are worth PyTorch's threads (kernels/torch/MonitorOps.cpp).
_MANY_ELEMENTS = 1 << 17

#: Libraries of PyTorch, whose ops last as long as they do.
_libraries: list = []
#: True if probes also record gradients.
_gradients = False


class _Parallel(ctypes.Structure):
    _fields_ = [("run", ctypes.c_void_p), ("pool", ctypes.c_void_p), ("threads", ctypes.c_uint32)]


class _Squares(ctypes.Structure):
    _fields_ = [("inner", ctypes.c_uint64), ("channels", ctypes.c_uint64), ("sums", ctypes.c_void_p)]


def _nothing(*_):
    pass


# -- Tensors into the record -------------------------------------------------------------

#: The recorder of a ledger, and the generation in which that was so.
_followed: dict[str, tuple[int, int]] = {}


def _find_recorder(ledger: str) -> int:
    library = _recorder.library()
    now = library.mpopt_recorder_generation()
    recorder, seen = _followed.get(ledger, (0, -1))
    if seen != now:
        try:
            digest = bytes.fromhex(ledger) if len(ledger) == 64 else bytes(32)
        except ValueError:
            digest = bytes(32)
        recorder = library.mpopt_recorder_follow(digest, f"torch {torch.__version__}".encode())
        _followed[ledger] = recorder, now
    return recorder


def _is_id(probe: int) -> bool:
    return 0 <= probe < 2**32


def _parallel():
    """As many threads as the user gave PyTorch."""
    return ctypes.byref(_Parallel(None, None, torch.get_num_threads()))


def _tensor(data: int, dtype: int, shape, strides=None, axis: int = -1) -> "_recorder._Tensor":
    rank = len(shape)
    dims = (ctypes.c_int64 * rank)(*shape)
    steps = None if strides is None else (ctypes.c_int64 * rank)(*strides)
    made = _recorder._Tensor(data, dtype, rank, ctypes.addressof(dims),
                             None if steps is None else ctypes.addressof(steps), axis, 0)
    made.kept = dims, steps  # for as long as the addresses are read
    return made


def _describe(tensor: torch.Tensor, axis: int = -1) -> "_recorder._Tensor":
    # Without channels no statistic asks which element has which index.
    as_it_lies = tensor.is_contiguous() or axis < 0 and _is_dense(tensor)
    return _tensor(tensor.data_ptr(), _DTYPES[tensor.dtype], tensor.shape, None if as_it_lies else tensor.stride(), axis)


def _is_dense(tensor: torch.Tensor) -> bool:
    return torch.ops.aten.is_non_overlapping_and_dense.default(tensor)


def _has_elements(tensor: torch.Tensor) -> bool:
    """False for what has no plain elements that may be read."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested or tensor.dtype not in _DTYPES:
        return False
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _record(probe: int, kind: int, ledger: str, tensor: torch.Tensor | None, axis: int = -1) -> None:
    # A gradient that nothing flowed into is None.
    if not _is_id(probe) or tensor is None or tensor.is_meta:
        return
    with torch.no_grad():
        if _has_elements(tensor):
            tensor = tensor.detach()
            if not tensor.is_cpu:
                tensor = tensor.cpu()
            described = _describe(tensor, axis)
        else:
            # Elements are counted; the address is not looked at.
            shape = [tensor.numel()] if tensor.is_nested else tensor.shape
            described = _tensor(ctypes.addressof(_Parallel()), 0, shape)
        _recorder.library().mpopt_recorder_observe(_find_recorder(ledger), probe, kind, ctypes.byref(described), _parallel())


# -- Probes ------------------------------------------------------------------------------


def _begin_run(ledger):
    _recorder.library().mpopt_recorder_begin_run(_find_recorder(ledger), 1)


def _probe_channels(x, probe, axis, ledger):
    _record(probe, _VALUE, ledger, x, axis if -2**31 <= axis < 2**31 else -1)


def _call_probe(x, probe, ledger, axis=-1):
    """Through the dispatcher; without channels if `axis` is negative."""
    if axis < 0:
        torch.ops.mpopt.probe.default(x, probe, ledger)
    else:
        torch.ops.mpopt.probe_channels.default(x, probe, axis, ledger)


def _record_flow(x, probe, ledger) -> None:
    x.register_hook(lambda gradient: _record(probe, _GRADIENT, ledger, gradient))


def _probe_channels_with_gradient(x, probe, axis, ledger):
    with torch._C._AutoDispatchBelowAutograd():
        _call_probe(x, probe, ledger, axis)
    if _gradients and _is_id(probe) and torch.is_grad_enabled() and x.requires_grad:
        _record_flow(x, probe, ledger)


def _probe_channels_of_batch(x, probe, axis, ledger):
    """torch.vmap: the examples of a batch are recorded together, as one call."""
    functorch = torch._C._functorch
    if not functorch.is_batchedtensor(x):
        return _call_probe(x, probe, ledger, axis)
    # The axis counts the dims of one example.
    if axis >= 0 and functorch.maybe_get_bdim(x) <= axis:
        axis += 1
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchBatched)
    with torch._C._ExcludeDispatchKeyGuard(keys):
        return _call_probe(functorch.get_unwrapped(x), probe, ledger, axis)


def _without_axis(function):
    return lambda x, probe, ledger: function(x, probe, -1, ledger)


def _probe_optional(x, probe, ledger):
    if x is not None:
        _call_probe(x, probe, ledger)


def _probe_number(x, probe, ledger):
    if not _is_id(probe) or not isinstance(x, bool | int | float | complex):
        return
    made, dtype = {bool: (ctypes.c_bool, "i1"), int: (ctypes.c_int64, "i64")}.get(type(x), (ctypes.c_double, "f64"))
    number = made(x.real if isinstance(x, complex) else x)
    described = _tensor(ctypes.addressof(number), 0 if isinstance(x, complex) else _recorder.DTYPES[dtype], ())
    _recorder.library().mpopt_recorder_observe(_find_recorder(ledger), probe, _VALUE, ctypes.byref(described), None)


def _probe_members(xs, rounds, table, ledger):
    width = len(rounds) + 2
    for row in range(0, len(table) - width + 1, width):
        member, probe = table[row + width - 2:row + width]
        if list(rounds) == list(table[row:row + len(rounds)]) and 0 <= member < len(xs):
            _call_probe(xs[member], probe, ledger)


def _probe_grad(x, probe, ledger):
    if not _is_id(probe) or not torch.is_grad_enabled() or not x.requires_grad:
        return x
    # A hook on a leaf would outlive the step.
    probed = torch.ops.aten.alias(x) if x.is_leaf else x
    _record_flow(probed, probe, ledger)
    return probed


def _record_gradients(enabled):
    global _gradients
    _gradients = enabled


# -- What autocast makes of a weight -----------------------------------------------------


class _Casts:
    """Casts of leaves that all uses share while autocast's own cache holds its casts, so that
    gradients are added up in the order and the dtype that they have without probes. That cache
    cannot be asked; it was cleared when a weight of this class has another cast in it."""

    def __init__(self):
        self._own = self._seen = None
        self._casts: dict[int, tuple[weakref.ref, torch.Tensor]] = {}

    def of(self, x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        if not torch.is_autocast_cache_enabled() or not (x.is_leaf and x.requires_grad and x.dtype is _F32 and not x._is_view()):
            return x.to(dtype)
        if self._own is None or self._own.device != x.device:
            self._own, self._seen = torch.ones(1, 1, device=x.device, requires_grad=True), None
        with torch.enable_grad():
            now = torch.mm(self._own, self._own).grad_fn.next_functions[0][0]
            if now is not self._seen:
                self._casts.clear()
                self._seen = now
            known, cast = self._casts.get(id(x), (_nothing, None))
            if cast is None or known() is not x or cast.dtype is not dtype:
                cast = x.to(dtype)
                self._casts[id(x)] = weakref.ref(x), cast
        # The one that is kept may come again before its gradient does: hooks would add up.
        return torch.ops.aten.alias(cast)


_casts = _Casts()


def _cast_operand(device: str):
    def cast(x, cpu, cuda):
        dtype = torch.get_autocast_dtype(device)
        listed = cuda if device == "cuda" else cpu
        if not listed or not x.is_floating_point() or x.dtype in (torch.float64, dtype) or x.device.type != device:
            return x
        return _casts.of(x, dtype)
    return cast


# -- The monitor -------------------------------------------------------------------------


def _observe(xs, token, probes, kind, ledger):
    for x, probe in zip(xs, probes, strict=False):
        _record(probe, kind, ledger, x)


def _observe_at(x, probe, kind, ledger):
    _require(probe.is_cpu and probe.dtype is torch.int64 and probe.numel() == 1,
             "mpopt::observe_at takes an id as a tensor of one integer in the processor's memory")
    _record(int(probe), kind, ledger, x)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


def _norm_of(x: torch.Tensor) -> float:
    if x.dtype is _F32 and x.numel() < _MANY_ELEMENTS and _is_dense(x):
        return _recorder.library().mpopt_sum_squares(x.data_ptr(), x.numel()) ** 0.5
    # A sum of squares has no room in 16 bits.
    return torch.linalg.vector_norm(x, dtype=_F32 if x.element_size() < 4 else x.dtype).item()


def _norms(xs, out):
    _require(out.dim() == 1 and len(out) == len(xs) and out.dtype is _F32 and out.is_contiguous(),
             "mpopt::norms takes a contiguous FP32 vector with an element for each tensor")
    if not xs:
        return
    with torch.no_grad():
        if out.is_cpu:
            out.copy_(torch.tensor([_norm_of(x) for x in xs], dtype=_F32))
        else:
            torch.stack(torch._foreach_norm(xs, 2, _F32), out=out)


def _observe_gradients(xs, norms, probes, ledger):
    _require(len(probes) == len(xs), "mpopt::observe_gradients takes an id for each tensor")
    _norms(xs, norms)
    _observe(xs, norms, probes, _GRADIENT, ledger)


def _sizes(x: torch.Tensor, axis: int) -> torch.Tensor | None:
    from mpopt.monitor.channels import sizes_of_norms

    described = _describe(x, -1)
    sums = torch.zeros(x.shape[axis], dtype=torch.float64)
    # As it lies, an index changes with each stride.
    inner = x.stride(axis)
    if described.strides:
        inner = 1
        for size in x.shape[axis + 1:]:
            inner *= size
    squares = _Squares(inner, x.shape[axis], sums.data_ptr())
    if not _recorder.library().mpopt_add_squares(ctypes.byref(described), ctypes.byref(squares), _parallel()):
        return None
    return sizes_of_norms(sums.sqrt(), x.numel() / x.shape[axis])


def _channels(x, axis, out):
    takes = ("mpopt::channels takes a tensor with float elements, one of its axes and two FP32 numbers, in the "
             "processor's memory")
    _require(x.is_cpu and out.is_cpu and out.numel() == 2 and out.dtype is _F32 and out.is_contiguous() and
             0 <= axis < x.dim() and x.numel() > 0, takes)
    sizes = _sizes(x.detach(), axis)
    _require(sizes is not None, takes)
    out.copy_(sizes)


def _observe_output(x, out, place, probe, axis, ledger):
    sized = axis is not None and x.dim() > 1 and x.numel() > 0
    if sized and axis < 0:
        axis += x.dim()
    _require(not sized or x.is_cpu and out.is_cpu and 0 <= axis < x.dim() and out.dtype is _F32 and
             out.is_contiguous() and 0 <= place < out.numel() // 2,
             "mpopt::observe_output takes an axis of a tensor and a place among pairs of FP32 numbers, in the "
             "processor's memory")
    _record(probe, _VALUE, ledger, x)
    if not sized or x.shape[axis] < 2 or not _has_elements(x):
        return False
    sizes = _sizes(x.detach(), axis)
    if sizes is not None:
        out.view(-1)[2 * place:2 * place + 2] = sizes
    return sizes is not None


# -- Registration ------------------------------------------------------------------------

#: An op without results that claims to write nothing is removed as dead code.
_PROBES = (
    "begin_run(str ledger) -> ()", "probe(Tensor x, int id, str ledger) -> ()",
    "probe_channels(Tensor x, int id, int axis, str ledger) -> ()",
    "probe_optional(Tensor? x, int id, str ledger) -> ()", "probe_number(Scalar x, int id, str ledger) -> ()",
    "probe_members(Tensor[] x, int[] rounds, int[] table, str ledger) -> ()",
    "probe_grad(Tensor x, int id, str ledger) -> Tensor",
    "autocast_operand(Tensor x, bool cpu, bool cuda) -> Tensor", "record_gradients(bool enabled) -> ()")
_MONITOR = {
    "observe": ("(Tensor[] xs, Tensor(a!) token, int[] ids, int kind, str ledger) -> ()", _observe),
    "observe_at": ("(Tensor x, Tensor(a!) id, int kind, str ledger) -> ()", _observe_at),
    "norms": ("(Tensor[] xs, Tensor(a!) out) -> ()", _norms),
    "channels": ("(Tensor x, int axis, Tensor(a!) out) -> ()", _channels),
    "observe_gradients": ("(Tensor[] xs, Tensor(a!) norms, int[] ids, str ledger) -> ()", _observe_gradients),
    "observe_output": ("(Tensor x, Tensor(a!) sizes, int place, int id, int? axis, str ledger) -> bool", _observe_output)}


def register(gradients: bool) -> None:
    """Registers the ops, once a process. `gradients`: probes record those, too."""
    if _libraries:
        return
    _record_gradients(gradients)
    ops = torch.library.Library("mpopt", "FRAGMENT")
    _libraries.append(ops)
    for schema in _PROBES:
        ops.define(schema, alias_analysis="CONSERVATIVE")
    for name, (schema, _) in _MONITOR.items():
        ops.define(name + schema)
    for key, kernels in _kernels().items():
        for name, kernel in kernels.items():
            ops.impl(name, kernel, key)


def _kernels() -> dict[str, dict]:
    """By dispatch key, as kernels/torch registers them."""
    probes = {"probe": _without_axis(_probe_channels), "probe_channels": _probe_channels}
    fallthrough = torch.library.fallthrough_kernel
    return {
        "CompositeExplicitAutograd": {**probes, "begin_run": _begin_run, "record_gradients": _record_gradients,
                                      **{name: function for name, (_, function) in _MONITOR.items()}},
        "NestedTensorCPU": probes, "NestedTensorCUDA": probes,
        "Meta": dict.fromkeys(("begin_run", "probe", "probe_channels", "observe", "observe_at"), _nothing),
        "Autograd": {"probe": _without_axis(_probe_channels_with_gradient), "probe_channels": _probe_channels_with_gradient,
                     **dict.fromkeys(("observe", "norms", "channels", "observe_gradients", "observe_output"), fallthrough)},
        "FuncTorchBatched": {"probe": _without_axis(_probe_channels_of_batch), "probe_channels": _probe_channels_of_batch},
        "CompositeImplicitAutograd": {"probe_optional": _probe_optional, "probe_number": _probe_number,
                                      "probe_members": _probe_members, "probe_grad": _probe_grad,
                                      "autocast_operand": lambda x, cpu, cuda: x},
        "AutocastCPU": {"autocast_operand": _cast_operand("cpu")},
        "AutocastCUDA": {"autocast_operand": _cast_operand("cuda")}}

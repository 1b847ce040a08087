"""Files of PyTorch as what `--verify` runs (`_verifying`): on arrays by name, on the CPU, whose kernels store each result of
16 bits in 16 bits, so that no rounding has to be restored."""

import argparse
import json
import pathlib
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from mpopt import _modules, _programs
from mpopt._command import Error
from mpopt._script_reading import types_by_name

#: The types of numbers that `forward` takes beside tensors.
_NUMBERS = {"IntType": "int64", "FloatType": "double", "BoolType": "bool"}


def open_model(path: pathlib.Path, asked: argparse.Namespace) -> "_Model":
    import torch

    is_program = _programs.is_program_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded: Any = torch.export.load(path) if is_program else torch.jit.load(path, map_location="cpu")
    except Exception as error:  # of many classes
        raise Error(f"'{path}' cannot be loaded ({_modules.reason(error)})") from error
    if is_program:
        return _ProgramModel(_programs.Program(loaded), asked.output, asked.tensors)
    return _Model(_Archive(loaded, asked.assumed), asked.output)


def _array(value):
    import torch

    if not isinstance(value, torch.Tensor):
        return value
    # NumPy has neither BF16 nor FP8.
    is_known = not value.is_floating_point() or value.dtype in (torch.float16, torch.float32, torch.float64)
    return (value if is_known else value.float()).detach().resolve_conj().numpy()


class _Archive:
    """An archive of TorchScript, which does not say what its inputs are: the import of the analysis does."""

    def __init__(self, module, assumed: pathlib.Path) -> None:
        self._module = module
        known = {probe["tensor"]: probe for probe in json.loads(assumed.read_text(encoding="utf-8"))["probes"]}
        # An option has its default.
        self._inputs = [self._describe(argument, known.get(argument.name)) for argument in module.forward.schema.arguments[1:]
                        if not argument.has_default_value()]

    @staticmethod
    def _describe(argument, known: Mapping | None):
        kind = argument.type.kind()
        if kind in _NUMBERS:
            return types.SimpleNamespace(name=argument.name, type=f"tensor({_NUMBERS[kind]})", shape=[], is_number=True)
        if known is None:
            raise Error(f"the shape of input '{argument.name}' is not known: --input-shape says it")
        dtype = str(types_by_name().get(known["dtype"], known["dtype"])).removeprefix("torch.")
        shape = [size if size >= 0 else f"dim{index}" for index, size in enumerate(known["shape"])]
        return types.SimpleNamespace(name=argument.name, type=f"tensor({_programs.KINDS.get(dtype, dtype)})", shape=shape, is_number=False)

    def get_inputs(self) -> list:
        return self._inputs

    def run(self, _, feed: Mapping):
        import torch

        given = {each.name: feed[each.name].item() if each.is_number else torch.from_numpy(feed[each.name].copy())
                 for each in self._inputs}
        try:
            # Code that a profile optimises may leave roundings out.
            with torch.no_grad(), torch.jit.optimized_execution(False):
                return self._module(**given)
        except Exception as error:  # of many classes
            raise Error(f"it does not run ({_modules.reason(error)})") from error


class _Model:
    def __init__(self, session, names: Sequence[str]) -> None:
        self._session, self._names = session, names
        if hasattr(session, "least_dims"):
            self.least_dims = session.least_dims

    def get_inputs(self) -> list:
        return self._session.get_inputs()

    def get_outputs(self) -> list:
        return [types.SimpleNamespace(name=name) for name in self._names]

    def run(self, names: Sequence[str], feed: Mapping) -> list:
        """The values of `names`, None of what the model has not."""
        import torch

        # Both models draw the same random numbers.
        torch.manual_seed(0)
        values = self._compute(feed)
        return [values.get(name) for name in names]

    def _compute(self, feed: Mapping) -> dict[str, Any]:
        return self._name(self._session.run(None, feed))

    def _name(self, results) -> dict[str, Any]:
        from torch.utils import _pytree

        leaves = [_array(value) for value in _pytree.tree_leaves(results) if value is not None]
        if len(leaves) != len(self._names):
            raise Error(f"it gives {len(leaves)} values, and the analysis knows {len(self._names)}")
        return dict(zip(self._names, leaves, strict=True))


class _ProgramModel(_Model):
    """With values inside, by the names of their nodes."""

    def __init__(self, program: _programs.Program, names: Sequence[str], wants_inner: bool) -> None:
        super().__init__(program, names)
        self._program = program
        self.inner = self._find_inner() if wants_inner else []

    def _find_inner(self) -> list[str]:
        import torch

        own = {*self._names, *self._program.program.graph_signature.user_outputs}
        return [node.name for node in self._program.program.graph.nodes
                if node.op == "call_function" and node.name not in own and
                isinstance(value := node.meta.get("val"), torch.Tensor) and value.is_floating_point()]

    def get_outputs(self) -> list:
        return super().get_outputs() + [types.SimpleNamespace(name=name) for name in self.inner]

    def _compute(self, feed: Mapping) -> dict[str, Any]:
        import torch

        if not self.inner:
            return super()._compute(feed)
        wanted, values = set(self.inner), {}

        class Recorder(torch.fx.Interpreter):
            def run_node(self, node):
                value = super().run_node(node)
                if node.name in wanted and isinstance(value, torch.Tensor):
                    # It may be changed in place.
                    values[node.name] = _array(value.clone())
                return value

        recorder = Recorder(self._program.program.module())
        try:
            with torch.no_grad():
                results = recorder.run(*self._program.arguments(feed), enable_io_processing=False)
        except Exception as error:  # of many classes
            raise Error(f"it does not run ({_modules.reason(error)})") from error
        return values | self._name(results)

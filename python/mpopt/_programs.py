"""Programs of `torch.export`: loading those with probes, and running any on arrays."""

import os
import pathlib
import types
import warnings
from collections.abc import Mapping

from mpopt import _input_files, _modules, _torch_ops
from mpopt._command import Error, PathLike, argument
from mpopt.recorder import Recorder, ledger_hash

# NumPy has neither, and FP32 holds their values.
KINDS = {"float32": "float", "float64": "double", "bfloat16": "float", "float8_e4m3fn": "float",
          "float8_e5m2": "float"}


def load(file: PathLike):
    """The program in `file`. `mpopt.Error` if it cannot be loaded, or this mpopt has no op
    library for PyTorch."""
    import torch

    try:
        _torch_ops.require()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return torch.export.load(os.fspath(file))
    except Error:
        raise
    except Exception as error:  # of many classes
        raise Error(f"'{file}' cannot be loaded ({_modules.reason(error)})") from error


class Program:
    """Runs a program on arrays by name, as a session of ONNX Runtime runs a model."""

    def __init__(self, program, device: str = "cpu"):
        self._device, self._module = device, program.module()
        self.program = program
        self._inputs = self._find_inputs()

    def _find_inputs(self) -> dict:
        """The arguments of the program by name; values that it was exported with are no arguments."""
        values = {node.name: node.meta.get("val") for node in self.program.graph.nodes
                  if node.op == "placeholder"}
        arguments = [spec.arg for spec in self.program.graph_signature.input_specs
                     if spec.kind.name == "USER_INPUT"]
        return {argument.name: getattr(argument, "value", values.get(argument.name))
                for argument in arguments}

    def get_inputs(self) -> list:
        """`name`, `type` (`tensor(float)`) and `shape` of each; a symbolic dim by its name."""
        import torch

        made = []
        for name, value in self._inputs.items():
            if isinstance(value, torch.Tensor):
                dtype = str(value.dtype).removeprefix("torch.")
                shape = [size if isinstance(size, int) else str(size) for size in value.shape]
                made.append(types.SimpleNamespace(
                    name=name, type=f"tensor({KINDS.get(dtype, dtype)})", shape=shape))
            elif isinstance(value, torch.SymInt):
                made.append(types.SimpleNamespace(name=name, type="tensor(int64)", shape=[]))
            elif isinstance(value, torch.SymFloat):
                made.append(types.SimpleNamespace(name=name, type="tensor(double)", shape=[]))
        return made

    def least_dims(self) -> dict[str, int]:
        """The least size of each symbolic dim."""
        return {str(symbol): int(bounds.lower)
                for symbol, bounds in self.program.range_constraints.items()}

    def _value(self, name: str, value, feed: Mapping):
        import torch

        if isinstance(value, torch.Tensor):
            return torch.from_numpy(feed[name].copy()).to(self._device, value.dtype)
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return feed[name].item()
        return value

    def arguments(self, feed: Mapping) -> list:
        """What the program takes, for arrays by name."""
        return [self._value(name, value, feed) for name, value in self._inputs.items()]

    def run(self, _, feed: Mapping):
        """The results of the program for arrays by name; the argument in front is that of a
        session of ONNX Runtime. `mpopt.Error` if the program refuses them."""
        import torch
        from torch.utils import _pytree

        arguments, keywords = _pytree.tree_unflatten(self.arguments(feed), self.program.call_spec.in_spec)
        try:
            with torch.no_grad():
                return self._module(*arguments, **keywords)
        except Exception as error:  # of many classes
            raise Error(f"the program does not run ({_modules.reason(error)})") from error


class ProgramSession(Program):
    """A probed program, whose runs are recorded."""

    def __init__(self, file: PathLike, ledger: PathLike, record: PathLike | None = None,
                 device: str = "cpu"):
        import torch

        if device == "cuda" and not torch.cuda.is_available():
            raise Error("this PyTorch has no CUDA device")
        program = load(file)
        hashes = {node.args[0] for node in program.graph.nodes
                  if str(node.target) == "mpopt.begin_run.default"}
        if not hashes:
            raise Error(f"'{file}' has no probes: write it with mpopt.instrument")
        with argument("the ledger"):
            if hashes != {ledger_hash(ledger).hex()}:
                raise Error(f"'{ledger}' is the ledger of another model than '{file}'")
        if device != "cpu":
            from torch.export.passes import move_to_device_pass

            program = move_to_device_pass(program, device)
        super().__init__(program, device)
        self.recorder = Recorder(ledger, record, f"torch {torch.__version__}")


def is_program_file(model: pathlib.Path) -> bool:
    """A .pt2 archive, by the member that says so."""
    import zipfile

    _input_files.check(model)
    try:
        with zipfile.ZipFile(model) as archive:
            return any(name == "archive_format" or name.endswith("/archive_format")
                       for name in archive.namelist())
    except (OSError, ValueError, zipfile.BadZipFile):
        return False

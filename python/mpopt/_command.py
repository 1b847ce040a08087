"""Makes a command line of keyword arguments, and runs it."""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpopt import _arrays, _files

PathLike = str | os.PathLike
#: Options whose keyword has another name than `--two-words` -> `two_words`.
_KEYWORDS = {"input": "inputs", "dim": "dims", "input-shape": "input_shapes",
             "set": "thresholds", "config": "settings", "train-config": "config",
             "batch": "batch_size"}
#: The action in front of an option is the function that was called.
_ACTION = re.compile(r"--(?:check|convert|instrument|confirm|diff) (?=--)")
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])")


class Error(RuntimeError):
    """mpopt rejected the model or an option; the text is one line."""


def keyword_of(option: str) -> str:
    return _KEYWORDS.get(option, option.replace("-", "_"))


def speak_python(message: str) -> str:
    """An error of the command line with keywords in place of options."""
    message = _ACTION.sub("", message)
    return _OPTION.sub(lambda match: keyword_of(match[1]), message)


#: The precision of a training that a configuration describes.
DECIDED_BY_CONFIG = object()


class FileError(Error):
    """The same of a file that an argument names: `argument` says which."""


# The file of --train-config that is made of an object.
OBJECT_FILE = "mpopt-object.json"


@dataclasses.dataclass(frozen=True)
class Normal:
    """The normal distribution expected of an input; it sets no bounds."""

    mean: float
    std: float


def run(arguments: Sequence[str], accepted: Sequence[int] = (0,), model: str = "",
        columns: int = 0) -> str:
    """Runs the tool and returns its standard output; `Error` for an exit status that is
    not in `accepted`. The error's text does not name `model`, a temporary file. `columns`:
    the width of text. Warnings are in the reports."""
    variables = environment()
    if columns:
        variables["COLUMNS"] = str(columns)
    done = subprocess.run([_files.binary(), *arguments], capture_output=True,
                          encoding="utf-8", errors="replace", env=variables, check=False)
    if done.returncode not in accepted:
        prefix = f"{model}: " if model else ""
        lines = [line.removeprefix("mpopt: error: ").removeprefix(prefix)
                 for line in done.stderr.splitlines() if line.startswith("mpopt: error: ")]
        raise Error(speak_python("; ".join(lines)) or done.stderr.strip()
                    or f"mpopt ended with status {done.returncode}")
    return _name_objects(done.stdout, arguments)


def _name_objects(output: str, arguments: Sequence[str]) -> str:
    """The output with the argument's name in the place of the file that was made of an object."""
    for option, value in itertools.pairwise(map(str, arguments)):
        if option == "--train-config" and os.path.basename(value) == OBJECT_FILE:
            output = output.replace(value, keyword_of("train-config"))
    return output


def environment() -> dict[str, str]:
    """The environment for the tool, with the folder of the installed PyTorch's libraries
    for the TorchScript reader."""
    from mpopt import _torch_hook

    variables = dict(os.environ)
    # The variables by which the tool asks the package.
    variables.setdefault("MPOPT_PYTHON", sys.executable)
    if folder := _torch_hook.library_folder():
        known = variables.get("LD_LIBRARY_PATH")
        variables["LD_LIBRARY_PATH"] = f"{folder}:{known}" if known else str(folder)
    return variables


@contextlib.contextmanager
def argument(name: str):
    """Turns exceptions about a wrong value inside into an `Error` that names the argument."""
    try:
        yield
    except FileError as error:
        raise Error(f"{name}: {error}") from error
    except Error:
        raise
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, OSError) as error:
        lines = str(error).splitlines()
        raise Error(f"{name}: {lines[0] if lines else type(error).__name__}") from error
    except RecursionError as error:
        raise Error(f"{name}: is nested too deep") from error


def text(name: str, value) -> str:
    """A path or a word that is an argument."""
    with argument(name):
        return os.fspath(value)


def _for_each(name: str, mapping: Mapping | None,
              option: Callable[[str, Any], list[str]]) -> list[str]:
    """The options for the entries of an argument that is a mapping."""
    if mapping is not None and not isinstance(mapping, Mapping):
        raise Error(f"{name}: a mapping of names, not {type(mapping).__name__}")
    options = []
    for key, value in (mapping or {}).items():
        with argument(f"{name}[{key!r}]"):
            options += option(key, value)
    return options


def number(value) -> str:
    return repr(float(value))


def _input_options(name: str, value, folder: pathlib.Path) -> list[str]:
    if isinstance(value, Normal):
        return ["--input", f"{name}~{number(value.mean)},{number(value.std)}"]
    if isinstance(value, str | os.PathLike):
        return ["--input", f"{name}=@{os.fspath(value)}"]
    if isinstance(value, Sequence) and any(isinstance(part, Normal) for part in value):
        return [word for part in value for word in _input_options(name, part, folder)]
    if isinstance(value, Sequence) and len(value) == 2 and all(
            isinstance(end, int | float) for end in value):
        return ["--input", f"{name}={number(value[0])}:{number(value[1])}"]
    file = folder / f"input{len(list(folder.iterdir()))}.npz"
    if isinstance(value, Sequence) and len(value) == 2:
        _arrays.save(file, lo=value[0], hi=value[1])
    else:
        _arrays.save(file, **{name: value})
    return ["--input", f"{name}=@{file}"]


def _shape_option(name: str, value) -> list[str]:
    shape, dtype = value, None
    if len(value) == 2 and isinstance(value[1], str):
        shape, dtype = value
    text = "x".join("?" if dim is None or dim == -1 else str(int(dim)) for dim in shape)
    return ["--input-shape", f"{name}={text}" + (f":{dtype}" if dtype else "")]


def assuming_options(folder: pathlib.Path, *, target: PathLike | None, inputs: Mapping | None,
                     assume: tuple[float, float] | None, dims: Mapping[str, int] | None,
                     input_shapes: Mapping | None) -> list[str]:
    """The assumptions about a model's inputs and its target."""
    options = [] if target is None else ["--target", text("target", target)]
    options += _for_each("inputs", inputs,
                         lambda name, value: _input_options(name, value, folder))
    if assume is not None:
        with argument("assume"):
            lo, hi = assume
            options += ["--assume", f"{number(lo)}:{number(hi)}"]
    options += _for_each("dims", dims, lambda name, size: ["--dim", f"{name}={int(size)}"])
    return options + _for_each("input_shapes", input_shapes, _shape_option)


def judging_options(folder: pathlib.Path, *, precision, policy: PathLike | None,
                    target: PathLike | None, inputs: Mapping | None,
                    assume: tuple[float, float] | None, dims: Mapping[str, int] | None,
                    input_shapes: Mapping | None, method: str | None,
                    select: Sequence[str] | str | None, ignore: Sequence[str] | str | None,
                    thresholds: Mapping[str, float] | None,
                    effort: str | None = None) -> list[str]:
    """Options that `check` and `instrument` share. Arrays go through files in `folder`."""
    from mpopt import _precisions

    options = ["--fail-on", "never"]
    if precision is not DECIDED_BY_CONFIG:
        options += ["--precision", _precisions.find(precision)]
    for name, value in (("policy", policy), ("effort", effort), ("method", method)):
        if value is not None:
            options += [f"--{name}", text(name, value)]
    options += assuming_options(folder, target=target, inputs=inputs, assume=assume, dims=dims,
                                input_shapes=input_shapes)
    for name, rules in (("select", select), ("ignore", ignore)):
        if rules:
            with argument(name):
                options += [f"--{name}", rules if isinstance(rules, str) else ",".join(rules)]
    options += _for_each("thresholds", thresholds,
                         lambda key, value: ["--set", f"{key}={number(value)}"])
    return options


def is_program(model) -> bool:
    """A `torch.export.ExportedProgram`."""
    return hasattr(model, "graph_signature") and hasattr(model, "graph_module")


@dataclasses.dataclass(frozen=True)
class Document:
    """The JSON of a report, in place of a model."""

    text: str


class ModelFile:
    """A model as a file, for as long as the `with` block lasts, or if it is kept, the object.

    `model`: a path, the bytes or `onnx.ModelProto` of an ONNX model, a
    `torch.export.ExportedProgram`, a `torch.jit.ScriptModule`, or a `torch.nn.Module`,
    which is exported with `example_inputs` (a batch), or scripted without. One of which
    `torch.export` has no form is traced. `form`: `scripted` if a module is to be a
    TorchScript archive in any case, `exported` if it is to be a program."""

    def __init__(self, model, example_inputs=None, form: str = ""):
        self._model, self._examples, self._form = model, example_inputs, form
        self._is_kept = False
        #: True if the model is a file of the caller.
        self.is_given = isinstance(model, str | os.PathLike)
        #: The name in reports of a model that is no file: a module's class.
        self._name = "model"
        #: Why a module was traced; empty if it was not.
        self.traced = ""
        #: The names of the outputs of a module that was exported.
        self.outputs: tuple[str, ...] = ()

    def __enter__(self) -> "ModelFile":
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mpopt-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        try:
            self.path = self._save()
            (self.folder / "arrays").mkdir()
        except BaseException:
            self._remove()
            raise
        # A report that keeps the file does not keep the model in memory.
        self._model = self._examples = None
        return self

    def __exit__(self, *_):
        if not self._is_kept:
            self._remove()

    def keep(self) -> "ModelFile":
        """From now on the file lives as long as the object."""
        self._is_kept = True
        return self

    def rename(self, text: str) -> str:
        """A report in which the model has its name in place of a temporary file's."""
        return text if self.is_given else text.replace(self.path, self._name)

    @property
    def arrays(self) -> pathlib.Path:
        return self.folder / "arrays"

    def _save(self) -> str:
        model = self._model
        if isinstance(model, str | os.PathLike):
            return os.fspath(model)
        if isinstance(model, Document):
            file = self.folder / "report.json"
            file.write_text(model.text, encoding="utf-8")
            return str(file)
        if hasattr(model, "SerializeToString"):
            model = model.SerializeToString()
        if isinstance(model, bytes):
            file = self.folder / "model.onnx"
            file.write_bytes(model)
            return str(file)
        if is_program(model):
            return self._save_program(model)
        if hasattr(model, "state_dict"):
            return self._save_module(model)
        raise Error(f"a path, an ONNX model or a PyTorch module, not {type(model).__name__}")

    def _save_program(self, program) -> str:
        import torch

        from mpopt import _modules

        file = self.folder / "model.pt2"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.export.save(program, str(file))
        except Exception as error:
            raise Error(f"the program cannot be saved ({_modules.reason(error)})") from error
        return str(file)

    def _save_module(self, module) -> str:
        import torch

        from mpopt import _modules

        module = _modules.unwrap(module)
        self._name = str(getattr(module, "original_name", type(module).__name__))
        if not isinstance(module, torch.jit.ScriptModule):
            batch = self._examples if self._examples is not None else _modules.example_batch(module)
            if batch is None and self._form == "exported":
                raise Error("a module is exported with example_inputs, and there are none")
            if batch is None:
                module = _modules.script(module)
            else:
                arguments, keywords = _modules.split_batch(module, batch)
                before = ""
                if self._form != "scripted":
                    try:
                        program = _modules.export(module, arguments, keywords)
                        self.outputs = tuple(program.graph_signature.user_outputs)
                        return self._save_program(program)
                    except Exception as error:  # of many classes: what a module may do is open
                        before = _modules.reason(error)
                        if self._form == "exported":
                            raise Error(f"the module cannot be exported ({before})") from error
                module = _modules.trace(module, arguments, keywords, before)
                self.traced = before
        file = self.folder / "model.pt"
        module.save(str(file))
        return str(file)

"""Models in mixed precision: `mpopt --convert`."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import tempfile
import typing
import warnings
import zipfile
from collections.abc import Mapping, Sequence

from mpopt import _command, _input_files, _json_files
from mpopt._command import Error, ModelFile, PathLike, argument

if typing.TYPE_CHECKING:
    import onnx

To = typing.Literal["mixed-fp16", "mixed-bf16", "fp16", "bf16", "fp8-qdq", "fp32"]
Names = bool | Sequence[str] | None


@dataclasses.dataclass(frozen=True)
class Converted:
    """A model that was converted. `raw`: the report, `mpopt-convert/1` (docs/convert.md)."""

    #: The file that was asked for; None if none was.
    path: pathlib.Path | None
    raw: dict[str, typing.Any] = dataclasses.field(repr=False)
    _content: onnx.ModelProto | None = dataclasses.field(default=None, repr=False)

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        if self._content is not None:
            return self._content
        import onnx

        return onnx.load(str(self.path))

    @property
    def kept(self) -> dict[str, str]:
        """The nodes in FP32, and why."""
        return {entry["node"]: entry["why"] for entry in self.raw["kept"]}

    @property
    def expected_error(self) -> float | None:
        """The largest of an output, of its largest magnitude; None if it is not known."""
        error = self.raw["expected_error"]
        return None if error is None else float(error)

    @property
    def verified(self) -> dict[str, float] | None:
        """The largest error of each output in the runs that `verify` asked for; None if it did not."""
        if "verified" not in self.raw:
            return None
        return {entry["name"]: max(float(entry["error"]), entry["changed"])
                for entry in self.raw["verified"]["outputs"]}

    @property
    def obstacle(self) -> str | None:
        """The obstacle to `max_error`; None if there is none."""
        return self.raw.get("obstacle")


def convert(model, output: PathLike | None = None, *, to: To = "mixed-fp16",
            keep: PathLike | Mapping | Sequence[str] | None = None, never: Sequence[str] = (),
            keep_io_types: Names = None, max_error: float | None = None,
            inputs: Mapping | None = None, assume: tuple[float, float] | None = None,
            dims: Mapping[str, int] | None = None, input_shapes: Mapping | None = None,
            target: PathLike | None = None, assume_fp16: Sequence[str] = (),
            min_low: float | None = None, write_anyway: bool = False,
            verify: PathLike | int | bool | None = None, opset: int | None = None,
            states: Sequence[str] = (), policy: PathLike | None = None, with_fixes: bool = False) -> Converted:
    """Converts an ONNX model, or a file of PyTorch: `mpopt --convert`.

    model          a path, an `onnx.ModelProto`, or the bytes of one
    output         a file to write; without one the model, if it is ONNX, is in `Converted.model` alone
    to             `mixed-fp16` and `mixed-bf16` keep in FP32 what the error asks for, `fp16`
                   and `bf16` only what has no low form; `fp32` takes types back
    keep, never    nodes that stay in FP32, and that do not stay there for their error: names,
                   expressions, types of ops, `MatMul>Softmax`, `out:VALUE`. `keep` may also be
                   a file that `--keep-fp32` wrote, or what is in it
    keep_io_types  inputs and outputs that keep their types: True for all, or names. Default: those
                   that an FP32 op reads or gives
    max_error      the largest expected error of an output (0.02 to FP16, 0.12 to BF16)
    assume_fp16    `DOMAIN::OP` of unknown domains that take the low type
    min_low        the least share of multiplications that has to become low
    verify         feeds (.npz), or how many drawn ones (True: 8): the result is run beside the source
                   in ONNX Runtime, every rounding restored, or in PyTorch (`Converted.verified`)
    opset          raises ONNX's own domain to it
    states         `IN=OUT[:CALLS]` that one call gives to the next
    policy         a table that autocast follows: what it has in FP32 stays there
    with_fixes     makes the safe fixes of `fix` first
    write_anyway   also what misses `max_error`, or has an infinity that the source has not

    The other arguments are those of `check`. Raises `mpopt.Error` if the model or an option is
    invalid, or the error cannot be met."""
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mpopt-")))
        path = pathlib.Path(_command.text("output", output)) if output is not None else folder / "model.onnx"
        file = stack.enter_context(ModelFile(checked(model)))
        if output is None and zipfile.is_zipfile(file.path):
            raise Error("convert: a file of PyTorch needs an output")
        report = folder / "report.json"
        words = ["--convert", file.path, "-o", str(path), "--quiet", "--to", _command.text("to", to),
                 "--report", str(report)]
        words += [word for name in _keep_words(keep) for word in ("--keep", name)]
        words += [word for name in never for word in ("--never", _command.text("never", name))]
        words += [word for name in assume_fp16 for word in ("--assume-fp16", _command.text("assume_fp16", name))]
        words += _interface(keep_io_types)
        words += [word for state in states for word in ("--state", _command.text("states", state))]
        words += verifying_options(verify)
        words += ["--opset", str(opset)] if opset is not None else []
        words += ["--policy", _command.text("policy", policy)] if policy is not None else []
        for name, number in (("max-error", max_error), ("min-low", min_low)):
            if number is not None:
                with argument(_command.keyword_of(name)):
                    words += [f"--{name}", _command.number(number)]
        words += ["--write-anyway"] if write_anyway else []
        words += ["--with-fixes"] if with_fixes else []
        words += _command.assuming_options(file.arrays, target=target, inputs=inputs, assume=assume, dims=dims,
                                           input_shapes=input_shapes)
        _command.run(words, accepted=(0, 1) if write_anyway else (0,), model="" if file.is_given else file.path)
        raw = json.loads(report.read_text(encoding="utf-8"))
        if output is not None:
            return Converted(path, raw)
        import onnx

        return Converted(None, raw, onnx.load(str(path)))


def to_float16(model, keep: PathLike | Mapping | Sequence[str] | None = None, *, converter: str | None = None,
               keep_io_types: Names = None) -> onnx.ModelProto:
    """Returns the model in FP16, the nodes of `keep` in FP32.

    model          the path of an ONNX model, an `onnx.ModelProto` or its bytes; it stays
                   as it is
    keep           a file that `--keep-fp32` wrote (but for `.autocast.txt`), what is in
                   it, or names of nodes, `TYPE_INDEX` of those without one; none: all ops
                   become FP16 that have a form in it
    keep_io_types  inputs and outputs in FP32: True for all, False for none, or their names.
                   Default: inputs that an FP32 op reads, and outputs that one gives,
                   since FP16 may not hold them
    converter      has no effect: the package converts by itself

    `convert` finds by itself what has to stay in FP32. Raises `mpopt.Error` if the model is
    invalid, or `keep` names a node that it lacks."""
    if converter is not None:
        warnings.warn("to_float16: converter has no effect any more", DeprecationWarning, stacklevel=2)
    return _to_low(model, "fp16", keep, keep_io_types)


def to_bfloat16(model, keep: PathLike | Mapping | Sequence[str] | None = None, *,
                keep_io_types: Names = None) -> onnx.ModelProto:
    """The same in BF16, which needs opset 13."""
    return _to_low(model, "bf16", keep, keep_io_types)


def _to_low(model, to: To, keep, keep_io_types: Names) -> onnx.ModelProto:
    names = [f"node:{name}" for name in _read_keep(keep)]
    return convert(model, to=to, keep=names, keep_io_types=keep_io_types, write_anyway=True).model


def checked(model):
    """The model, of which the command says what is wrong only if it is a file."""
    if isinstance(model, str | os.PathLike):
        with argument("the model"):
            _input_files.check(model)
        return model
    if not (isinstance(model, bytes) or hasattr(model, "SerializeToString")):
        raise Error(f"a path or an ONNX model, not {type(model).__name__}")
    graph = getattr(model, "graph", None)
    if graph is not None and any(tensor.data_location == 1 for tensor in graph.initializer):
        raise Error("the weights are in other files: give the model's path")
    return model


def verifying_options(verify: PathLike | int | bool | None) -> list[str]:
    if verify is None or verify is False:
        return []
    if verify is True:
        return ["--verify", "random"]
    return ["--verify", f"random:{verify}" if isinstance(verify, int) else _command.text("verify", verify)]


def _keep_words(keep) -> list[str]:
    """Names out of a list that `--keep-fp32` wrote stand for themselves alone."""
    if keep is None or (isinstance(keep, Sequence) and not isinstance(keep, str | bytes)):
        return _read_keep(keep)
    return [f"node:{name}" for name in _read_keep(keep)]


def _read_keep(keep) -> list[str]:
    """The names in what `--keep-fp32` writes for converters, or in mpopt's own form."""
    if keep is None:
        return []
    with argument("keep"):
        if isinstance(keep, str | os.PathLike):
            if os.fspath(keep).endswith(".autocast.txt"):
                raise Error("keep: .autocast.txt is for ModelOpt: write .json")
            keep = _json_files.read(keep)
        if isinstance(keep, Mapping):
            if "node_block_list" in keep:
                keep = keep["node_block_list"]
            elif keep.get("schema") == "mpopt-keep/1":
                keep = [op["name"] for op in keep["ops"]]
            else:
                raise Error("keep: it is no list that --keep-fp32 wrote")
        if isinstance(keep, (str, bytes)):
            raise TypeError("a list of names, not a text")
        names = list(keep)
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise TypeError(f"names of nodes, not {type(wrong[0]).__name__}")
        return list(dict.fromkeys(names))


def _interface(keep_io_types: Names) -> list[str]:
    if keep_io_types is None:
        return []
    if isinstance(keep_io_types, bool):
        return ["--keep-io-types"] if keep_io_types else ["--keep-io-types=!.*"]
    with argument("keep_io_types"):
        if isinstance(keep_io_types, str):
            raise TypeError("a list of names, not one")
        names = list(keep_io_types)
    return [f"--keep-io-types={','.join(['!.*', *names])}"]

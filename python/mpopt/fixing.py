"""Models with the fixes that trials proved: `mpopt --fix`."""

from __future__ import annotations

import contextlib
import dataclasses
import pathlib
import tempfile
import typing
from collections.abc import Mapping

from mpopt import _command, _precisions, converting
from mpopt._command import ModelFile, PathLike

if typing.TYPE_CHECKING:
    import onnx


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A model with fixes."""

    model: onnx.ModelProto = dataclasses.field(repr=False)
    #: Nodes and constants that were changed (`- NODE`, `+ NODE`, `NAME: BEFORE -> AFTER`), and behind
    #: them, with two spaces in front, for which findings; empty if nothing was.
    changes: tuple[str, ...]


def fix(model, output: PathLike | None = None, *, precision="fp16", unsafe: bool = False,
        inputs: Mapping | None = None, assume: tuple[float, float] | None = None,
        dims: Mapping[str, int] | None = None, input_shapes: Mapping | None = None,
        target: PathLike | None = None, verify: PathLike | int | None = None) -> Fixed:
    """Makes the fixes of findings in an ONNX model: `mpopt --fix`.

    model      a path, an `onnx.ModelProto`, or the bytes of one
    output     a file to write; without one the model is in `Fixed.model` alone
    unsafe     also make fixes that leave or add a finding, or change the numbers of FP32

    verify     feeds (.npz), or how many drawn ones: the result is run beside the model in ONNX
               Runtime, and no further off than 2 % of an output's largest magnitude

    The other arguments are those of `check`. Raises `mpopt.Error` if the model or an option is
    invalid."""
    import onnx

    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mpopt-")))
        path = pathlib.Path(_command.text("output", output)) if output is not None else folder / "model.onnx"
        file = stack.enter_context(ModelFile(converting.checked(model)))
        words = ["--fix", file.path, "-o", str(path), "--precision", _precisions.find(precision)]
        words += ["--unsafe-fixes"] if unsafe else []
        words += converting.verifying_options(verify)
        words += _command.assuming_options(file.arrays, target=target, inputs=inputs, assume=assume, dims=dims,
                                           input_shapes=input_shapes)
        # 1: findings are left, which `check` of the result has.
        lines = _command.run(words, accepted=(0, 1), model="" if file.is_given else file.path).splitlines()
        return Fixed(onnx.load(str(path)), tuple(line for line in lines if not line.startswith(("nothing to fix", "measured "))))

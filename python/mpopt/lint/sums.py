"""Sums of a region's 16-bit results outside of the region, and what comes from them."""

from __future__ import annotations

import ast
import dataclasses

from mpopt.lint import library, values
from mpopt.lint.values import Value


@dataclasses.dataclass(frozen=True, eq=False)
class Sum:
    """A sum or mean of what a model gave in an autocast region, outside of it. `is_low`: surely in 16 bits;
    otherwise another operand may be FP32."""

    node: ast.AST
    dtype: str
    is_low: bool


class Sums:
    """Part of the interpreter: see interpreter.py."""

    def derive(self, node: ast.AST, *operands: Value) -> None:
        """A tensor comes from the sums that its operands come from."""
        if self.sums:
            found = [self.sums[id(operand.origin)] for operand in operands if id(operand.origin) in self.sums]
            if found:
                self.sums[id(node)] = found[0]
            else:
                self.sums.pop(id(node), None)

    def note_sum(self, node: ast.AST, op: str, tensor: Value, dtype: str) -> None:
        """Notes a reduction of a region's 16-bit result outside of the region."""
        self.derive(node, tensor)
        if id(node) in self.sums:
            return  # The first one decides.
        if op not in library.REDUCTIONS or not tensor.has("forward") or dtype in ("f32", "f64") or self.in_autocast():
            return
        region = tensor.parts
        if isinstance(region, values.Region) and region.enabled and (tensor.dtype in values.LOW or tensor.has("mixed-low")):
            self.sums[id(node)] = Sum(node, tensor.dtype or region.dtype, tensor.dtype in values.LOW)

"""The rules: a function each, under its rule's name, grouped by what they are about."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator

from mpopt.lint.fixes import Change
from mpopt.lint.interpreter import Program


@dataclasses.dataclass(frozen=True)
class Report:
    """The finding of a rule about a node."""

    node: ast.AST
    message: str
    change: Change | None = None
    severity: str = ""


Check = Callable[[Program], Iterator[Report]]
CHECKS: dict[str, Check] = {}


def rule(check: Check) -> Check:
    """Registers the check of the rule whose name the function has."""
    CHECKS[check.__name__.replace("_", "-")] = check
    return check


def load() -> dict[str, Check]:
    """All checks by the names of their rules."""
    from mpopt.lint.rules import (  # noqa: F401: they register.
        averages, casts, communication, configurations, engines, fp8, fp8_scales, lightning, numbers, policy, protocol, regions, scaler, settings,
        shortcuts, steps)

    return CHECKS

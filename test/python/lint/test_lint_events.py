"""The events that the interpreter notes of a script."""

from __future__ import annotations

from mpopt.lint import events, source
from mpopt.lint.interpreter import Interpreter


def test_a_condition_is_evaluated_once():
    text = "import torch\nx = torch.zeros(3, dtype=torch.float16)\nif x.dtype == f(loss.backward()):\n    y = x\nelse:\n    y = 0\n"
    program = Interpreter(source.parse(text)).interpret()
    assert [event.tests for event in program.of_kind(events.BACKWARD)] == [()]

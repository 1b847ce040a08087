"""mpopt.monitor: whether a training is healthy, while it runs.

    with mpopt.monitor.Monitor(model, optimizer, scaler, record="run-%r.mprec") as monitor:
        for batch in loader:
            ...                        # the loop as it was
            monitor.step(loss=loss)    # after optimizer.step()

Needs PyTorch, but for what reads the history of a run. Names are loaded when they are asked for:
a viewer of records has no PyTorch."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpopt.monitor.alerts import Alert, StopTraining
    from mpopt.monitor.collecting import PERIODS
    from mpopt.monitor.comparing import (
        Comparison,
        Difference,
        compare,
    )
    from mpopt.monitor.log_probabilities import LogProbabilities, compare_log_probabilities
    from mpopt.monitor.monitor import Monitor
    from mpopt.monitor.predicting import Flushed, Predictions, check_predictions
    from mpopt.monitor.reading import read
    from mpopt.monitor.replay import FirstBad, Operand
    from mpopt.monitor.tensorboard import to_tensorboard
    from mpopt.monitor.verdict import Verdict, judge_run

_HOMES = {
    "Alert": "alerts",
    "Comparison": "comparing",
    "Difference": "comparing",
    "FirstBad": "replay",
    "Flushed": "predicting",
    "LogProbabilities": "log_probabilities",
    "Monitor": "monitor",
    "Operand": "replay",
    "PERIODS": "collecting",
    "Predictions": "predicting",
    "StopTraining": "alerts",
    "Verdict": "verdict",
    "check_predictions": "predicting",
    "compare": "comparing",
    "compare_log_probabilities": "log_probabilities",
    "judge_run": "verdict",
    "read": "reading",
    "to_tensorboard": "tensorboard",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'mpopt.monitor' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"mpopt.monitor.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return __all__

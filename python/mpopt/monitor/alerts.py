"""Alerts, and the places to which they go."""

import dataclasses
import json
import logging
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

#: From the worst down.
SEVERITIES = ("error", "warning", "note")


@dataclasses.dataclass(frozen=True)
class Alert:
    """A rule of the catalogue that a running training breaks.

    rule      id of the rule, `MP506`
    severity  `error`: training breaks; `warning`: it learns worse; `note`: worth knowing
    layer     path of the module or name of the parameter, empty for the whole run
    step      number of the `Monitor.step` call, from 0, in which it was seen
    message   one line: layer, step, numbers, likely cause, remedy
    """

    rule: str
    severity: str
    layer: str
    step: int
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.severity}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class StopTraining(RuntimeError):
    """Raised by `Monitor.step` where an alert's action is `stop`; `alert` says why."""

    def __init__(self, alert: Alert):
        super().__init__(str(alert))
        self.alert = alert


class Sink(Protocol):
    """A place for alerts and for the numbers of each step. Both may do nothing."""

    def alert(self, alert: Alert) -> None: ...

    def numbers(self, step: int, values: dict[str, float]) -> None: ...


class Log:
    """Alerts as records of the logger `mpopt.monitor`."""

    _LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}

    def __init__(self, logger: logging.Logger | None = None):
        self._logger = logger or logging.getLogger("mpopt.monitor")

    def alert(self, alert: Alert) -> None:
        self._logger.log(self._LEVELS[alert.severity], "%s", alert)

    def numbers(self, step: int, values: dict[str, float]) -> None:
        pass


class JsonLines:
    """A line of JSON for each alert (`{"alert": {...}}`) and each step (`{"step": N, ...}`).
    Numbers that are not finite are the strings `inf`, `-inf` and `nan`."""

    def __init__(self, path: str | os.PathLike):
        self._file = pathlib.Path(path).open("a", encoding="utf-8", buffering=1)

    def alert(self, alert: Alert) -> None:
        self._write({"alert": alert.as_dict()})

    def numbers(self, step: int, values: dict[str, float]) -> None:
        self._write({"step": step, **{name: value if abs(value) < float("inf") else str(value)
                                      for name, value in values.items()}})

    def _write(self, entry: dict) -> None:
        self._file.write(json.dumps(entry) + "\n")


class Call:
    """A function of the alert."""

    def __init__(self, function: Callable[[Alert], None]):
        self._function = function

    def alert(self, alert: Alert) -> None:
        self._function(alert)

    def numbers(self, step: int, values: dict[str, float]) -> None:
        pass


class TensorBoard:
    """A `SummaryWriter`: numbers as scalars below `mpopt/`, alerts as text."""

    def __init__(self, writer):
        self._writer = writer

    def alert(self, alert: Alert) -> None:
        self._writer.add_text(f"mpopt/{alert.rule}", alert.message, alert.step)

    def numbers(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(f"mpopt/{name}", value, step)


class WeightsAndBiases:
    """A run of W&B. Its own step counter is left alone: `mpopt/step` is the monitor's."""

    def __init__(self, run):
        self._run = run

    def alert(self, alert: Alert) -> None:
        if hasattr(self._run, "alert"):
            self._run.alert(title=alert.rule, text=alert.message,
                            level={"error": "ERROR", "warning": "WARN", "note": "INFO"}[alert.severity])

    def numbers(self, step: int, values: dict[str, float]) -> None:
        self._run.log({"mpopt/step": step, **{f"mpopt/{name}": value
                                              for name, value in values.items()}})


class MLflow:
    """The module `mlflow`, with an active run: numbers as metrics, alerts as tags."""

    def __init__(self, mlflow):
        self._mlflow = mlflow

    def alert(self, alert: Alert) -> None:
        self._mlflow.set_tag(f"mpopt.{alert.rule}.{alert.step}", alert.message)

    def numbers(self, step: int, values: dict[str, float]) -> None:
        self._mlflow.log_metrics({f"mpopt/{name}": value for name, value in values.items()},
                                 step=step)


def make_sink(given) -> Sink:
    """The sink that an argument means: a path, a logger, a function, a `SummaryWriter`, a run
    of W&B, the module `mlflow`, or a sink. `TypeError` for others."""
    if isinstance(given, str | os.PathLike):
        return JsonLines(given)
    if isinstance(given, logging.Logger):
        return Log(given)
    if hasattr(given, "add_scalar") and hasattr(given, "add_text"):
        return TensorBoard(given)
    if hasattr(given, "log_metrics") and hasattr(given, "set_tag"):
        return MLflow(given)
    if hasattr(given, "alert") and hasattr(given, "numbers"):
        return given
    if hasattr(given, "log") and hasattr(given, "config"):
        return WeightsAndBiases(given)
    if callable(given):
        return Call(given)
    raise TypeError(f"no place for alerts: {type(given).__name__}")


ACTIONS = ("continue", "stop", "keep", "replay")


def check_actions(actions: Mapping[str, str] | None) -> dict[str, str]:
    """Actions by rule or severity; `ValueError` for one that there is not."""
    for key, action in (actions or {}).items():
        if action not in ACTIONS:
            raise ValueError(f"actions[{key!r}]: one of {', '.join(ACTIONS)}, not {action!r}")
        if key not in SEVERITIES and not key.startswith("MP"):
            raise ValueError(f"actions: {key!r} is neither a rule nor one of "
                             f"{', '.join(SEVERITIES)}")
    return dict(actions or {})


def deliver(alerts: Iterable[Alert], sinks: Iterable[Sink]) -> None:
    for alert in alerts:
        for sink in sinks:
            sink.alert(alert)

"""The part that the training scripts share: their options, and who looks at a step.

With `--record` the monitor does, with `--probed` the probes of a model that `mpopt --instrument`
wrote; without either nobody."""

import argparse
import functools
import json
import math
import time
from pathlib import Path

import torch

import text
from model import Result


def read_options(about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--steps", type=int, default=100, help="default: %(default)s")
    parser.add_argument("--batch", type=int, default=4, help="rows of a step; default: %(default)s")
    parser.add_argument("--data", type=Path, default=text.FOLDER, metavar="FOLDER",
                        help="where the tokens are, or are put; default: %(default)s")
    parser.add_argument("--record", type=Path, metavar="FILE.mprec",
                        help="train with the monitor, which writes this record")
    parser.add_argument("--probed", type=Path, metavar="FILE.pt",
                        help="train this model with probes; its record is --record")
    parser.add_argument("--summary", type=Path, metavar="FILE.json",
                        help="write losses, alerts and processor time")
    parser.add_argument("--seed", type=int, default=0, help="of the weights; default: %(default)s")
    parser.add_argument("--threads", type=int, default=1,
                        help="so small a model is fastest with one; default: %(default)s")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    return options


def with_weights(archive, model):
    """The archive, computing with the parameters of the model that it was made of, so that the
    optimizer that has these updates it."""
    for name, parameter in model.named_parameters():
        *path, last = name.split(".")
        setattr(functools.reduce(getattr, path, archive), last, parameter)
    return archive


def with_names(forward):
    """The archive gives tuples whose members have no names."""
    def call(*arguments):
        given = forward(*arguments)
        return Result(*given) if isinstance(given, tuple) else given
    return call


class Watch:
    """Stands where a training script has its log: `step(loss)` ends a step. Where gradients of
    `passes` accumulate, `add(loss)` ends a pass, and the last one a step, whose loss is the sum;
    the monitor gets the terms, too."""

    def __init__(self, options: argparse.Namespace, model, optimizer, scaler=None, passes: int = 1):
        self._options, self._losses, self._watcher = options, [], None
        self._monitor, self._passes, self._terms = False, passes, []
        if options.record and options.probed:
            from mpopt.recorder import Recorder
            # Fused by the executor, ops would round less often than the model's own.
            torch._C._set_graph_executor_optimize(False)
            # Its own casts for autocast are not those of eager mode.
            torch._C._jit_set_autocast_mode(False)
            model.forward = with_names(with_weights(torch.jit.load(options.probed), model).forward)
            self._watcher = Recorder(f"{options.probed}.probes.json", options.record)
        elif options.record:
            from mpopt.monitor import Monitor
            self._monitor = True
            self._watcher = Monitor(model, optimizer, scaler, record=options.record,
                                    periods={"gradient": 20, "value": 20, "parameter": 20,
                                             "optimizer": 20, "channel": 20, "update": 20})
        self._begin = time.process_time()

    def add(self, loss: float) -> None:
        self._terms.append(loss)
        if len(self._terms) == self._passes:
            terms = {f"micro-batch {place}": term for place, term in enumerate(self._terms)}
            self._terms.clear()
            self.step(torch.tensor(sum(terms.values())), terms)

    def step(self, loss, terms: dict[str, float] | None = None) -> None:
        value = float(loss.detach())
        if len(self._losses) % 20 == 0:
            print(f"step {len(self._losses):4}  loss {value:.3f}", flush=True)
        self._losses.append(value)
        if self._monitor:
            self._watcher.step(loss=loss, metrics=terms)

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *_) -> None:
        seconds = time.process_time() - self._begin
        alerts = list(self._watcher.alerts) if self._monitor else []
        if self._watcher is not None:
            self._watcher.close()
        print(f"{len(self._losses)} steps, last loss {self._losses[-1]:.3f}, {seconds:.0f} s of processor time")
        if self._options.summary:
            losses = [value if math.isfinite(value) else str(value) for value in self._losses]
            alerts = [{name: getattr(alert, name) for name in
                       ("rule", "severity", "layer", "step", "message")} for alert in alerts]
            self._options.summary.write_text(json.dumps(
                {"losses": losses, "alerts": alerts, "seconds": round(seconds, 2)}, indent=1))

"""Histories of made-up runs: a healthy one, and one for each kind of failure."""

from __future__ import annotations

import json
import math
import random


def entry(kind, name, exponents, dtype="f16", zero=0, nan=0, inf=0, absmax=None):
    first = min(exponents) if exponents else 0
    last = max(exponents) if exponents else -1
    counts = [exponents.get(exponent, 0) for exponent in range(first, last + 1)]
    largest = absmax if absmax is not None else 1.5 * 2.0 ** last if exponents else 0
    return [kind, name, dtype, sum(counts) + zero + nan + inf, zero, nan, inf, largest, first, counts]


def bell(centre, width=4, count=1000):
    return {exponent: int(count * math.exp(-((exponent - centre) / width) ** 2)) + 1 for exponent in range(centre - 3 * width, centre + width)}


LAYERS = ("embed", "blocks.0.mlp", "blocks.1.mlp", "head")


def write(path, *, steps=200, rank=0, loss=lambda step: 2 * 0.98 ** step + .1, scale=lambda step: 65536., norm=lambda step: 1.,
          skipped=lambda step: False, gradient=lambda layer, step: bell(-2), value=lambda layer, step: bell(0), bad=lambda step: None,
          alerts=(), extra=lambda layer, step: {}, every=20, begin=True):
    """Writes a history file. Functions give numbers by step, and exponents by layer and step."""
    draw = random.Random(0)

    def word(number):
        return number if math.isfinite(number) else "nan" if math.isnan(number) else "inf"
    lines = [{"schema": "mpopt-history/1", "rank": rank, "first_scale": 65536.0}] if begin else []
    for step in range(steps):
        lines.append({"step": step, "loss": word(loss(step) * draw.uniform(.97, 1.03)), "loss_scale": scale(step), "gradient_norm": word(norm(step)),
                      "learning_rate": 1e-3, **({"skipped": True} if skipped(step) else {}), **({"bad": bad(step)} if bad(step) else {})})
        if every and step % every == 7:
            lines.append({"sample": step, "scale": scale(step), "of": [
                *(entry("value", layer, value(layer, step), **extra(layer, step)) for layer in LAYERS),
                *(entry("gradient", f"{layer}.weight", gradient(layer, step)) for layer in LAYERS)]})
        lines += [{"alert": alert} for alert in alerts if alert["step"] == step]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def alert(rule, step, layer="blocks.1.mlp", severity="warning", message=""):
    return {"rule": rule, "severity": severity, "layer": layer, "step": step, "message": message or f"step {step}: '{layer}' breaks {rule}"}

"""Which tensors of a monitored run fit which scales of FP8, by the histograms of its history.

    python -m mpopt.monitor.fp8 RUN.mprec [--history N] [--against REPORT.json] [--format text|json]

Of each tensor's last sample: what one scale for all of it does (`current`), and what a scale by the samples
before it clips (`delayed`). Elements of a binade are taken as even in their logarithm, as docs/fp8.md has
it for rounding. A histogram cannot tell the effect of scales of rows or blocks: the report says only where
one scale does not suffice.

`--against` has the report of `mpopt --check --train --precision fp8:RECIPE --format json`, for a recipe of one scale a tensor:
what it foresees of weights and of the gradients of layers' outputs, beside what the run shows."""

import contextlib
import dataclasses
import json
import math
import sys
from collections.abc import Mapping

from mpopt import _command, _console, _json_files
from mpopt._command import Error, PathLike
from mpopt.monitor import history


@dataclasses.dataclass(frozen=True)
class Format:
    name: str
    largest: float
    digits: int
    #: The exponent of the smallest normal number.
    least: int

    @property
    def rounding(self) -> float:
        """The mean square of the error of a normal number, of its own square."""
        return 4.0 ** -self.digits / (8 * math.log(2))


E4M3, E5M2 = Format("E4M3", 448, 4, -6), Format("E5M2", 57344, 3, -14)
#: Noise of twice the square that rounding alone has.
TWICE = 10 * math.log10(2)
#: The share of elements that are read as 0 which an operand bears: docs/fp8.md counts from there.
FLUSHED = 0.01
#: Recipes of the checker whose scales a histogram can tell of.
ONE_SCALE = ("current", "delayed", "delayed_recent", "delayed_cold")


@dataclasses.dataclass(frozen=True)
class Fit:
    """A tensor under one scale. `flushed`, `clipped`: shares of its non-zero elements; `delayed_clipped`: by the scale
    that the samples before it give, None if there are none; `growth`: log2 of its largest magnitude over theirs."""

    kind: str
    name: str
    format: str
    snr_db: float
    flushed: float
    delayed_clipped: float | None
    growth: float | None
    #: Those of one scale that read few elements as 0, with at most twice the noise of rounding; none: scales of rows or blocks.
    recipes: list[str]
    #: The share read as 0 that a report foresees, and whether the run has it to within twice; None: nothing is foreseen.
    foreseen: float | None = None
    agrees: bool | None = None


@dataclasses.dataclass(frozen=True)
class Foreseen:
    """The shares of weights and of the gradients of outputs that are read as 0, by kind and name, under a recipe of
    one scale a tensor. `is_cold`: that scale is 1."""

    shares: Mapping[tuple[str, str], float]
    is_cold: bool = False


def foresee(report: object) -> Foreseen | None:
    """The prediction in a report; None if it has none, or one of scales of rows or blocks."""
    training = report.get("training") if isinstance(report, dict) else None
    step = training.get("fp8") if isinstance(training, dict) else None
    if not isinstance(step, dict) or step.get("recipe") not in ONE_SCALE:
        return None
    shares: dict[tuple[str, str], float] = {}
    for layer in step.get("gemms") or []:
        with contextlib.suppress(KeyError, TypeError):
            shares["parameter", layer["weight"]] = float(layer["fprop"]["w"]["flushed"])
            shares["gradient", layer["module"]] = float(layer["wgrad"]["dy"]["flushed"])
    return Foreseen(shares, step["recipe"] == "delayed_cold") if shares else None


def losses(exponents: Mapping[int, int], absmax: float, largest: float, form: Format) -> tuple[float, float, float]:
    """Signal to noise in dB and the shares clipped and flushed of magnitudes by binade, up to `absmax`, if `largest`
    becomes the format's largest number."""
    scale = largest / form.largest
    step = scale * 2.0 ** (form.least - form.digits + 1)
    normal, flush = scale * 2.0 ** form.least, step / 2
    count = sum(exponents.values())
    if not count or not scale > 0:
        return math.nan, 0.0, 0.0
    signal = noise = clipped = flushed = 0.0

    for exponent, number in exponents.items():
        low = 2.0 ** exponent
        high = min(2 * low, max(absmax, low * (1 + 1e-9)))
        bounds = [low, *(edge for edge in (flush, normal, largest) if low < edge < high), high]
        for a, b in zip(bounds, bounds[1:]):
            # Moments of magnitudes from a to b with an even logarithm.
            width = math.log(b / a)
            its, mean, square = number * width / math.log(high / low), (b - a) / width, (b * b - a * a) / (2 * width)
            signal += its * square
            if a >= largest:
                # Numbers that are all next to the largest cancel to less than 0.
                noise += its * max(square - 2 * largest * mean + largest ** 2, 0.0)
                clipped += its
            elif b <= flush:
                noise += its * square
                flushed += its
            elif b <= normal:
                noise += its * step * step / 12
            else:
                noise += its * form.rounding * square
    # Squares of numbers below 1e-162 are 0; a noise of 0 is what doubles resolve.
    if not signal > 0:
        return math.nan, clipped / count, flushed / count
    noise = max(noise, signal * sys.float_info.epsilon ** 2)
    return 10 * math.log10(signal / noise), clipped / count, flushed / count


def judge(run: history.History, steps: int = 16, foreseen: Foreseen | None = None) -> list[Fit]:
    """`steps`: samples whose largest magnitude gives a delayed scale."""
    before: dict[tuple[str, str], list[float]] = {}
    last: dict[tuple[str, str], tuple[history.Seen, list[float]]] = {}
    for sample in run.samples:
        for seen in sample.seen:
            key = seen.kind, seen.name
            if seen.exponents and math.isfinite(seen.absmax):
                last[key] = seen, before.get(key, [])[-steps:]
                before.setdefault(key, []).append(seen.absmax)
    return [_compare(_fit(seen, earlier), seen, foreseen) for seen, earlier in last.values()
            if seen.kind in ("value", "parameter", "gradient")]


def _compare(fit: Fit, seen: history.Seen, foreseen: Foreseen | None) -> Fit:
    share = foreseen.shares.get((fit.kind, fit.name)) if foreseen else None
    if foreseen is None or share is None:
        return fit
    form = E5M2 if fit.format == "E5M2" else E4M3
    flushed = losses(seen.exponents, seen.absmax, form.largest, form)[2] if foreseen.is_cold else fit.flushed
    agrees = max(share, flushed) < FLUSHED or share / 2 <= flushed <= 2 * share
    return dataclasses.replace(fit, flushed=flushed, foreseen=share, agrees=agrees)


def _fit(seen: history.Seen, earlier: list[float]) -> Fit:
    form = E5M2 if seen.kind == "gradient" else E4M3
    most = max(earlier, default=0.0)
    now = losses(seen.exponents, seen.absmax, seen.absmax, form)
    delayed = losses(seen.exponents, seen.absmax, most, form) if most > 0 else None
    enough = -10 * math.log10(form.rounding) - TWICE
    recipes = [name for name, its in (("delayed", delayed), ("current", now)) if its and its[0] >= enough and its[2] < FLUSHED]
    return Fit(seen.kind, seen.name, form.name, now[0], now[2], delayed and delayed[1],
               math.log2(seen.absmax / most) if most > 0 else None, recipes)


def list_worst(fits: list[Fit]) -> list[Fit]:
    """Those of which something else was foreseen first, then those that one scale does not hold."""
    return sorted(fits, key=lambda fit: (fit.agrees is not False, bool(fit.recipes), fit.snr_db))


def read(record: PathLike, steps: int = 16, against: PathLike | None = None) -> list[Fit]:
    """Raises `mpopt.Error` if `against` is no report that foresees scales of whole tensors."""
    foreseen = None
    if against is not None:
        with _command.argument("--against"):
            foreseen = foresee(_json_files.read(against))
            if foreseen is None:
                raise ValueError(f"it foresees no scale of a whole tensor: --check --train --precision fp8:{ONE_SCALE[0]} --format json does")
    return judge(history.read(record), steps, foreseen)


def main(arguments: list[str] | None = None) -> int:
    parser = _console.Parser(prog="python -m mpopt.monitor.fp8", description="Tells which tensors of a run fit one scale in FP8.")
    parser.add_argument("run", metavar="RUN.mprec", help="the record, beside its history")
    parser.add_argument("--history", type=int, default=16, metavar="N", help="samples that give a delayed scale; default: %(default)s")
    parser.add_argument("--against", metavar="REPORT.json", help="the report of --check --train --precision fp8:RECIPE --format json")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    try:
        options = parser.parse_args(arguments)
        fits = read(options.run, max(options.history, 1), options.against)
    except (Error, OSError) as error:
        _console.print_error("mpopt.monitor.fp8", error)
        return 2
    print(json.dumps([dataclasses.asdict(fit) for fit in fits], indent=1) if options.format == "json" else _text(fits))
    return 0


def _text(fits: list[Fit]) -> str:
    if not fits:
        return "no tensor was sampled"
    lines = []
    for fit in list_worst(fits):
        grown = f", 2^{fit.growth:.1f} past its history ({100 * fit.delayed_clipped:.2g} % clipped)" \
            if fit.growth is not None and fit.growth > 0 and fit.delayed_clipped is not None else ""
        against = f", {100 * fit.foreseen:.2g} % foreseen" if fit.foreseen is not None else ""
        lines.append(f"{fit.kind} {fit.name}: {' and '.join(fit.recipes) or 'scales of rows or blocks'} ({fit.format}, {fit.snr_db:.1f} dB, "
                     f"{100 * fit.flushed:.2g} % read as 0{against}{grown})")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

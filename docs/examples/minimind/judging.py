"""The outcome of a training or of a fault, as a row of the page's tables."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path

from faults import BY_LINT, Edit, Fault, Told
from steps import HERE, TRAININGS, Steps, Training, copy_sources

SEVERITIES = ("error", "warning", "note")
#: A finding of `--check` or `--confirm` has a status in the latter.
CONFIRMED = "confirmed"


def place_of(by: str, finding: dict) -> str:
    """Where a finding is: what `Told.where` is matched with."""
    if by == "lint":
        lines = Path(finding["file"]).read_text().split("\n")
        return lines[finding["line"] - 1]
    if by == "monitor":
        return finding["layer"] or finding["message"]
    return f"{finding['op']['type']} {finding['op']['name']} {finding['tensor']}"


def name_of(by: str, finding: dict) -> str:
    """Where a finding is, for a reader."""
    if by == "lint":
        return f"`{Path(finding['file']).name}`:{finding['line']}"
    if by == "monitor":
        term = re.search(r"by its term '([^']*)'", finding["message"])
        return f"`{finding['layer'] or term[1]}`" if finding["layer"] or term else "(of the whole step)"
    name, kind = finding["op"]["name"], finding["op"]["type"].rpartition("::")[2]
    return f"`{name}`" + (f" ({kind})" if kind.isidentifier() else "")


def step_of(by: str, finding: dict) -> int | None:
    if by == "monitor":
        return finding["step"]
    return (finding.get("observed") or {}).get("first_step") if by == "confirm" else None


class Seen:
    """The findings of all commands on one state of the files."""

    def __init__(self, steps: Steps, monitored: int, probed: int):
        steps.export()
        found = {"lint": steps.lint(), "check": steps.check()["findings"]}
        run = steps.train(monitored)
        found["monitor"], self.losses = run["alerts"], run["losses"]
        if probed:
            found["confirm"] = [each for each in steps.confirm(probed)["findings"]
                                if each["status"] == CONFIRMED]
        # Lines of code are read before the files change.
        self._places = {by: [(place_of(by, each), each) for each in findings]
                        for by, findings in found.items()}

    def find(self, told: Told) -> dict | None:
        """The worst finding that names the fault, the first of these."""
        found = [finding for place, finding in self._places.get(told.by, ())
                 if finding["rule"] == told.rule and told.is_about(place) and
                 (told.step is None or (step_of(told.by, finding) or 0) <= told.step)]
        return min(found, key=lambda each: SEVERITIES.index(each["severity"]), default=None)

    def finds(self, told: Told, severity: str) -> bool:
        """True if the rule finds as much as that, at any step."""
        worst = SEVERITIES.index(severity)
        return any(finding["rule"] == told.rule and told.is_about(place) and
                   SEVERITIES.index(finding["severity"]) <= worst
                   for place, finding in self._places.get(told.by, ()))


def describe(told: Told, finding: dict) -> str:
    return f"{told.by} {told.rule} {name_of(told.by, finding)}".rstrip()


def show_loss(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) and math.isfinite(value) else str(value)


def last_loss(losses: list) -> str:
    """The mean of the last five."""
    last = losses[-5:]
    if any(isinstance(loss, str) for loss in last):
        return next(loss for loss in last if isinstance(loss, str))
    return show_loss(sum(last) / len(last))


def plant(edits: tuple[Edit, ...], folder: Path) -> None:
    for edit in edits:
        edit.apply(folder)


def describe_verdict(verdict: dict) -> str:
    """`1: 1.8 % worse`, by the loss."""
    if "type" not in verdict:
        return verdict["unknown"]
    loss = next(each for each in verdict["quantities"] if each["name"] == "loss")
    worse = f"{100 * loss['worse']:+.1f} %" if verdict["outcome"] not in ("NaN or Inf", "does not converge") else \
        verdict["outcome"]
    return f"{verdict['type']}: {worse}"


def wrong_type(verdict: dict, expected: int) -> list[str]:
    return [] if verdict.get("type") == expected else [f"type {describe_verdict(verdict)}, not {expected}"]


def judge_fault(fault: Fault, out: Path) -> dict:
    """Plants a fault, mends it, and says which commands named it and whether one still does."""
    folder, data = out / "faults" / fault.name, out / "data"
    sources = copy_sources(folder / "files")
    plant((*fault.around, *fault.planted), sources)
    planted = Steps(fault.training, sources, folder, data, fault.batch)
    before = Seen(planted, fault.steps, fault.probed)

    sources = copy_sources(folder / "mended/files")
    by_lint = fault.mend == BY_LINT
    plant((*fault.around, *(fault.planted if by_lint else fault.mend)), sources)
    mended = Steps(fault.mended or fault.training, sources, folder / "mended", data,
                   fault.batch)
    if by_lint:
        mended.mend_by_lint()
    after = Seen(mended, fault.steps, fault.probed)

    said: dict[str, list[str]] = {"predicted": [], "seen": []}
    missing, first = [], []
    for key in said:
        for told in getattr(fault, key):
            finding = before.find(told)
            if finding is None:
                missing.append(f"not {key} by {told.by}: {told.rule}")
                continue
            said[key].append(describe(told, finding))
            at = step_of(told.by, finding)
            first += [] if at is None else [at]
            if after.finds(told, finding["severity"]):
                missing.append(f"{told.by} still says {told.rule} after the mend")
    # By what the training is without the fault: some are of other data or weights than FP32's.
    verdict = planted.judge(mended, fault.steps)
    missing += wrong_type(verdict, fault.type)
    return {"name": fault.name, "title": fault.title, **said, "verdict": verdict,
            "step": min(first) if first else None, "missing": missing,
            "losses": [last_loss(before.losses), last_loss(after.losses)]}


def ratios_of_gradients(check: dict, confirm: dict, scale: float | None) -> list[float]:
    """By how much predicted and recorded root mean squares of parameters' gradients differ, as
    factors above 1, the smallest first. What the probes saw is multiplied by `scale`; None: by the
    gradient of the loss in the model."""
    recorded: dict[str, list[float]] = {}
    for tensor in confirm["gradients"]["tensors"]:
        seen = tensor["observed"]
        if seen["mean"] is not None and not seen["nan"] + seen["posinf"] + seen["neginf"]:
            recorded.setdefault(tensor["tensor"], []).append(math.hypot(seen["mean"], seen["std"]))
    scale = scale or next(tensor["observed"]["absmax"] for tensor in confirm["gradients"]["tensors"]
                          if tensor["op"] and "cross_entropy" in tensor["op"]["type"])
    ratios = []
    for gradient in check["training"]["gradients"]:
        # A parameter that is used in two dtypes has two records, and neither is the sum.
        values = recorded.get(gradient["parameter"], [])
        if len(values) == 1 and values[0] and gradient["likely"]:
            quotient = values[0] / scale / gradient["likely"]["rms"]
            ratios.append(max(quotient, 1 / quotient))
    return sorted(ratios)


def worst_severities(findings: list[dict]) -> str:
    """`1 error (MP402), 2 warnings (MP407, MP408)`; notes are counted."""
    parts = []
    for severity in SEVERITIES:
        found = [finding for finding in findings if finding["severity"] == severity]
        if found:
            rules = ", ".join(sorted({finding["rule"] for finding in found}))
            parts.append(f"{len(found)} {severity}{'s' if len(found) > 1 else ''}" +
                         (f" ({rules})" if severity != "note" else ""))
    return "; ".join(parts) or "nothing"


def window_of(check: dict) -> str:
    scale = check["training"]["scale"]
    return f"2^{scale['lo']} to 2^{scale['hi']}" if scale["needed"] else "none needed"


def judge_by_fp32(steps: Steps, data: Path) -> dict:
    """The verdict beside FP32; of FP32 itself, that of a third seed."""
    training, fp32, sources = steps.training, TRAININGS["fp32"], HERE
    if training.wide:
        fp32, sources = training, copy_sources(steps.folder / "fp32/files")
        plant(tuple(Edit(training.script, *words) for words in training.wide), sources)
    reference = Steps(fp32, sources, steps.folder / "fp32", data)
    reference.record("run", training.steps)
    if training.name == TRAININGS["fp32"].name:
        steps = Steps(fp32, HERE, steps.folder / "seed", data)
        steps.record("run", training.steps, seed=2)
    return steps.judge(reference, training.steps)


def judge_training(training: Training, out: Path) -> dict:
    """One of the seven trainings."""
    steps = Steps(training, HERE, out / training.name, out / "data")
    steps.export()
    lint, check = steps.lint(), steps.check()
    run = steps.train()
    verdict = judge_by_fp32(steps, out / "data")
    ratios = ratios_of_gradients(check, steps.confirm(1), training.scale)
    missing = [] if ratios else ["no gradient was recorded"]
    if any(isinstance(loss, str) for loss in run["losses"]):
        missing.append("the loss is not finite")
    elif run["losses"][-1] > run["losses"][0] - 0.3:
        missing.append("the loss does not fall")
    missing += wrong_type(verdict, training.type)
    return {"name": training.name, "title": training.title,
            "lint": worst_severities(lint), "check": worst_severities(check["findings"]),
            "window": window_of(check), "monitor": worst_severities(run["alerts"]),
            "ratios": [round(statistics.median(ratios), 2), round(ratios[-1], 2)],
            "losses": [show_loss(run["losses"][0]), last_loss(run["losses"])],
            "seconds_per_step": round(run["seconds"] / len(run["losses"]), 3),
            "verdict": verdict, "missing": missing}


def table_of_trainings(rows: list[dict]) -> list[list[str]]:
    return [[row["title"], row["lint"], row["check"], row["window"], row["monitor"],
             "{}, at most {}".format(*row["ratios"]), " to ".join(row["losses"]), describe_verdict(row["verdict"]),
             f"{row['seconds_per_step']:.2f} s"] for row in rows]


def table_of_faults(rows: list[dict]) -> list[list[str]]:
    return [[row["title"], "<br>".join(row["predicted"]), "<br>".join(row["seen"]),
             "" if row["step"] is None else str(row["step"]),
             "; ".join(row["missing"]) or "gone", " / ".join(row["losses"]), describe_verdict(row["verdict"])] for row in rows]

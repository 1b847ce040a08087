"""Reports as a reader sees them: a line, a text without the tool, a page without scripts."""

import html
import math
import pathlib
from collections.abc import Mapping, Sequence

#: Suffixes of models, which the name of one goes without.
_SUFFIXES = (".onnx", ".pt2", ".pt", ".pth", ".mlir")
#: Findings of a page in a notebook: as many as a screen or two hold.
_MOST_FINDINGS = 50


def percent(share: float) -> str:
    """As text reports round."""
    if math.isnan(share):
        return "?"
    if math.isinf(share):
        return "Inf or NaN"
    return f"{share * 100:.2g} %" if share < 1 else f"{share * 100:.0f} %"


def _plural(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


def count_findings(report) -> str:
    """`1 error, 2 notes`, or `no findings`."""
    parts = [_plural(count, severity) for severity in ("error", "warning", "note")
             if (count := report.summary.get(severity, 0))]
    return ", ".join(parts) or "no findings"


def name_model(report) -> str:
    path = pathlib.PurePath(report.path)
    return path.stem if path.suffix in _SUFFIXES else path.name


def _worst(report):
    known = [each for each in report.outputs.values() if not math.isnan(each.expected_error)]
    return max(known, key=lambda output: output.expected_error, default=None)


def line(report) -> str:
    """`Report('gpt2', autocast-fp16: fine, logits 0.13 %, 2 notes)`."""
    parts = [f"{name_model(report)!r}", f"{report.precision}: {report.verdict}"]
    worst = _worst(report)
    if worst is not None and math.isfinite(worst.expected_error):
        parts.append(f"{worst.name} {percent(worst.expected_error)}")
    elif worst is not None:
        parts.append(worst.name)
    parts.append(count_findings(report))
    return f"{type(report).__name__}({', '.join(parts)})"


def text(report) -> str:
    """The text of a report of which only the JSON is left: no command can be asked again."""
    lines = [line(report)]
    lines += [f"  {output.name}: {percent(output.expected_error)}, {output.verdict}"
              for output in report.outputs.values()]
    lines += [f"  {finding}" for finding in report.findings]
    return "\n".join(lines)


_COLOURS = {"error": "#b3123c", "warning": "#8a5200", "note": "#43526b"}


def _badge(severity: str) -> str:
    colour = _COLOURS.get(severity, _COLOURS["note"])
    return f'<b style="color:{colour}">{html.escape(severity)}</b>'


def _table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _finding(finding) -> str:
    place = finding.op.name
    if finding.location is not None:
        place += f", {finding.location.file}:{finding.location.line}"
    fixes = "".join(f"<li>{html.escape(fix.text)}</li>" for fix in finding.fixes if fix.safe)
    return (f"<details><summary>{_badge(finding.severity)} {html.escape(finding.rule)} "
            f"<code>{html.escape(place)}</code></summary><p>{html.escape(finding.message)}</p>"
            + (f"<p>Fixes:</p><ul>{fixes}</ul>" if fixes else "") + "</details>")


def _scale(scale) -> str:
    if scale is None or not scale.needed:
        return ""
    return f"<p>{html.escape(str(scale))}</p>"


def _gradients(gradients: Mapping) -> str:
    rows = [(name, each.dtype, f"{each.rms:.2g}", f"{each.absmax:.2g}",
             percent(each.lost)) for name, each in gradients.items()]
    if not rows:
        return ""
    return (f"<details><summary>Gradients of {_plural(len(rows), 'parameter')}</summary>"
            + _table(("parameter", "dtype", "rms", "largest", "lost without a scale"), rows)
            + "</details>")


def page(report) -> str:
    """Verdict, outputs, and findings folded: HTML that a notebook shows."""
    level = next((kind for kind in ("error", "warning") if report.summary.get(kind)), "note")
    colour = _COLOURS[level] if level != "note" or not report.known else "#17694a"
    parts = [f'<div style="border-left:6px solid {colour};padding-left:1em"><p>'
             f"<b>{html.escape(name_model(report))}</b>, {html.escape(report.precision)}: "
             f"<b>{html.escape(report.verdict)}</b>; {count_findings(report)}</p>"]
    if report.outputs:
        parts.append(_table(("output", "expected error", "verdict"), [
            (each.name, percent(each.expected_error), each.verdict)
            for each in report.outputs.values()]))
    parts.append(_scale(getattr(report, "loss_scale", None)))
    if isinstance(gradients := getattr(report, "gradients", None), Mapping):
        parts.append(_gradients(gradients))
    parts += [_finding(finding) for finding in report.findings[:_MOST_FINDINGS]]
    if (more := len(report.findings) - _MOST_FINDINGS) > 0:
        parts.append(f"<p>and {more} more: print the report, or save it as a page</p>")
    return "".join(parts) + "</div>"

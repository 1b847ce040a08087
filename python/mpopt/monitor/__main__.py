"""python -m mpopt.monitor REFERENCE.mprec RUN.mprec [--noise SECOND.mprec] [--format text|json]"""

import json
import sys

from mpopt import _console
from mpopt._command import Error
from mpopt.monitor import verdict


def main(arguments: list[str] | None = None) -> int:
    parser = _console.Parser(
        prog="python -m mpopt.monitor",
        description="Judges a run by a reference: loss and metrics, where the curves part. The status is 1 for a run of type 2.")
    parser.add_argument("reference", metavar="REFERENCE.mprec", help="the record of the run in FP32")
    parser.add_argument("run", metavar="RUN.mprec", help="the record that is judged")
    parser.add_argument("--noise", metavar="SECOND.mprec", help="the reference with another seed, which shows the noise")
    parser.add_argument("--format", choices=["text", "json"], default="text")
    try:
        options = parser.parse_args(arguments)
        judged = verdict.judge_run(options.reference, options.run, options.noise)
    except (Error, OSError) as error:
        _console.print_error("mpopt.monitor", error)
        return 2
    print(json.dumps(judged.as_dict(), indent=1) if options.format == "json" else _text(judged))
    return 1 if judged.type == 2 else 0


def _text(judged: verdict.Verdict) -> str:
    lines = [f"type {judged.type}: {judged.text}" if judged.type else f"as good: {judged.text}"]
    lines += [f"  {each.name}: {each.reference:.5g} and {each.run:.5g}, {100 * each.worse:+.2g} % worse, noise "
              f"{100 * each.noise:.2g} %: {each.outcome}" for each in judged.quantities]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

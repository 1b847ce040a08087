"""What messages say agrees with the ranges that stand beside them.

Every finding of the networks of `ranges/estimate_networks.py` is read, with those
that are merely possible; where MPOPT_ZOO names zoos (folders, separated by colons)
those of their models, too, and where WILD names a folder of models (`models/NAME.*`
with NAME.json beside them, which declares the inputs) those as well:

    MPOPT_ZOO=/path/to/zoo WILD=/path/to/wild pytest -q test/python/rules/test_messages.py

A number in a message is the one of the bound or the estimate, and a danger that it
names is one that the bounds of the op's operands and results admit."""

import json
import math
import pathlib
import os
import re
import sys
import zlib

import pytest
from tool import ROOT, ZOOS, run_mpopt

sys.path.insert(0, str(ROOT / "test/python/ranges"))
import estimate_networks  # noqa: E402

LARGEST, EDGE, FLUSH = 65504.0, 65520.0, 2.0**-25
NUMBER = r"(-?(?:inf|\d+(?:\.\d+)?(?:e[-+]?\d+)?))"


def size(range_):
    return max(abs(float(range_["lo"])), abs(float(range_["hi"])))


def near(a, b, part=0.01):
    return a == b or abs(a - b) <= part * max(abs(a), abs(b)) + 1e-30


class Reader:
    """A finding with the ranges of the tensors that it is about."""

    def __init__(self, finding, ranges):
        self.finding, self.ranges = finding, ranges
        own = ranges.get(finding["tensor"], {})
        self.bound = finding.get("bound") or {end: own.get(end) or 0 for end in ("lo", "hi")}
        known = own.get("likely") or {"lo": "-inf", "hi": "inf"}
        self.likely = finding.get("likely") or (known if math.isfinite(size(known)) else None)
        names = {finding["tensor"]} | {w["tensor"] for w in finding.get("decided_by", [])}
        self.known = [ranges[n] for n in names if n in ranges and ranges[n].get("lo") is not None]
        # Steps of a decomposed node have no names: nothing is known of those.
        self.all_known = len(self.known) == len(names) >= 2

    def reaches(self, least):
        """A bound of an operand or result is as large, or may be."""
        return not self.all_known or any(
            size(r) >= least or r["posinf"] or r["neginf"] or r["nan"] for r in self.known)

    def holds(self, magnitude):
        """An operand or result may be as small."""
        return not self.all_known or any(
            float(r["lo"]) <= magnitude and float(r["hi"]) >= -magnitude for r in self.known)

    def sums_past(self, least):
        """As many terms as an operand has elements, or their squares, come that far."""
        def reach(r):
            count = math.prod(dim if dim > 0 else 2**24 for dim in r.get("shape") or [2**24])
            return count * max(size(r), size(r)**2)
        return self.reaches(least) or any(reach(r) >= least for r in self.known)


def say_squares(reader, edge):
    return edge == 256 and reader.reaches(255)


def say_expected(reader, number):
    # A composite's finding is about one of its steps.
    if " at its " in reader.finding["message"]:
        return number > LARGEST * 0.999
    return number > LARGEST * 0.999 and (not reader.likely or near(number, size(reader.likely)))


def say_bound(reader, number):
    return number > LARGEST * 0.999 and near(number, size(reader.bound))


def say_beside(reader, number):
    if " at its " in reader.finding["message"] or reader.finding["rule"] == "MP203":
        return True  # of another tensor
    return near(number, size(reader.likely)) if reader.likely else True


def say_results(reader, lo, hi):
    return (near(lo, float(reader.bound["lo"])) and near(hi, float(reader.bound["hi"]))
            and max(abs(lo), abs(hi)) < EDGE)


def say_least(reader, number):
    lo, hi = float(reader.bound["lo"]), float(reader.bound["hi"])
    # Of values of both signs the bound of all says no more than how large they are.
    least = size(reader.bound) if lo < 0 < hi else max(lo, -hi)
    return reader.finding["certainty"] == "certain" and least >= number * 0.99 >= EDGE * 0.98


# What is said, and whether the ranges admit it.
CLAIMS = [
    (rf"the square of {NUMBER} is already Inf", say_squares),
    (r"a sum past 65504 is Inf", lambda reader: reader.sums_past(LARGEST)),
    (r"an exponential is Inf above 11\.09", lambda reader: reader.reaches(11.09)),
    (r"arguments below 3e-8 are already 0", lambda reader: reader.holds(FLUSH)),
    (r"probabilities below 3e-8 are 0", lambda reader: reader.holds(FLUSH)),
    (r"its results may leave the range", lambda reader: reader.reaches(LARGEST)),
    (r"a variance past 65504 is Inf", lambda reader: reader.reaches(LARGEST)),
    (rf"significant bits are left of results in \[{NUMBER}, {NUMBER}\]", say_results),
    (rf"expected to reach {NUMBER}, past", say_expected),
    (rf"the bound is {NUMBER}, past", say_bound),
    (rf"past 65504, the largest f16 value, while {NUMBER} is expected", say_beside),
    (rf"every value is at least {NUMBER} in magnitude", say_least),
    (rf"an argument of {NUMBER} is past {NUMBER}", lambda reader, a, b: a > b),
    (rf"expected to reach {NUMBER}, .* the largest f16 value", say_beside),
    (rf"integers up to {NUMBER} are expected", lambda reader, n: n > 2048 and near(n, size(reader.likely))),
    (rf"integers up to {NUMBER} may be held", lambda reader, n: n > 2048 and near(n, size(reader.bound))),
    (rf"angles up to {NUMBER} are", lambda reader, n: near(n, size(reader.bound))
     or near(n, size(reader.likely))),
    (r"all values are 0", lambda reader: size(reader.bound) == 0),
    (r"of the non-zero values are below", lambda reader: reader.holds(FLUSH)),
    (rf"beside values up to {NUMBER}", say_beside),
    (r"is 0 after rounding .* for every input", lambda reader: reader.finding["certainty"] == "certain"),
    # Nothing is said so of values that are known.
    (r"lose most of their digits|what it stands for is gone", lambda reader: False),
]


def problems(report, ranges, heard):
    for finding in report["findings"]:
        reader, message = Reader(finding, ranges), finding["message"]
        text = f"{finding['rule']} {finding['certainty']} on {finding['tensor']}: {message} " \
               f"(bound {finding.get('bound')}, likely {finding.get('likely')})"
        for pattern, admits in CLAIMS:
            for match in re.finditer(pattern, message):
                heard[pattern] = heard.get(pattern, 0) + 1
                if not admits(reader, *map(float, match.groups())):
                    yield f"{text}: not admitted by the ranges"
        if finding.get("bound") and finding.get("likely") and finding["rule"] < "MP4":
            slack = 0.01 * size(reader.bound) + 1e-30
            if (float(reader.likely["lo"]) < float(reader.bound["lo"]) - slack
                    or float(reader.likely["hi"]) > float(reader.bound["hi"]) + slack):
                yield f"{text}: expected outside the bound"
    # What is nothing but zeros, where something else was meant, is not proved.
    lost = sum(1 for r in ranges.values() if r.get("likely") and r["dtype"] == "f16"
               and r["lo"] == r["hi"] == 0 and size(r["likely"]) > FLUSH)
    if report["summary"]["proved"] > report["summary"]["tensors"] - lost:
        yield f"{report['summary']['proved']} tensors are proved, but {lost} flush to 0"


def read(model, options, folder):
    report, ranges = folder / "report.json", folder / "ranges.json"
    done = run_mpopt("--check", model, "--precision", "fp16", "--min-certainty", "possible",
                     "--fail-on", "never", "--format", "json", "-o", report,
                     "--dump-ranges", ranges, *options, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text()), json.loads(ranges.read_text())["tensors"]


def describe(name, lo, hi, mean, std):
    options = ["--input", f"{name}={lo!r}:{hi!r}"]
    return options + (["--input", f"{name}~{mean!r},{std!r}"] if std is not None else [])


def test_networks(tmp_path):
    heard, found, messages = {}, [], 0
    for name, (build, variant) in estimate_networks.NETWORKS.items():
        net = estimate_networks.Net(zlib.crc32(build.__name__.encode()))
        build(net, variant)
        path = tmp_path / "model.onnx"
        path.write_bytes(net.model().SerializeToString())
        options = [option for tensor, (lo, hi, mean, std, *_) in net.distributions.items()
                   for option in describe(tensor, lo, hi, mean, std)]
        report, ranges = read(path, options, tmp_path)
        messages += len(report["findings"])
        found += [f"{name}: {problem}" for problem in problems(report, ranges, heard)]
    assert not found, "\n".join(found)
    # Of what there is to say, much is said.
    assert messages > 300 and len(heard) >= 8, (messages, heard)


def zoo_models():
    return [path for zoo in ZOOS for path in sorted(zoo.iterdir()) if (path / "truth.json").exists()]


@pytest.mark.parametrize("folder", zoo_models(), ids=lambda path: path.name)
def test_zoo(folder, tmp_path):
    truth = json.loads((folder / "truth.json").read_text())
    options = []
    for name, given in truth["inputs"].items():
        options += describe(name, given["lo"], given["hi"], given["mean"],
                            given["std"] if "float" in given["dtype"] else None)
    for axis, length in truth["dims"].items():
        options += ["--dim", f"{axis}={length}"]
    report, ranges = read(folder / "model.onnx", options, tmp_path)
    found = list(problems(report, ranges, {}))
    assert not found, "\n".join(found)


def wild_models():
    folder = pathlib.Path(os.environ["WILD"], "models") if "WILD" in os.environ else None
    return sorted(folder.glob("*.onnx")) if folder and folder.is_dir() else []


@pytest.mark.parametrize("path", wild_models(), ids=lambda path: path.name)
def test_wild(path, tmp_path):
    names = (path.name.rsplit(".", 2)[0], path.name.rsplit(".", 1)[0])
    given = next((path.parent / f"{name}.json" for name in names
                  if (path.parent / f"{name}.json").exists()), None)
    if not given:
        pytest.skip("no declaration of its inputs")
    options = []
    for name, value in json.loads(given.read_text())["inputs"].items():
        said = value["say"]
        options += describe(name, said["lo"], said["hi"], said["mean"],
                            said["std"] if said["mean"] is not None else None)
    report, ranges = read(path, options, tmp_path)
    found = list(problems(report, ranges, {}))
    assert not found, "\n".join(found)

"""What mpopt expects of small networks against what ONNX Runtime observes.

The figures asserted are floors, some way below what is reached: a change that
falls under one has broken the estimate of some op."""

import json
import math
import subprocess
import zlib

import estimate_networks
import numpy
import pytest
import soundness
from tool import MPOPT

BATCHES = 6
OVERFLOW, FLUSH = 65520.0, 2.0 ** -25
OVERFLOW_RULES = {"MP201", "MP207", "MP208", "MP209", "MP210", "MP213"}
UNDERFLOW_RULES = {"MP204", "MP213"}


def observe(net, model):
    """Name -> (largest magnitude, share of non-zero values that flush) of the
    float32 run; what is not finite there is left out."""
    random = numpy.random.default_rng(5)
    running = soundness.session(model)
    names = [output.name for output in running.get_outputs()]
    batches = {}
    for _ in range(BATCHES):
        for name, value in zip(names, running.run(None, net.sample(random))):
            if value.dtype == numpy.float32:
                batches.setdefault(name, []).append(numpy.abs(value).ravel())
    seen = {}
    for name, parts in batches.items():
        values = numpy.concatenate(parts)
        if not numpy.isfinite(values).all():
            continue
        nonzero = values[values > 0]
        if nonzero.size:
            seen[name] = (float(nonzero.max()), float((nonzero <= FLUSH).mean()))
    return seen


def ask(net, model, folder):
    path, report, ranges = (folder / n for n in ("model.onnx", "report.json", "ranges.json"))
    path.write_bytes(model.SerializeToString())
    command = [MPOPT, "--check", path, "--precision", "fp16", "--min-certainty", "likely",
               "--fail-on", "never", "--format", "json", "-o", report, "--dump-ranges", ranges]
    for name, (lo, hi, mean, std, _, _) in net.distributions.items():
        command += ["--input", f"{name}={lo!r}:{hi!r}", "--input", f"{name}~{mean!r},{std!r}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    findings = json.loads(report.read_text())["findings"]
    told = [{f["tensor"] for f in findings if f["rule"] in rules}
            for rules in (OVERFLOW_RULES, UNDERFLOW_RULES)]
    return json.loads(ranges.read_text())["tensors"], *told


class Tally:
    """True and false findings; a truth of None counts neither way."""

    def __init__(self):
        self.hits, self.false, self.missed = [], [], []

    def add(self, name, truth, told):
        if truth is not None and (truth or told):
            (self.missed if not told else self.hits if truth else self.false).append(name)

    @property
    def recall(self):
        return len(self.hits) / max(1, len(self.hits) + len(self.missed))

    @property
    def precision(self):
        return len(self.hits) / max(1, len(self.hits) + len(self.false))


class Comparison:
    def __init__(self):
        self.overflow, self.underflow = Tally(), Tally()
        self.ratios, self.wrong_bounds = {}, []

    def add(self, name, folder):
        build, variant = estimate_networks.NETWORKS[name]
        # Variants share their weights.
        net = estimate_networks.Net(zlib.crc32(build.__name__.encode()))
        build(net, variant)
        model = net.model()
        ranges, over, under = ask(net, model, folder)
        for tensor, (size, flushed) in observe(net, model).items():
            key = f"{name}:{tensor}"
            self.overflow.add(key, size >= OVERFLOW, tensor in over)
            self.underflow.add(key, True if flushed >= 0.5 else None if flushed else False,
                               tensor in under)
            said = ranges[tensor]
            likely = said.get("likely")
            expected = max(abs(likely["lo"]), abs(likely["hi"])) if likely else 0
            self.ratios[key] = math.log2(expected / size) if expected else -math.inf

    def within(self, factor):
        limit = math.log2(factor)
        return sum(abs(r) <= limit for r in self.ratios.values()) / len(self.ratios)

    def describe(self):
        lines = [f"{len(self.ratios)} tensors; within 2x {self.within(2):.3f}, "
                 f"4x {self.within(4):.3f}"]
        for what in ("overflow", "underflow"):
            tally = getattr(self, what)
            lines.append(f"{what}: {len(tally.hits)} found, recall {tally.recall:.3f}, "
                         f"precision {tally.precision:.3f}; false {tally.false}, "
                         f"missed {tally.missed}")
        worst = sorted(self.ratios.items(), key=lambda item: -abs(item[1]))[:12]
        return "\n".join(lines + [f"{ratio:8.2f}  {name}" for name, ratio in worst])


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    result = Comparison()
    for name in estimate_networks.NETWORKS:
        result.add(name, tmp_path_factory.mktemp(name))
    print(result.describe())
    return result


def test_magnitudes(comparison):
    assert len(comparison.ratios) > 500
    assert comparison.within(2) >= 0.80, comparison.describe()
    assert comparison.within(4) >= 0.92, comparison.describe()


def test_overflow(comparison):
    assert comparison.overflow.recall >= 0.9, comparison.describe()
    assert comparison.overflow.precision >= 0.9, comparison.describe()


def test_underflow(comparison):
    assert comparison.underflow.recall >= 0.85, comparison.describe()
    assert comparison.underflow.precision >= 0.8, comparison.describe()

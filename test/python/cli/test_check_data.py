"""mpopt.check_data: what batches hold against what the model is judged to be given."""

import collections
import json
import math
import os
import subprocess
import sys

import numpy
import pytest
from onnx import parser
from tool import BUILD, ROOT, run_mpopt

import mpopt
from mpopt import _data_statistics, _declarations

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 3] x, int64[N] ids) => (float[N, 3] y)
<float[7, 3] table = {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> {
  rows = Gather (table, ids)
  y = Add (x, rows)
}"""


def model():
    return parser.parse_model(MODEL)


def kinds(report, entry=None):
    return {finding.kind for finding in report.findings if entry in (None, finding.entry)}


def entry(report, name):
    (found,) = [entry for entry in report.entries if entry.name == name]
    return found


def normal(seed=0, shape=(8, 3), dtype=numpy.float32):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def loader(*arrays):
    for array in arrays:
        yield {"x": array}


# -- statistics ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"])
def test_statistics_are_those_of_all_at_once(dtype):
    """Parts of odd sizes, larger than a block, with values that are far from 0."""
    random = numpy.random.default_rng(1)
    parts = [(random.standard_normal(size) * 20 + 60).astype(dtype)
             for size in (3, 70001, 1, 131072, 77)]
    seen = entry(mpopt.check_data(loader(*parts), n=None), "x")
    whole = numpy.concatenate(parts).astype(numpy.float64)
    assert (seen.count, seen.samples, seen.zero) == (whole.size, whole.size, (whole == 0).sum())
    assert (seen.lo, seen.hi) == (whole.min(), whole.max())
    assert seen.mean == pytest.approx(whole.mean(), rel=1e-12)
    assert seen.std == pytest.approx(whole.std(), rel=1e-9)
    assert seen.dtypes == (dtype,) and seen.shape == (None,)


@pytest.mark.parametrize("name,dtype", [("f16", numpy.float16), ("bf16", None)])
def test_edges_are_those_of_the_format(name, dtype):
    """Every magnitude around the edges, as a cast has it."""
    edges = _data_statistics.FORMATS[name]
    values = numpy.float32([edges.beyond, edges.flushed])
    values = numpy.concatenate([values, numpy.nextafter(values, numpy.float32(0)),
                                numpy.nextafter(values, numpy.float32(numpy.inf))])
    values = numpy.concatenate([values, -values, [0]]).astype(numpy.float32)
    if dtype is None:
        torch = pytest.importorskip("torch")
        cast = torch.from_numpy(values).bfloat16().float().numpy()
    else:
        with numpy.errstate(over="ignore"):
            cast = values.astype(dtype).astype(numpy.float32)
    finite = numpy.isfinite(values)
    seen = entry(mpopt.check_data(loader(values)), "x")
    assert seen.overflow[name] == int((numpy.isinf(cast) & finite).sum()) > 0
    assert seen.underflow[name] == int(((cast == 0) & (values != 0)).sum()) > 0


def test_not_finite():
    """Counted, placed, and left out of everything else."""
    bad = numpy.float32([[1, numpy.nan, 2], [numpy.inf, -numpy.inf, 3]])
    report = mpopt.check_data(loader(numpy.float32([[0, 1, 2]]), bad, bad, bad * numpy.nan))
    seen = entry(report, "x")
    assert (seen.nan, seen.posinf, seen.neginf) == (8, 2, 2)
    assert (seen.lo, seen.hi) == (0, 3) and seen.mean == pytest.approx(15 / 9)
    (nan,) = report.by_kind("nan")
    assert nan.severity == "error" and "3 of 4 (75 %) batches, the first in batch 1" in nan.message
    assert report.by_kind("inf") and not report.ok
    assert report.options[:2] == ["--input", "x=-inf:inf"]
    allowed = mpopt.check_data(loader(bad), inputs={"x": (-math.inf, math.inf)})
    assert kinds(allowed, "x") >= {"nan"} and not allowed.by_kind("inf", "outside")
    nothing = mpopt.check_data(loader(numpy.full((2, 2), numpy.nan)))
    assert nothing.options == [] and json.loads(nothing.to_json())["entries"][0]["min"] is None
    assert math.isnan(entry(nothing, "x").mean) and "NaN" in str(nothing)


def test_huge_numbers():
    """Sums of squares that FP64 does not hold, and integers that it does not tell apart."""
    seen = entry(mpopt.check_data(loader(numpy.float64([1e200, -1e200, 1e200]))), "x")
    assert (seen.lo, seen.hi) == (-1e200, 1e200) and not seen.std < 1e100
    report = mpopt.check_data(loader(numpy.int64([2**53 + 1, 5])))
    assert report.declared["x"][0] == (5, 2**53 + 1)
    json.loads(report.to_json())


# -- batches ---------------------------------------------------------------------------------


def test_forms_of_batches():
    x, ids, y = normal(), numpy.arange(7).repeat(2)[:8], numpy.zeros(8)
    Pair = collections.namedtuple("Pair", ["left", "right"])

    class Data:
        """As PyTorch Geometric's: has keys and is no mapping."""

        def keys(self):
            return ["x", "ids"]

        def __getitem__(self, key):
            return {"x": x, "ids": ids}[key]

    for batch, names in (
            ((x, ids), ["x", "ids"]), ([x, ids, y], ["x", "ids", "target"]),
            (((x, ids), y), ["x", "ids", "target"]), (({"x": x, "ids": ids}, y), ["x", "ids", "target"]),
            ((x, ids, y, y), ["x", "ids", "target.0", "target.1"]), (Pair(x, ids), ["x", "ids"]),
            ({"ids": ids, "x": x, "extra": {"a": y}}, ["ids", "x", "extra.a"]), (Data(), ["x", "ids"]),
            (([1.0, 2.0], ids), ["x", "ids"])):
        report = mpopt.check_data([batch], model())
        assert [found.name for found in report.entries] == names
        assert {found.name for found in report.entries if found.is_input} == {"x", "ids"}
        assert set(report.declared) == {"x", "ids"} and not report.by_kind("missing")
    assert [found.name for found in mpopt.check_data([x]).entries] == ["input"]
    assert [found.name for found in mpopt.check_data([(x, y)]).entries] == ["0", "1"]
    named = mpopt.check_data([(x, y)], names=["pixels", "labels"])
    assert list(named.declared) == ["pixels", "labels"]
    alone = mpopt.check_data([x], model())
    assert [finding.entry for finding in alone.by_kind("missing")] == ["ids"]


def test_a_list_is_one_input():
    """Images of different sizes, as detectors take them."""
    images = [numpy.ones((3, size, size)) for size in (4, 5, 6)]
    report = mpopt.check_data([(images, [{"boxes": numpy.ones((1, 4))}] * 3)], names=["images"])
    assert [found.name for found in report.entries if found.is_input or "images" in found.name] == [
        "images.0", "images.1", "images.2"]


def test_entries_that_are_no_numbers():
    report = mpopt.check_data([{"x": normal(), "text": ["a", "b"], "z": numpy.complex64([1j]),
                                "none": None}])
    skipped = {finding.entry: finding.message for finding in report.by_kind("not-numbers")}
    assert skipped == {"text.0": "str is not looked at", "text.1": "str is not looked at",
                       "z": "ndarray of complex64 is not looked at"}
    assert report.ok


def test_no_batch_is_asked_for_in_vain():
    """Neither one after the last, nor all before the first is looked at, nor is one kept."""
    made, alive = [], []

    class Batch(numpy.ndarray):
        def __del__(self):
            alive.remove(id(self))

    def batches():
        for number in range(50):
            made.append(number)
            batch = normal(number).view(Batch)
            alive.append(id(batch))
            yield {"x": batch}
            del batch
            assert len(alive) <= 1

    report = mpopt.check_data(batches(), n=7)
    assert report.batches == 7 and made == list(range(7))
    assert mpopt.check_data(loader(normal()), n=7).batches == 1
    assert mpopt.check_data(batches(), n=None).batches == 50


def test_changing_shapes():
    """Lengths that vary are no channels; other ranks and dtypes are told."""
    report = mpopt.check_data(loader(normal(0, (4, 9, 5)), normal(1, (2, 7, 5))))
    seen = entry(report, "x")
    assert seen.shape == (None, None, 5)
    assert [channels["axis"] for channels in seen.raw["channels"]] == [2]
    other = mpopt.check_data(loader(normal(0, (4, 9)), normal(1, (4,), numpy.float64)))
    assert kinds(other) == {"mixed-dtype", "mixed-rank"}
    assert entry(other, "x").dtypes == ("float32", "float64")


# -- channels --------------------------------------------------------------------------------


def planted(shape, axis):
    """Channel 0 is constant, channel 1 a million times larger."""
    x = normal(3, shape)
    at = [slice(None)] * len(shape)
    at[axis] = 0
    x[tuple(at)] = 0.25
    at[axis] = 1
    x[tuple(at)] *= 1e6
    return x


@pytest.mark.parametrize("shape,axis", [((64, 5), 1), ((8, 3, 32, 32), 1), ((8, 32, 32, 3), 3),
                                        ((8, 4, 40), 1), ((8, 40, 6), 2)])
def test_channels(shape, axis):
    report = mpopt.check_data(loader(planted(shape, axis), planted(shape, axis)), n=2)
    wide = [finding for finding in report.by_kind("wide-channel") if f"axis {axis}" in finding.message]
    constant = [finding for finding in report.by_kind("constant-channel")
                if f"axis {axis}" in finding.message]
    assert len(wide) == len(constant) == 1 and wide[0].message.endswith("standardise 1")
    assert f"1 of {shape[axis]} channels" in constant[0].message and "of 0.25: 0" in constant[0].message
    (channels,) = [channels for channels in entry(report, "x").raw["channels"]
                   if channels["axis"] == axis]
    assert channels["constant"] == [0] and channels["wide"] == [1]
    assert channels["lo"][0] == channels["hi"][0] == 0.25


def test_channels_that_are_alike():
    for x in (normal(0, (64, 5)), normal(0, (64, 5)) * [1, 1, 1, 1, 900],
              normal(0, (64, 5)) * [1, 1, 1, 1, 0]):
        assert not mpopt.check_data(loader(x), assume=(-1e4, 1e4)).by_kind("wide-channel")
    x = normal(0, (64, 5)) * [1, 1, 1, 1, 900]
    assert mpopt.check_data(loader(x), thresholds={"imbalance-ratio": 100}).by_kind("wide-channel")
    # As the rule has it: not of a single small one.
    assert not mpopt.check_data(loader(normal(0, (64, 5)) * [1, 1, 1, 1, 1e-9])).by_kind("wide-channel")
    # One sample holds one value of each.
    assert not mpopt.check_data(loader(normal(0, (1, 5)))).by_kind("constant-channel")


def test_axis_of_channels():
    x = planted((8, 6, 7, 30), 2)
    assert not mpopt.check_data(loader(x)).by_kind("constant-channel")
    for axis in (2, -2, {"x": 2}):
        assert mpopt.check_data(loader(x), channel_axis=axis).by_kind("constant-channel")
    with_nan = x.copy()
    with_nan[0, 0] = numpy.nan
    assert mpopt.check_data(loader(with_nan), channel_axis=2).by_kind("constant-channel")


# -- against the model -----------------------------------------------------------------------


def test_assumptions_of_a_model(tmp_path):
    """Integers against the table's rows, floats against what is declared."""
    batches = [{"x": normal(), "ids": numpy.array([0, 6, 7, 3])}]
    report = mpopt.check_data(batches, model())
    (index,) = report.by_kind("index")
    assert index.severity == "error" and "1 of 4 (25 %) values are outside of" in index.message
    assert "picks one of 7 rows of table" in index.message
    assert not report.by_kind("outside")
    fine = [{"x": normal() * 100, "ids": numpy.array([0, 6, 5, 3])}]
    report = mpopt.check_data(fine, model())
    assert kinds(report) == {"outside", "distribution"} and "by default" not in report.to_json()
    # Rows that no batch asked for are there, too.
    assert report.declared["ids"][0] == (0, 6)
    declared = mpopt.check_data(fine, model(), inputs={"x": [(-1000, 1000), mpopt.Normal(0, 100)]})
    assert declared.ok and not declared.findings
    assert mpopt.check_data(fine, model(), assume=(-1000, 1000)).by_kind("outside") == ()
    # The same by a report, its file, and a ledger.
    report = mpopt.check(model(), inputs={"x": (-1000, 1000)})
    file = tmp_path / "report.json"
    file.write_text(json.dumps(report.raw))
    probed = mpopt.instrument(model(), tmp_path / "p.onnx", inputs={"x": (-1000, 1000)})
    for source in (report, file, probed, probed.ledger):
        made = mpopt.check_data([*fine, *batches], source)
        assert kinds(made) == {"index", "distribution"}, source
        assert made.by_kind("index")[0].entry == "ids"


def test_project_settings(tmp_path):
    settings = tmp_path / "mpopt.toml"
    numpy.savez(tmp_path / "s.npz", z=numpy.float32([3, 5]))
    settings.write_text('[inputs]\nx = "-1000:1000~0,100"\ny = ["0:1", "~0.5,0.3"]\nz = "@s.npz"\n')
    batch = {"x": normal() * 100, "y": numpy.float32([0.1, 0.9, 2]), "z": numpy.float32([3, 4, 5])}
    report = mpopt.check_data([batch], settings)
    assert {finding.entry for finding in report.by_kind("outside")} == {"y"}
    assert "which mpopt.toml declares" in report.by_kind("outside")[0].message
    assert entry(report, "z").raw["assumed"]["hi"] == 5
    assert entry(report, "x").raw["assumed"] | {"hi": 1000, "std": 100} == entry(report, "x").raw["assumed"]
    # Beside the model it is followed as by --check.
    (tmp_path / "m.onnx").write_bytes(model().SerializeToString())
    settings.write_text('[inputs]\nx = "-1000:1000"\n')
    report = mpopt.check_data([{"x": normal() * 100, "ids": numpy.array([0, 6])}], tmp_path / "m.onnx")
    assert entry(report, "x").raw["assumed"]["hi"] == 1000 and not report.by_kind("outside")


def test_modules():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(50, 3)

        def forward(self, ids, x):
            return self.table(ids) + x

    batches = [(torch.tensor([1, 50]), torch.full((2, 3), 3, dtype=torch.bfloat16, requires_grad=True),
                torch.ones(2))]
    plain = mpopt.check_data(batches, Net())
    assert [found.name for found in plain.entries] == ["ids", "x", "target"]
    assert not plain.by_kind("index") and entry(plain, "x").dtypes == ("bfloat16",)
    examples = (torch.zeros(2, dtype=torch.long), torch.ones(2, 3))
    for report in (mpopt.check_data(batches, Net(), example_inputs=examples),
                   mpopt.check_data(batches, torch.export.export(Net(), examples))):
        (index,) = report.by_kind("index")
        assert "picks one of 50 rows of table.weight" in index.message
    data = torch.utils.data.TensorDataset(torch.randn(64, 3), torch.zeros(64))
    seen = mpopt.check_data(torch.utils.data.DataLoader(data, batch_size=8), n=4)
    assert entry(seen, "0").samples == 32


@pytest.mark.parametrize("precision,kind", [("fp16", "overflow"), ("autocast-fp16", "overflow"),
                                            ("bf16", None), ("as-is", None)])
def test_precision(precision, kind):
    big = numpy.float32([[1e5, -1], [2, 3]])
    report = mpopt.check_data(loader(big), precision=precision, inputs={"x": (-1e6, 1e6)})
    assert bool(report.by_kind("overflow")) == (kind == "overflow")
    small = numpy.float32([[1e-9, 1e-9], [2e-9, 3]])
    report = mpopt.check_data(loader(small), precision=precision)
    assert bool(report.by_kind("underflow")) == (kind == "overflow")
    assert not mpopt.check_data(loader(small), thresholds={"underflow-share": 0.8}).by_kind("underflow")


def test_constant():
    assert mpopt.check_data(loader(numpy.zeros((4, 2)))).by_kind("all-zero")[0].severity == "warning"
    report = mpopt.check_data(loader(numpy.ones((4, 2)), numpy.ones((4, 2))))
    assert kinds(report) == {"constant"} and report.ok
    assert not mpopt.check_data(loader(numpy.zeros(4, int))).findings


# -- what is written -------------------------------------------------------------------------


def test_declarations(tmp_path):
    """What `--input` is told is what was seen, by every way."""
    x, ids = normal(5, (400, 3)) * [1, 30, 0.01], numpy.array([3, 5])
    report = mpopt.check_data([{"x": x, "ids": ids}], model())
    file = tmp_path / "m.onnx"
    file.write_bytes(model().SerializeToString())
    settings, words = report.write_inputs(tmp_path / "in.toml"), report.write_inputs(tmp_path / "in.txt")
    ways = [run_mpopt("--check", file, "--format", "json", "--fail-on", "never", *options).stdout
            for options in (report.options, ["--config", settings])]
    ways.append(subprocess.run(["xargs", BUILD / "bin" / "mpopt", "--check", file, "--format", "json",
                                "--fail-on", "never"], stdin=words.open(), capture_output=True,
                               text=True, check=True).stdout)
    ways.append(json.dumps(mpopt.check(file, inputs=report.declared).raw))
    for way in ways:
        assumed = {one["input"]: one for one in json.loads(way)["assumptions"]}
        assert assumed["x"]["lo"] <= x.min() and x.max() <= assumed["x"]["hi"]
        assert assumed["x"]["hi"] - assumed["x"]["lo"] < 1.01 * (x.max() - x.min())
        assert assumed["x"]["std"] == pytest.approx(x.std(), rel=1e-3)
        assert (assumed["ids"]["lo"], assumed["ids"]["hi"]) == (0, 6)
        assert assumed["ids"]["mean"] == 4
    # Sizes of channels are as they are.
    assert kinds(mpopt.check_data([{"x": x, "ids": ids}], file, inputs=report.declared), "x") == {"absorbed-channel"}


def test_declared_names(tmp_path):
    """Names that a shell and TOML would read otherwise."""
    tomllib = pytest.importorskip("tomllib")
    names = ["a b", "x.1", 'q"uote', "back\\slash", "new\nline", "é", "$(id)"]
    report = mpopt.check_data([{name: normal() for name in names}])
    raw = tomllib.loads(report.write_inputs(tmp_path / "i.toml").read_text())
    assert list(raw["inputs"]) == names
    text = report.write_inputs(tmp_path / "i.txt").read_text()
    assert subprocess.run(["bash", "-c", f"printf '%s\\n' {text}"], capture_output=True, text=True,
                          check=True).stdout.splitlines() == "\n".join(report.options).splitlines()
    with pytest.raises(mpopt.Error, match="cannot write"):
        report.write_inputs(tmp_path / "none" / "i.txt")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["i.toml", "i.txt"]


@pytest.mark.parametrize("value", [0.0, 1.0, 255.0, -2.117903, 2.64, 1e-30, -3.4e38, 5e-324, 1.7e308,
                                   123456.7, 0.1, -0.30000001])
def test_ends_are_rounded_outwards(value):
    up, down = _declarations.round_out(value, up=True), _declarations.round_out(value, up=False)
    assert down <= value <= up
    assert abs(up - value) <= 1e-3 * abs(value) and abs(down - value) <= 1e-3 * abs(value)
    assert value not in (0.0, 1.0, 255.0) or up == down == value


def test_json_and_text():
    report = mpopt.check_data(loader(planted((8, 3), 1) * numpy.float32(numpy.inf)))
    raw = json.loads(report.to_json(), parse_constant=lambda text: pytest.fail(text))
    assert raw["schema"] == "mpopt-data/1" and raw["batches"] == 1
    assert [finding["kind"] for finding in raw["findings"]] == [one.kind for one in report.findings]
    text = str(mpopt.check_data(loader(planted((8, 3), 1))))
    assert "1 batch, 8 samples" in text and "warning[wide-channel] x: " in text
    assert "--input x=" in text and "FP16 Inf" in text
    order = [one.severity for one in mpopt.check_data(
        loader(planted((8, 3), 1) + numpy.float32(numpy.nan))).findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)


@pytest.mark.parametrize("arguments,text", [
    ((3,), "loader: an iterable of batches, not int"), (([],), "the loader gave no batch"),
    (([["a"]],), "the batches hold no numbers: str"), (([1.0], None, 0), "n: a number of batches"),
    (([1.0], None, True), "n: "), (([1.0], 3), "a path, an ONNX model"),
    (([1.0], "missing.onnx"), "cannot"), (([1.0], "missing.json"), "model: "),
    (([1.0], "missing.toml"), "model: ")])
def test_errors_are_one_line(arguments, text):
    with pytest.raises(mpopt.Error) as raised:
        mpopt.check_data(*arguments)
    assert text in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("arguments,text", [
    ({"precision": "fp12"}, "precision: 'fp12' is not one of"), ({"assume": (3, 1)}, "assume: "),
    ({"assume": 1}, "assume: "), ({"inputs": 1}, "inputs: a mapping"),
    ({"inputs": {"x": 3}}, "inputs['x']: "), ({"inputs": {"x": (2, 1)}}, "inputs['x']: 2 to 1"),
    ({"names": "x"}, "names: "), ({"channel_axis": "a"}, "channel_axis: "),
    ({"thresholds": {"zz": 1}}, "thresholds: 'zz' is not one of"),
    ({"thresholds": {"imbalance-ratio": "a"}}, "thresholds['imbalance-ratio']: ")])
def test_wrong_options_are_one_line(arguments, text):
    with pytest.raises(mpopt.Error) as raised:
        mpopt.check_data([normal()], **arguments)
    assert str(raised.value).startswith(text) and "\n" not in str(raised.value)


def test_what_a_loader_raises_is_raised():
    def broken():
        yield normal()
        raise ValueError("row 7")

    with pytest.raises(ValueError, match="row 7"):
        mpopt.check_data(broken())


def test_no_framework_is_imported():
    code = ("import sys, numpy, mpopt; mpopt.check_data([numpy.ones((2, 2))]); "
            "print([m for m in ('torch', 'onnx', 'onnxruntime') if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("precision,edge", [("fp16", 2.0 ** 11), ("bf16", 2.0 ** 8)])
def test_what_a_format_can_still_add(precision, edge):
    """A number below `least_addend` changes nothing beside the largest one, and one above it does."""
    largest = numpy.float32(10000)
    seen = entry(mpopt.check_data(loader(numpy.float32([1, -largest, 3])), precision=precision), "x")
    torch = pytest.importorskip("torch")
    for name, dtype in (("f16", torch.float16), ("bf16", torch.bfloat16)):
        held = torch.tensor(largest).to(dtype)
        least = seen.least_addend[name]
        for part, changes in ((0.99, False), (1.01, True)):
            assert ((held.double() + part * least).to(dtype) != held) == changes
    assert seen.least_addend["f16" if precision == "fp16" else "bf16"] == 2 ** 13 / edge


@pytest.mark.parametrize("precision,large,found", [("fp16", 1000, True), ("fp16", 10, False), ("bf16", 100, True),
                                                   ("bf16", 10, False)])
def test_channels_that_a_sum_absorbs(precision, large, found):
    random = numpy.random.default_rng(0)
    values = random.uniform(-1, 1, (64, 2)).astype(numpy.float32) * numpy.float32([large, 1])
    report = mpopt.check_data(loader(values), precision=precision, inputs={"x": (-large, large)})
    assert bool(report.by_kind("absorbed-channel")) == found
    assert report.ok

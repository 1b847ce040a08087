"""What `python -m mpopt.run` gives a model, and what it refuses."""

import json
import zipfile

import numpy
import pytest
from onnx import parser


import mpopt
import mpopt.run
from mpopt import _feeds as feeds


class Value:
    def __init__(self, name, shape, kind="tensor(float)"):
        self.name, self.shape, self.type = name, shape, kind


class Session:
    def __init__(self, *inputs):
        self._inputs = inputs

    def get_inputs(self):
        return self._inputs


def test_data_files(tmp_path):
    file = tmp_path / "x.npz"
    session = Session(Value("x", ["N", 4]), Value("m", [4]))
    numpy.savez(file, x=numpy.zeros((3, 2, 4)), m=numpy.ones(4))
    steps = list(feeds.load_steps(file, session))
    assert len(steps) == 3 and steps[0][0] == 3
    assert steps[0][1]["x"].shape == (2, 4) and steps[0][1]["x"].dtype == numpy.float32
    numpy.savez(file, x=numpy.zeros((2, 4)), m=numpy.ones(4))
    assert len(list(feeds.load_steps(file, session))) == 1


X, M = numpy.zeros((2, 4)), numpy.ones(4)


@pytest.mark.parametrize("arrays, text", [
    ({"x": X}, "has no array 'm'"),
    ({"x": numpy.zeros(4), "m": M}, "has 1 axes"),
    ({"x": X, "m": M, "q": 1}, "no input 'q'"),
    ({"x": numpy.zeros((3, 2, 4)), "m": numpy.ones((2, 4))}, "different numbers of steps"),
    ({"x": numpy.zeros((2, 5)), "m": M}, "axis 1 of 'x' has 5 elements in '.*' and 4 in the model"),
    ({"x": numpy.zeros((0, 2, 4)), "m": M}, "have no steps"),
    ({"x": X.astype(numpy.complex64), "m": M}, "'x' is complex64 in '.*' and float32"),
    ({"x": X, "m": numpy.array(list("abcd"))}, "'m' is <U1 in"),
    ({"x": numpy.array([{}], object), "m": M}, "cannot be read: Object arrays")])
def test_unsuited_arrays(tmp_path, arrays, text):
    numpy.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(mpopt.Error, match=text):
        list(feeds.load_steps(tmp_path / "x.npz",
                              Session(Value("x", ["N", 4]), Value("m", [4]))))


def header(shape):
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def damaged(kind, file):
    numpy.savez(file, x=numpy.ones((2, 4), numpy.float32))
    whole = bytearray(file.read_bytes())
    if kind == "empty":
        whole.clear()
    elif kind == "truncated":
        del whole[100:]
    elif kind == "bad checksum":
        whole[len(whole) // 2] ^= 255
    elif kind == "junk":
        whole[:] = b"PK\3\4 and then nothing"
    file.write_bytes(whole)
    if kind == "one array":
        with file.open("wb") as out:
            numpy.save(out, numpy.ones((2, 4)))
    elif kind == "no array inside":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x", b"hello")
    elif kind in ("huge", "large"):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("x.npy", header((2**61 if kind == "huge" else 2**40, 4)))


@pytest.mark.parametrize("kind", ["empty", "truncated", "bad checksum", "junk", "one array",
                                  "no array inside", "huge", "large"])
def test_damaged_files(tmp_path, kind):
    damaged(kind, tmp_path / "x.npz")
    with pytest.raises(mpopt.Error):
        list(feeds.load_steps(tmp_path / "x.npz", Session(Value("x", ["N", 4]))))


def test_random_data():
    session = Session(Value("x", ["N", 1000]), Value("i", [50], "tensor(int64)"),
                      Value("u", [9], "tensor(float16)"), Value("b", [9], "tensor(bool)"))
    inf = float("inf")
    assumed = {"x": {"lo": -1.0, "hi": 1.0, "mean": 0.0, "std": 3.0},
               "i": {"lo": 0.0, "hi": 4.0}, "u": {"lo": -inf, "hi": inf}}
    steps = [feed for _, feed in feeds.draw_steps(4, session, assumed, {"N": 3})]
    assert len(steps) == 4 and steps[0]["x"].shape == (3, 1000)
    assert all(numpy.abs(feed["x"]).max() == 1 for feed in steps)
    assert set(numpy.concatenate([feed["i"] for feed in steps])) == {0, 1, 2, 3, 4}
    assert steps[0]["u"].dtype == numpy.float16 and numpy.isfinite(steps[0]["u"]).all()
    assert steps[0]["b"].dtype == bool
    again = [feed for _, feed in feeds.draw_steps(4, session, assumed, {"N": 3})]
    assert all((a["x"] == b["x"]).all() for a, b in zip(steps, again, strict=True))


def test_random_indices():
    """Those from the front, where the ledger says that they pick one of 10."""
    session = Session(Value("i", [200], "tensor(int64)"), Value("k", [50], "tensor(int32)"))
    assumed = {"i": {"lo": -10.0, "hi": 9.0, "mean": 4.5, "std": 2.598},
               "k": {"lo": -(2.0**31), "hi": 2.0**31 - 1}}
    _, feed = next(feeds.draw_steps(1, session, assumed, {}))
    assert set(feed["i"]) == set(range(10)) and set(feed["k"]) == {0, 1}


def test_integers_that_nothing_bounds(tmp_path, capsys):
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, int64[2] t) => (float[2] y) { f = Cast <to = 1> (t)  z = Mul (x, f)  y = Exp (z) }""")
    probed = mpopt.instrument(model, tmp_path / "probed.onnx", precision="fp16")
    command = [str(probed.path), "--random", "2", "--record", str(tmp_path / "run.mprec")]
    assert mpopt.run.main(command) == 0
    assert "mpopt: warning: 0 and 1 are drawn for t, which may be any whole number" in capsys.readouterr().err
    probed = mpopt.instrument(model, tmp_path / "probed.onnx", precision="fp16", inputs={"t": (0, 9)})
    assert mpopt.run.main(command) == 0 and capsys.readouterr().err == ""


def test_random_shapes():
    session = Session(Value("x", ["N", None, 4, "M"]), Value("y", ["N"]))
    assumed = {"x": {"lo": 0.0, "hi": 1.0, "shape": [3, 5, 4, -1]},
               "y": {"lo": 0.0, "hi": 1.0, "shape": [3]}}
    _, feed = next(feeds.draw_steps(1, session, assumed, {}))
    assert feed["x"].shape == (3, 5, 4, 2) and feed["y"].shape == (3,)
    _, feed = next(feeds.draw_steps(1, session, assumed, {"N": 7, "M": 1}))
    assert feed["x"].shape == (7, 5, 4, 1) and feed["y"].shape == (7,)


MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) { y = Exp (x) }"""


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    return mpopt.instrument(parser.parse_model(MODEL), tmp_path_factory.mktemp("p") / "p.onnx",
                            probe="all", dims={"N": 2})


@pytest.mark.parametrize("ledger", [
    "[]", "{}", "null", "[" * 100_000, "text", '{"assumptions": null}', '{"assumptions": [{}]}',
    '{"probes": [], "assumptions": [{"input": "x", "lo": null, "hi": null}]}',
    '{"probes": [], "assumptions": [{"input": "x", "lo": "a", "hi": "b"}]}',
    '{"probes": [], "assumptions": [{"input": "x", "lo": 5, "hi": -5}]}',
    '{"probes": [{"tensor": "x", "role": "input", "shape": ["a"]}], "assumptions": []}'], ids=lambda text: text[:40])
def test_no_ledger(probed, tmp_path, ledger, capsys):
    file = tmp_path / "ledger.json"
    file.write_text(ledger)
    assert mpopt.run.main([str(probed.path), "--random", "1", "--ledger", str(file)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and error.startswith("mpopt: error: ") and str(file) in error
    assert "is no ledger of probes" in error or "JSON" in error


def test_ledger_gives_what_is_assumed(probed):
    assumed = feeds.read_assumptions(probed.ledger)["x"]
    assert assumed["lo"] == json.loads(probed.ledger.read_text())["assumptions"][0]["lo"]
    assert assumed["shape"] == [2, 4]


def test_dims_that_no_memory_holds(probed, tmp_path, capsys):
    assert mpopt.run.main([str(probed.path), "--random", "1", "--dim", f"N={10**12}",
                           "--record", str(tmp_path / "r.mprec")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mpopt: error: ") and said.count("\n") == 1


def test_model_that_the_runtime_refuses(probed, tmp_path, capsys):
    junk = tmp_path / "junk.onnx"
    junk.write_bytes(b"junk")
    assert mpopt.run.main([str(junk), "--random", "1", "--ledger", str(probed.ledger)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mpopt: error: ") and said.count("\n") == 1

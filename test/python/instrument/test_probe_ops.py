"""The probe op under ONNX Runtime: the newest one, and 1.17 where it is set up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import record_file
from onnx import TensorProto, helper
from tool import BUILD

LIBRARY = BUILD / "lib" / "libmpopt_ort.so"
RUNNER = Path(__file__).parent / "Inputs" / "run_probed.py"
OLD = os.environ.get("MPOPT_OLD_ORT", "")
LEDGER = "5a" * 32

FLOATS = [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE,
          TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2,
          TensorProto.FLOAT8E5M2FNUZ]


@pytest.fixture(params=["newest", "1.17"])
def python(request):
    """An interpreter with that onnxruntime."""
    if request.param == "newest":
        return sys.executable
    if not OLD or not Path(OLD, "bin", "python").exists():
        pytest.skip("no environment with ONNX Runtime 1.17 (scripts/setup)")
    return str(Path(OLD, "bin", "python"))


def probe(value: str, number: int, **attributes) -> onnx.NodeProto:
    return helper.make_node("Probe", [value], [], domain="mpopt", name=f"probe{number}",
                            id=number, ledger=LEDGER, **attributes)


def model(nodes, inputs, outputs) -> onnx.ModelProto:
    """With the function that stands in where the library is not registered."""
    fallback = helper.make_function(
        "mpopt", "Probe", ["x"], [], [helper.make_node("Shape", ["x"], ["s"])],
        [helper.make_opsetid("", 19)], ["id", "ledger", "channel_axis"])
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(
        graph, ir_version=9, functions=[fallback],
        opset_imports=[helper.make_opsetid("", 19), helper.make_opsetid("mpopt", 1)])


def value(name, dtype=TensorProto.FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, dtype, list(shape))


def run(python, tmp_path, made, feeds, times=1, library=LIBRARY, mode="", **environment):
    """The finished process; records go to tmp_path/run.mprec."""
    onnx.save(made, tmp_path / "m.onnx")
    np.savez(tmp_path / "feeds.npz", **feeds)
    settings = {key: text for key, text in os.environ.items() if not key.startswith("MPOPT_")}
    settings["MPOPT_RECORD"] = str(tmp_path / "run.mprec")
    settings.update(environment)
    return subprocess.run(
        [python, str(RUNNER), str(library), str(tmp_path / "m.onnx"),
         str(tmp_path / "feeds.npz"), str(times), mode],
        env=settings, capture_output=True, text=True, timeout=120, cwd=tmp_path)


def records(tmp_path, name="run.mprec"):
    return record_file.read(tmp_path / name)


def identity(dtype=TensorProto.FLOAT, shape=("n",), **attributes):
    return model([helper.make_node("Identity", ["x"], ["y"]), probe("x", 4, **attributes)],
                 [value("x", dtype, shape)], [value("y", dtype, shape)])


def test_every_float_type(python, tmp_path):
    """Casts of one input into each type; the records are those of the cast values."""
    nodes, outputs = [], []
    for number, dtype in enumerate(FLOATS):
        nodes += [helper.make_node("Cast", ["x"], [f"c{number}"], to=dtype),
                  helper.make_node("Cast", [f"c{number}"], [f"y{number}"], to=TensorProto.DOUBLE),
                  probe(f"c{number}", number)]
        outputs.append(value(f"y{number}", TensorProto.DOUBLE))
    x = np.random.default_rng(1).normal(0, 3, 5000).astype(np.float32)
    x[:4] = [0.0, -0.0, 2.0**-10, 440.0]
    done = run(python, tmp_path, model(nodes, [value("x")], outputs), {"x": x})
    assert done.returncode == 0, done.stderr
    header, probes = records(tmp_path)
    assert bytes(header["ledger"]).hex() == LEDGER
    assert header["runtime"].decode() == f"onnxruntime {done.stdout.strip()}"
    assert header["closed"] == 1
    stored = np.load(tmp_path / "feeds.npz.out.npz")
    for number, dtype in enumerate(FLOATS):
        y = stored[f"y{number}"]
        record = probes[number][0]
        assert record["dtype"] == dtype and record["count"] == y.size
        assert record["nan"] == np.isnan(y).sum()
        finite = y[np.isfinite(y)]
        assert record["zero"] == (finite == 0).sum()
        assert record["min"] == finite.min() and record["max"] == finite.max()
        assert record["min_nonzero"] == np.abs(finite[finite != 0]).min()
        bins = np.frexp(np.abs(finite[finite != 0]))[1] - 1 + 151
        assert (record["histogram"] == np.bincount(bins, minlength=280)).all()
        assert record_file.exact(record["sum"]) == pytest.approx(finite.sum(), rel=1e-5)
        assert record_file.exact(record["sum_squares"]) == pytest.approx(
            (finite**2).sum(), rel=1e-5)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int8, np.uint8, np.bool_, np.float64])
def test_other_types(python, tmp_path, dtype):
    made = identity(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    x = np.array([0, 1, 3, 1]).astype(dtype)
    assert run(python, tmp_path, made, {"x": x}).returncode == 0
    record = records(tmp_path)[1][4][0]
    assert record["count"] == 4 and record["zero"] == 1
    assert record["min"] == x.min() and record["max"] == x.max()


def test_steps_shapes_and_channels(python, tmp_path):
    made = identity(shape=("n", 3), channel_axis=1)
    x = np.array([[1, -2, 3], [4, 5, np.inf]], np.float32)
    assert run(python, tmp_path, made, {"x": x}, times=3).returncode == 0
    record, ranges = records(tmp_path)[1][4]
    assert record["calls"] == 3 and record["count"] == 18
    assert record["pos_inf"] == 3 and record["first_inf_step"] == 0
    assert record["max"] == 15 and record["absmax_step"] == 2
    assert record["min_nonzero"] == 1 and record["min_nonzero_step"] == 0
    assert record["dim_max"][:2].tolist() == [2, 3]
    assert ranges.tolist() == [[1, 12], [-6, 15], [3, 9]]


def test_numbers_that_do_not_fit(python, tmp_path):
    """Neither an id nor an axis is taken for what is left of it in 32 bits."""
    made = identity(shape=("n", 3), channel_axis=1 << 32)
    wrong = probe("x", 0)
    wrong.attribute[0].i = (1 << 32) + 4
    made.graph.node.append(wrong)
    assert run(python, tmp_path, made, {"x": np.ones((2, 3), np.float32)}).returncode == 0
    [(number, [(record, ranges)])] = [(key, [item]) for key, item in records(tmp_path)[1].items()]
    assert number == 4 and record["calls"] == 1 and not len(ranges)


def test_empty_and_scalar(python, tmp_path):
    assert run(python, tmp_path, identity(), {"x": np.zeros(0, np.float32)}).returncode == 0
    record = records(tmp_path)[1][4][0]
    assert record["calls"] == 1 and record["count"] == 0 and record["min"] == np.inf
    assert run(python, tmp_path, identity(shape=()), {"x": np.float32(7)}).returncode == 0
    assert records(tmp_path)[1][4][0]["max"] == 7


def test_inside_a_branch(python, tmp_path):
    """Only the branch that runs is recorded."""
    def branch(name, number, op):
        return helper.make_graph([helper.make_node(op, ["x"], [name]), probe(name, number)],
                                 name, [], [value(name)])
    made = model(
        [helper.make_node("If", ["c"], ["y"], then_branch=branch("a", 1, "Neg"),
                          else_branch=branch("b", 2, "Abs"))],
        [value("x"), value("c", TensorProto.BOOL, ())], [value("y")])
    feeds = {"x": np.float32([1, 2]), "c": np.bool_(True)}
    assert run(python, tmp_path, made, feeds).returncode == 0
    probes = records(tmp_path)[1]
    assert list(probes) == [1] and probes[1][0]["min"] == -2


def test_environment(python, tmp_path):
    x = {"x": np.float32([1])}
    assert run(python, tmp_path, identity(), x, times=10, MPOPT_PROBE_PERIOD="4").returncode == 0
    record = records(tmp_path)[1][4][0]
    assert record["calls"] == 3 and record["skipped"] == 7
    (tmp_path / "run.mprec").unlink()
    assert run(python, tmp_path, identity(), x, MPOPT_PROBE_DISABLE="1").returncode == 0
    record = records(tmp_path)[1][4][0]
    assert (record["calls"], record["skipped"], record["count"]) == (0, 1, 0)
    done = run(python, tmp_path, identity(), x, MPOPT_RECORD="", MPOPT_PROBE_PERIOD="often")
    assert done.returncode == 0
    assert "MPOPT_PROBE_PERIOD=often is not a number" in done.stderr
    assert len(list(tmp_path.glob("mpopt-*.mprec"))) == 1


def test_without_the_library(python, tmp_path):
    """The function of the same name runs in place of the kernel."""
    done = run(python, tmp_path, identity(), {"x": np.float32([1, 2])}, library="-")
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("*.mprec"))


def test_killed(python, tmp_path):
    done = run(python, tmp_path, identity(), {"x": np.float32([1, np.nan])}, times=200,
               mode="kill", MPOPT_FLUSH_MS="10")
    assert done.returncode == -9
    header, probes = records(tmp_path)
    record = probes[4][0]
    assert header["closed"] == 0
    assert record["calls"] >= 200 and record["first_nan_step"] == 0
    assert record["nan"] == record["calls"]


@pytest.mark.parametrize("where", ["/dev/full", "/nonexistent/run.mprec"])
def test_nowhere_to_write(python, tmp_path, where):
    done = run(python, tmp_path, identity(), {"x": np.float32([1])}, times=50,
               MPOPT_RECORD=where, MPOPT_FLUSH_MS="0")
    assert done.returncode == 0
    lines = [line for line in done.stderr.splitlines() if "mpopt" in line]
    assert len(lines) == 1 and lines[0].startswith(f"mpopt: warning: cannot write {where}: ")
    assert (np.load(tmp_path / "feeds.npz.out.npz")["y"] == [50]).all()


def test_outputs_are_untouched(python, tmp_path):
    """Optimised or not, a probe of every value changes no bit of the outputs."""
    rng = np.random.default_rng(3)
    weights = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], rng.normal(0, 0.2, 4096))
    def made(probes):
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]),
                 helper.make_node("Softmax", ["h"], ["s"]), helper.make_node("Exp", ["s"], ["y"])]
        nodes += [probe(name, i) for i, name in enumerate(["x", "h", "s", "y", "w"])] * probes
        graph = model(nodes, [value("x", shape=("n", 64))], [value("y", shape=("n", 64))])
        graph.graph.initializer.append(weights)
        return graph
    feeds = {"x": rng.normal(0, 1, (300, 64)).astype(np.float32)}
    outputs = []
    for probes in (0, 1):
        assert run(python, tmp_path, made(probes), feeds, times=2).returncode == 0
        outputs.append(np.load(tmp_path / "feeds.npz.out.npz")["y"])
    assert outputs[0].tobytes() == outputs[1].tobytes()
    assert sorted(records(tmp_path)[1]) == [0, 1, 2, 3, 4]


def test_processes_at_once(python, tmp_path):
    """One file name for all: each process gets a file of its own."""
    onnx.save(identity(), tmp_path / "m.onnx")
    np.savez(tmp_path / "feeds.npz", x=np.float32([1]))
    settings = dict(os.environ, MPOPT_RECORD=str(tmp_path / "run.mprec"), MPOPT_FLUSH_MS="0")
    command = [python, str(RUNNER), str(LIBRARY), str(tmp_path / "m.onnx"),
               str(tmp_path / "feeds.npz"), "300"]
    running = [subprocess.Popen(command, env=settings, stdout=subprocess.DEVNULL)
               for _ in range(3)]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    files = sorted(path.name for path in tmp_path.glob("*.mprec"))
    # A process that came late may have replaced the file of one that had ended.
    assert "run.mprec" in files
    for name in files:
        header, probes = records(tmp_path, name)
        assert header["closed"] == 1 and probes[4][0]["calls"] == 300

"""Numbers that are written cost nothing: dims, attributes and constant shapes of 2^30
and 2^40, each in turn, in every operator that the importer knows and every op of the
dialect. Models and modules are those of the other tests, so that a new op is among
them. What mpopt says of such a model is its matter: it may judge or refuse it."""

from __future__ import annotations

import pathlib
import re
import tempfile
import warnings

import gradient_cases
import gradient_graph
import gradient_harness
import huge_ir
import huge_onnx
import numpy
import onnx
import pytest
import soundness
import soundness_ir
import soundness_rounds
import test_contrib_ops
import test_onnx_old_opsets
import training_nodes
from contrib_cases import get_cases
from inference import bind_inputs
from old_forms import handmade
from processor_time import Limits, Pool
from test_onnx_node_corpus import load_cases
from tool import ROOT, list_ops, run_mpopt

# A model may take so much processor time beyond an empty one, and so much memory. The
# slowest, a residual network of 21 nodes, takes 0.06 to 0.1 s with its own numbers.
SECONDS, MEBIBYTES = 0.15, 300
# For a model among others in one file.
EACH = 0.01
# Tests among which the models are divided: each takes 7 s on two cores, by pytest's
# --durations, where one of all took 197 s of the 240 s that a test may.
PARTS = 4
PRECISION = ("--precision", "fp16", "--fail-on", "never")
FP32 = soundness.FORMATS["fp32"]

# Quoted words beside lowerings that name no operator.
NO_OPERATORS = {"Affine", "Fast", "Invertible", "ScaledTanh"}
# Ops of the dialect without an instance that stands alone.
ALONE = {**dict.fromkeys(["mp.if", "mp.loop", "mp.scan", "mp.sequence_map", "mp.yield"],
                         "a body, which the models in ONNX have"),
         "mp.clip_grad_norm": "a list of gradients: a model in ONNX has it",
         "mp.custom_grad": "the adjoint of an op that a project states makes it"}


def with_weights(model):
    """A form in which all float inputs but the first are constants."""
    values = {}
    for value in list(model.graph.input)[1:]:
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.FLOAT and numpy.prod(shape) <= 4096:
            count = int(numpy.prod(shape))
            values[value.name] = numpy.linspace(-1, 1, count, dtype="f").reshape(shape)
    return bind_inputs(model, values) if values else None


def small_models():
    for case in load_cases():
        if len(case.model.graph.node) == 1 and not case.model.functions:
            yield case.name, case.model
    for case in get_cases():
        yield case.name, test_contrib_ops.build(case)[0]
    yield from training_nodes.get_models()
    for form in handmade():
        yield form.node.op_type, test_onnx_old_opsets.build(form)[0]


def draw_onnx(family, cases):
    return soundness.draw_cases(soundness.Draw(0, FP32, family.opset), cases, 0, 1).model()


@pytest.fixture(scope="module")
def seeds():
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, model in small_models():
            found.append(huge_onnx.Seed(name, model))
            if bound := with_weights(model):
                found.append(huge_onnx.Seed(f"{name}, with weights", bound))
        for name in ("classic", "legacy", "training-statistics"):
            lines = (ROOT / f"test/Import/Onnx/{name}.onnxtext").read_text().splitlines()
            text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
            found.append(huge_onnx.Seed(name, onnx.parser.parse_model(text)))
        for family in soundness_rounds.LISTS.values():
            for name, build in family.onnx.items():
                found.append(huge_onnx.Seed(name, draw_onnx(family, {name: build})))
    return found


@pytest.fixture(scope="module")
def variants(seeds):
    return list(huge_onnx.vary(seeds))


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    """Every op of the dialect, from the modules of its own tests, of those of bounds and
    of those of gradients."""
    folder = tmp_path_factory.mktemp("modules")
    modules = [path for path in sorted((ROOT / "test/Dialect").glob("*.mlir"))
               if not path.stem.endswith("-invalid")]
    for name, family in soundness_rounds.LISTS.items():
        if family.ir:
            modules.append(folder / f"{name}.mlir")
            made = soundness.draw_cases(soundness_ir.IrDraw(0, FP32), family.ir, 0, 1)
            modules[-1].write_text(made.text())
        if family.onnx:
            modules.append(folder / f"{name}-onnx.mlir")
            model = modules[-1].with_suffix(".onnx")
            model.write_bytes(draw_onnx(family, family.onnx).SerializeToString())
            done = run_mpopt("--emit-mlir", model, "-o", modules[-1])
            assert done.returncode == 0, done.stderr
    return [*huge_ir.read_ops(huge_ir.generic(*modules)), *gradients()]


def gradients():
    """The gradient ops, from the backward graphs of their tests."""
    graphs = []
    for number, (name, build) in enumerate(gradient_cases.CASES.items()):
        graph = gradient_graph.Graph(name, number)
        graphs.append(graph.returns(build(graph)).text())
    made = huge_ir.read_ops(gradient_harness.differentiate("\n".join(graphs)))
    return [op for op in made if op.name.endswith("_grad")]


@pytest.fixture(scope="module")
def pool():
    made = Pool()
    yield made
    made.close()


@pytest.fixture(scope="module")
def limits(pool, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty") / "empty.mlir"
    empty.write_text("func.func @main() {\n  return\n}\n")
    start = pool.starting_seconds(empty, "--check", *PRECISION)
    return Limits(start + SECONDS, MEBIBYTES << 20)


@pytest.fixture
def folder():
    """In memory where possible: thousands of files, which pytest would keep."""
    memory = pathlib.Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield pathlib.Path(name)


def report(problems):
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems[:100])


def check(variants, pool, limits, folder: pathlib.Path):
    """The models that mpopt does not refuse."""
    paths = {}
    for index, variant in enumerate(variants):
        path = folder / f"{index}{variant.kind}"
        path.write_bytes(variant.data)
        paths[str(path)] = variant
    problems, refused = pool.check(list(paths), limits, *PRECISION)
    print(f"{len(paths)} models, {len(refused)} refused")
    report([f"{paths[path]}: {problem}" for path, problem in problems.items()])
    return [variant for path, variant in paths.items() if path not in refused]


def check_together(variants, join, pool, limits, folder, *arguments):
    """An action that takes one model, on many in one."""
    def look(part):
        path = folder / f"joined{part[0].kind}"
        path.write_bytes(join(part))
        done = pool.run([*arguments, path])
        most = Limits(limits.seconds + EACH * len(part), limits.memory)
        problem = most.problem(done) or done.error * (done.status == 2)
        if problem and len(part) > 1:
            return look(part[:len(part) // 2]) + look(part[len(part) // 2:])
        return [f"{part[0]}: {problem}"] if problem else []

    report(look(variants))


def test_every_operator_has_a_model(seeds):
    known = {node.op_type for seed in seeds for node in huge_onnx.walk(seed.model.graph)}
    words = set()
    for source in (ROOT / "lib/Import/Onnx/Lowering").glob("*.cpp"):
        words.update(re.findall(r'"([A-Z]\w*[a-z]\w*)"', source.read_text()))
    report(sorted(words - known - NO_OPERATORS))


@pytest.mark.parametrize("part", range(PARTS))
def test_operators(variants, pool, limits, folder, part):
    accepted = check(variants[part::PARTS], pool, limits, folder)
    for joined in huge_onnx.by_opsets(accepted).values():
        for arguments in (("--emit-mlir", "-o", "/dev/null"),
                          ("--instrument", "--probe", "all", "-o", folder / "probed.onnx")):
            check_together(joined, huge_onnx.join, pool, limits, folder, *arguments)


def test_ops_of_the_dialect(ops, pool, limits, folder):
    assert list_ops() - {op.name for op in ops} == set(ALONE)
    accepted = check(huge_ir.vary(ops), pool, limits, folder)
    check_together(accepted, huge_ir.join, pool, limits, folder, "--emit-mlir",
                   "-o", "/dev/null")


def test_output_padding(tmp_path):
    """Not below the stride is legal: what is past the last tap receives the bias alone."""
    model = tmp_path / "model.onnx"
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 1, 2] x) => (y) <float[1, 1, 1] w = {{2}}, float[1] b = {{5}}>
        {{ y = ConvTranspose <output_padding = [{1 << 30}]> (x, w, b) }}"""
    model.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    said = soundness.dump_ranges(model, {"x": (1, 2, None, None)}, "as-is")["y"]
    assert said["shape"] == [1, 1, (1 << 30) + 2]
    assert (said["lo"], said["hi"]) == (pytest.approx(5), pytest.approx(9))

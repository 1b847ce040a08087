"""Whole models against the bounds that mpopt states for them.

ONNX Runtime runs a model with every tensor of its main graph as an output, graph
optimisations off, on inputs drawn from the declared box: its ends, its corners,
zeros, tiny numbers, random points. `mpopt --dump-ranges` must hold every value:
bounds, the nan and inf flags, min_nonzero. Once as the file is, and once with FP16
storage: inputs, constants and the result of every node (in bodies of If, Loop and
Scan, too) go through float16, so that an op reads float16 values, computes in
float32 and has its result rounded, as `--precision fp16 --target ort-cpu` says.

Not seen: values inside bodies of control flow, which ONNX Runtime does not give
out (what they yield is)."""

import json
import pathlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy
import onnx
import soundness
from onnx import TensorProto, helper, numpy_helper
from tool import read_ranges

FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16}
ROUNDED = {TensorProto.FLOAT, TensorProto.DOUBLE}
TYPES = {"tensor(float)": TensorProto.FLOAT, "tensor(double)": TensorProto.DOUBLE,
         "tensor(float16)": TensorProto.FLOAT16}
# Read as they are under every policy: the scale of a quantised tensor.
SCALES = {"QuantizeLinear": 1, "DequantizeLinear": 1}


@dataclass
class Box:
    """What is declared of an input; `lo` and `hi` broadcast to the shape."""

    lo: numpy.ndarray
    hi: numpy.ndarray
    shape: tuple[int, ...]
    dtype: numpy.dtype


@dataclass
class Subject:
    """A model and what is said about its inputs. Inputs without a box get the one
    that mpopt assumes."""

    path: pathlib.Path
    dims: dict[str, int] = field(default_factory=dict)
    boxes: dict[str, tuple] = field(default_factory=dict)
    feeds: list[dict[str, numpy.ndarray]] = field(default_factory=list)
    # Further options of mpopt.
    options: list[str] = field(default_factory=list)


@dataclass
class Comparison:
    tensors: int = 0
    values: int = 0
    samples: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    # Tensors that mpopt says nothing about.
    missing: list[str] = field(default_factory=list)


# -- what mpopt says -----------------------------------------------------------------------

def dump_ranges(subject, precision, folder):
    """Of every tensor. A box that differs by element goes through an .npz file."""
    options = ["--precision", precision, "--target", "ort-cpu", *subject.options]
    for name, (lo, hi) in subject.boxes.items():
        if numpy.ndim(lo) or numpy.ndim(hi):
            file = folder / f"box{len(options)}.npz"
            numpy.savez(file, lo=lo, hi=hi)
            options += ["--input", f"{name}=@{file}"]
        else:
            options += ["--input", f"{name}={float(lo)!r}:{float(hi)!r}"]
    for name, size in subject.dims.items():
        options += ["--dim", f"{name}={size}"]
    return read_ranges(subject.path, *options, timeout=300)["tensors"]


# -- inputs --------------------------------------------------------------------------------

def find_boxes(subject, model, ranges):
    """Of every input of the graph: the one declared, or the one assumed."""
    constants = {tensor.name for tensor in model.graph.initializer}
    boxes = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        shape = tuple(dim.dim_value if dim.HasField("dim_value")
                      else subject.dims.get(dim.dim_param, 2) for dim in kind.shape.dim)
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if value.name in subject.boxes:
            lo, hi = subject.boxes[value.name]
        else:
            lo, hi = (float(ranges[value.name][end]) for end in ("lo", "hi"))
            if dtype.kind in "iu":  # of a wide integer nobody knows what it counts
                lo, hi = max(lo, -4.0), min(hi, 400.0)
        boxes[value.name] = Box(numpy.broadcast_to(numpy.float64(lo).reshape(
            numpy.shape(lo)), shape), numpy.broadcast_to(hi, shape), shape, dtype)
    return boxes


def draw_samples(boxes, count, seed) -> Iterator[dict[str, numpy.ndarray]]:
    random = numpy.random.default_rng(seed)
    for number in range(count):
        feed = {}
        for name, box in boxes.items():
            lo, hi, shape = box.lo, box.hi, box.shape
            uniform = random.uniform(0, 1, shape) * (hi - lo) + lo
            kind = number % 8
            if kind == 0:
                values = lo
            elif kind == 1:
                values = hi
            elif kind == 2:  # the same everywhere
                values = numpy.broadcast_to(
                    random.uniform(0, 1) * (hi - lo) + lo, shape)
            elif kind == 3:  # corners
                values = numpy.where(random.integers(0, 2, shape) == 0, lo, hi)
            elif kind == 4:  # few large ones among tiny ones
                values = numpy.where(random.integers(0, 16, shape) == 0, uniform,
                                     uniform * 2.0 ** -random.integers(10, 150, shape))
            elif kind == 5:  # zeros of both signs and corners
                values = numpy.choose(random.integers(0, 4, shape), [lo, hi, 0.0, -0.0])
            elif kind == 6:
                values = random.normal(0, 1, shape) * (hi - lo) / 8 + (hi + lo) / 2
            else:
                values = uniform
            if box.dtype.kind in "iu":
                values = numpy.floor(values + 0.5)
            if box.dtype.kind == "b":
                values = values >= 0.5
            feed[name] = clip_to(numpy.clip(values, lo, hi), box)
        yield feed


def clip_to(values, box):
    """As the dtype has it, without leaving the box by rounding."""
    stored = values.astype(box.dtype)
    if box.dtype.kind != "f":
        return stored
    for end, toward in ((box.lo, numpy.inf), (box.hi, -numpy.inf)):
        wrong = stored < end if toward > 0 else stored > end
        stored = numpy.where(wrong, numpy.nextafter(stored, box.dtype.type(toward)), stored)
    return stored


# -- the model as ONNX Runtime shall run it ------------------------------------------------------

def open_session(model):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def expose(model, names):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names))
    return copy


def made_names(model):
    return [name for node in model.graph.node if node.op_type != "Constant"
            for name in node.output if name]


def float_types(model):
    """Float tensors and their type, by name: of the main graph from ONNX Runtime,
    of bodies from ONNX's inference."""
    found = {}

    def visit(graph):
        for value in [*graph.value_info, *graph.output, *graph.input]:
            found.setdefault(value.name, value.type.tensor_type.elem_type)
        for tensor in graph.initializer:
            found.setdefault(tensor.name, tensor.data_type)
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g)

    visit(onnx.shape_inference.infer_shapes(model).graph)
    session = open_session(expose(model, [
        name for node in model.graph.node for name in node.output if name]))
    for value in [*session.get_inputs(), *session.get_outputs()]:
        found[value.name] = TYPES.get(value.type, 0)
    return {name: kind for name, kind in found.items() if kind in ROUNDED}


def round_to_half(values):
    with numpy.errstate(over="ignore"):
        return values.astype(numpy.float16).astype(values.dtype)


def with_half_storage(model, types):
    """The model with FP16 storage, and by tensor the name of what was computed."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    computed = {}
    kept = set()

    def find_scales(graph):
        for node in graph.node:
            if node.op_type in SCALES:
                kept.add(node.input[SCALES[node.op_type]])

    def store(nodes, name, source):
        nodes.append(helper.make_node("Cast", [source], [name + "/half"],
                                      to=TensorProto.FLOAT16))
        nodes.append(helper.make_node("Cast", [name + "/half"], [name], to=types[name]))

    def rewrite(graph, top):
        find_scales(graph)
        for tensor in graph.initializer:
            if tensor.data_type in ROUNDED and tensor.name not in kept:
                tensor.CopyFrom(numpy_helper.from_array(
                    round_to_half(numpy_helper.to_array(tensor)), tensor.name))
        constants = {tensor.name for tensor in graph.initializer}
        nodes = []
        if top:
            for value in graph.input:
                if value.name in types and value.name not in constants:
                    store(nodes, value.name, value.name + "/computed")
                    computed[value.name] = value.name + "/computed"
                    value.name += "/computed"
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    rewrite(attribute.g, False)
            nodes.append(node)
            for index, name in enumerate(node.output):
                if name in types and name not in kept:
                    node.output[index] = name + "/computed"
                    store(nodes, name, name + "/computed")
                    if top:
                        computed[name] = name + "/computed"
        kept_nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(kept_nodes)
        del graph.value_info[:]

    rewrite(copy.graph, True)
    return copy, computed


# -- comparing ---------------------------------------------------------------------------------

def compare(subject, precision, folder, samples=8, seed=0) -> Comparison:
    """`precision` is as-is or fp16. An error of ONNX Runtime passes through."""
    model = onnx.load(subject.path)
    names = made_names(model)
    computed = {}
    # Before anything else: a model that does not load is not tested at all.
    session = open_session(expose(model, names))
    if precision == "fp16":
        running, computed = with_half_storage(model, float_types(model))
        session = open_session(expose(running, [
            *names, *(computed[name] for name in names if name in computed)]))
    ranges = dump_ranges(subject, precision, folder)
    boxes = find_boxes(subject, model, ranges)
    result = Comparison(missing=[name for name in names if name not in ranges])
    outputs = [output.name for output in session.get_outputs()]
    seen = {}
    for feed in [*subject.feeds, *draw_samples(boxes, samples, seed)]:
        feed = {computed.get(name, name): feed[name] for name in boxes}
        values = dict(zip(outputs, session.run(outputs, feed)))
        values |= feed
        result.samples += 1
        for name in [*names, *boxes]:
            if name not in ranges:
                continue
            stored = values.get(name)
            before = values.get(computed.get(name), stored)
            if stored is None:  # an input under a policy
                stored = round_to_half(before)
            if not isinstance(stored, numpy.ndarray) or stored.dtype.kind not in "fiub":
                continue
            seen[name] = True
            result.values += stored.size
            problem = soundness.outside(name, before, stored, ranges[name])
            if problem:
                result.problems.setdefault(name, problem)
    result.tensors = len(seen)
    return result


# -- where models are ----------------------------------------------------------------------------

def read_zoo_model(folder):
    """A model of the generated zoo, with its declared inputs and its six batches."""
    truth = json.loads((folder / "truth.json").read_text())
    boxes = {name: (spec["lo"], spec["hi"]) for name, spec in truth["inputs"].items()}
    feeds = []
    if (folder / "feeds.npz").exists():
        with numpy.load(folder / "feeds.npz") as arrays:
            batches = {name: arrays[name] for name in boxes}
        feeds = [{name: batch[index] for name, batch in batches.items()}
                 for index in range(len(next(iter(batches.values()))))]
    return Subject(folder / "model.onnx", truth["dims"], boxes, feeds)


def read_vnnlib_box(file):
    """`lo` and `hi` of a vnnlib property's inputs X_0, X_1 ..."""
    ends = {"<=": {}, ">=": {}}
    for relation, index, number in re.findall(
            r"\(assert \((<=|>=) X_(\d+) ([-+0-9.eE]+)\)\)", file.read_text()):
        ends[relation][int(index)] = float(number)
    count = len(ends["<="])
    return tuple(numpy.array([ends[relation][i] for i in range(count)], numpy.float32)
                 for relation in (">=", "<="))

"""Sampled models against the bounds that mpopt states for them.

A round is one ONNX model of many small graphs, each case several times, with boxes,
shapes and attributes drawn anew. ONNX Runtime runs it on sampled inputs (ends of the
boxes, zeros of both signs, tiny numbers included) with every tensor as an output, in
float32, and with inputs, constants and the result of every node rounded to float16 or
bfloat16 (an op then reads rounded values and computes in float32); `mpopt
--dump-ranges` must hold every value."""

import collections
import pathlib
import tempfile
import zlib
from dataclasses import dataclass, field

import ml_dtypes
import numpy
import onnx
import soundness_counts
from onnx import TensorProto, helper, numpy_helper
from tool import read_ranges

FLOATS = (TensorProto.FLOAT,)


@dataclass(frozen=True)
class Format:
    """How tensors are stored, and the --precision that says so."""

    name: str
    precision: str
    onnx_type: int
    dtype: type

    def __getattr__(self, name):  # max, smallest_normal, smallest_subnormal
        return float(getattr(ml_dtypes.finfo(self.dtype), name))

    @property
    def overflows(self):
        """The first number that is stored as Inf, half a unit past the largest, and one
        that is farther out."""
        first = self.max * (1 + self.eps / 2 / (2 - self.eps))
        return first, min(first * 1e3, float(numpy.finfo(numpy.float32).max))

    def round(self, values):
        with numpy.errstate(over="ignore", invalid="ignore"):
            return values.astype(self.dtype).astype(values.dtype)


FORMATS = {f.name: f for f in (
    Format("fp32", "as-is", TensorProto.FLOAT, numpy.float32),
    Format("fp16", "fp16", TensorProto.FLOAT16, numpy.float16),
    Format("bf16", "bf16", TensorProto.BFLOAT16, ml_dtypes.bfloat16))}


class Draw:
    """What a case builds its graph with, and all random choices."""

    def __init__(self, seed, format, opset=20):
        self.random = numpy.random.default_rng(seed)
        self.format = format
        self.fp16 = format.name == "fp16"
        self.nodes, self.inputs, self.constants, self.boxes = [], [], [], {}
        self.domains = {"": opset, "ai.onnx.ml": 3, "com.microsoft": 1}
        self.count = 0
        self.case = ""
        self.loses = False

    def name(self, hint):
        self.count += 1
        return f"{self.case}.{hint}{self.count}"

    # -- numbers ---------------------------------------------------------------

    def choice(self, options):
        return options[int(self.random.integers(len(options)))]

    def integer(self, lo, hi):
        return int(self.random.integers(lo, hi + 1))

    def edge(self):
        """Ends at the edges of the format: subnormals, the largest numbers,
        points, infinities."""
        tiny, normal, largest = (self.format.smallest_subnormal, self.format.smallest_normal,
                                 self.format.max)
        some = float(self.random.uniform(0, 3))
        return self.choice([
            (-tiny, tiny), (0.0, tiny), (-3 * tiny, 2 * tiny), (tiny, tiny),
            (normal / 2, 2 * normal), (-normal, normal), (normal, normal),
            (largest / 2, largest), (-largest, largest), (largest, largest),
            (-largest, -largest / 4), (0.0, 0.0), (1.0, 1.0), (-1.0, -1.0), (-0.0, normal),
            (-some, some * 1e-4), (some, numpy.inf), (-numpy.inf, some),
            (-numpy.inf, numpy.inf)])

    def interval(self, scale=None, edges=True):
        """Ends of a box; small, wide, one-sided, degenerate and extreme ones."""
        kind = self.integer(0, 12)
        if kind > 9 and edges and scale is None:
            return tuple(float(numpy.float32(end)) for end in self.edge())
        scale = scale or self.choice([1e-7, 1e-3, 0.5, 1, 3, 10, 80, 1e3,
                                      6e4 if self.fp16 else 1e30])
        a, b = self.random.uniform(-scale, scale, 2)
        if kind == 0:
            a = b  # a point
        elif kind in (1, 2):
            a, b = 0.0, abs(b)  # from zero on
        elif kind == 3:
            a, b = -abs(a), 0.0
        elif kind == 4:
            a, b = abs(a), abs(a) * 1.5  # far from zero
        elif kind == 5:
            a, b = -scale, scale
        lo, hi = sorted((float(numpy.float32(a)), float(numpy.float32(b))))
        return lo, hi

    def any_shape(self, rank=None):
        return tuple(self.integer(1, 7) for _ in range(rank or self.integer(3, 4)))

    def shape(self):
        return self.choice([(2, 8), (3, 1, 5), (16,), (2, 3, 4), (1, 7)])

    # -- graph -----------------------------------------------------------------

    def box(self, shape, lo=None, hi=None, scale=None, dtype=numpy.float32):
        """An input and its declared box."""
        if lo is None:
            lo, hi = self.interval(scale)
        name = self.name("x")
        self.boxes[name] = (lo, hi, tuple(shape), dtype)
        kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def elements(self, values, exact=False):
        """Of a constant. In the repeats in which the format loses constants, floats that
        do not have to be `exact` overflow, flush to 0 or round, all of them or some."""
        values = numpy.asarray(values)
        if values.dtype == numpy.float64:
            values = values.astype(numpy.float32)
        if exact or not self.loses or values.dtype != numpy.float32 or self.integer(0, 1):
            return values
        which = self.random.uniform(size=values.shape) < self.choice([0.3, 1.1])
        with numpy.errstate(over="ignore"):
            return numpy.where(which, self.lost(values), values).astype(numpy.float32)

    def lost(self, values):
        """Numbers that change when they are stored, of the same signs."""
        first, last = self.format.overflows
        tiny = numpy.float64(self.format.smallest_subnormal)
        magnitudes = self.choice([
            self.random.uniform(first, last, values.shape), first,
            self.random.uniform(0, tiny / 2, values.shape),
            numpy.abs(values) * (1 + self.random.uniform(-1, 1, values.shape) * self.format.eps)])
        return numpy.where(numpy.signbit(values), -magnitudes, magnitudes)

    def constant(self, values, exact=False):
        name = self.name("c")
        values = self.elements(values, exact)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, shape, scale=None):
        lo, hi = self.interval(scale, edges=False)
        return self.constant(self.random.uniform(lo, hi, shape).astype(numpy.float32))

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name(op) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    # -- result ----------------------------------------------------------------

    def model(self):
        # mpopt says nothing of an optional, but of what is in it.
        outputs = [o for node in self.nodes if node.op_type != "Optional" for o in node.output]
        graph = helper.make_graph(
            self.nodes, "g", self.inputs,
            [helper.make_empty_tensor_value_info(o) for o in outputs], self.constants)
        opsets = [helper.make_opsetid(*domain) for domain in self.domains.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def samples(self, count):
        """Feeds: ends first, then points of the boxes: random ones, ends and
        zeros, numbers of every magnitude."""
        for number in range(count):
            yield {name: self.sample(number, *box) for name, box in self.boxes.items()}

    def sample(self, number, lo, hi, shape, dtype):
        largest = self.format.max
        low, high = max(lo, -largest), min(hi, largest)
        values = low + (high - low) * self.random.uniform(0, 1, shape)
        if number == 0:
            values = numpy.full(shape, lo)
        elif number == 1:
            values = numpy.full(shape, hi)
        elif number % 4 == 0:
            ends = self.random.integers(0, 5, shape)
            values = numpy.where(ends == 0, lo, numpy.where(ends == 1, hi, values))
            if lo <= 0 <= hi:
                values = numpy.where(ends == 2, 0.0, numpy.where(ends == 3, -0.0, values))
        elif number % 4 == 1:
            values = values * 2.0 ** -self.random.integers(0, 160, shape)
        elif number % 4 == 2:
            values = numpy.full(shape, numpy.ravel(values)[0] if numpy.size(values) else 0.0)
        if numpy.issubdtype(dtype, numpy.integer):
            values = numpy.floor(values)
        if dtype == numpy.bool_:
            values = values >= 0.5
        return numpy.asarray(numpy.clip(values, lo, hi)).astype(dtype)


def draw_cases(draw, cases, seed, repeats):
    # Half as many more have constants that a narrow format loses.
    losing = 0 if draw.format.name == "fp32" else repeats // 2
    for name, build in cases.items():
        for repeat in range(repeats + losing):
            draw.loses = repeat >= repeats
            draw.case = f"{name}#{repeat}"
            # Independent of the other cases, so that adding one changes none.
            draw.random = numpy.random.default_rng(
                [seed, repeat, zlib.crc32(name.encode())])
            build(draw)
    return draw


def with_rounding(model, format):
    """Every float result goes through the format where a node reads it, in bodies of
    control flow, too; `NAME/computed` is what it was before."""
    types, read = {}, set()

    def look(graph):
        for value in [*graph.value_info, *graph.output, *graph.input]:
            types[value.name] = value.type.tensor_type.elem_type
        for node in graph.node:
            read.update(node.input)
            for body in bodies(node):
                look(body)
        read.update(value.name for value in graph.output)

    look(onnx.shape_inference.infer_shapes(model).graph)
    # The outputs of the main graph are for looking at.
    read.difference_update(value.name for value in model.graph.output)
    read.update(name for node in model.graph.node for name in node.input)
    rounded = onnx.ModelProto()
    rounded.CopyFrom(model)
    del rounded.graph.output[:]
    for constant in rounded.graph.initializer:
        if constant.data_type in FLOATS:
            constant.CopyFrom(numpy_helper.from_array(
                format.round(numpy_helper.to_array(constant)), constant.name))

    def rewrite(graph, outputs):
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in graph.node]
        del graph.node[:]
        for node in nodes:
            for body in bodies(node):
                rewrite(body, [])
            made = list(node.output)
            for index, name in enumerate(made):
                if types.get(name) in FLOATS:
                    node.output[index] = name + "/computed"
            graph.node.append(node)
            for name in made:
                is_float = types.get(name) in FLOATS
                if is_float and name in read:
                    graph.node.extend([
                        helper.make_node("Cast", [name + "/computed"], [name + "/rounded"],
                                         to=format.onnx_type),
                        helper.make_node("Cast", [name + "/rounded"], [name],
                                         to=TensorProto.FLOAT)])
                if node.op_type != "Optional":
                    outputs.append(helper.make_empty_tensor_value_info(
                        name + "/computed" if is_float else name))

    rewrite(rounded.graph, rounded.graph.output)
    return rounded


def bodies(node):
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def session(model):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def dump_ranges(path, boxes, precision):
    options = ["--precision", precision, "--target", "ort-cpu"]
    for name, (lo, hi, _, _) in boxes.items():
        options += ["--input", f"{name}={float(lo)!r}:{float(hi)!r}"]
    return read_ranges(path, *options)["tensors"]


def outside(name, computed, stored, said):
    """Why these values are not in what was said, or None. Values were rounded to
    their dtype, the bounds were not."""
    finite = computed[numpy.isfinite(computed)]
    if finite.size:
        lo, hi = (numpy.float64(float(said[end])) for end in ("lo", "hi"))
        if computed.dtype.kind == "f":
            with numpy.errstate(over="ignore"):
                lo, hi = computed.dtype.type(lo), computed.dtype.type(hi)
        if not (lo <= finite.min() and finite.max() <= hi):
            return (f"{name}: computed [{finite.min()!r}, {finite.max()!r}], "
                    f"said [{said['lo']}, {said['hi']}]")
    # As float64: int8 has no 128.
    least = numpy.abs(stored[numpy.isfinite(stored) & (stored != 0)].astype(numpy.float64))
    if least.size and least.min() < numpy.float32(said["min_nonzero"]) * (1 - 1e-6):
        return f"{name}: stored {least.min()!r}, said min_nonzero {said['min_nonzero']}"
    for flag, holds in (("nan", numpy.isnan(stored)), ("posinf", numpy.isposinf(stored)),
                        ("neginf", numpy.isneginf(stored))):
        if holds.any() and not said[flag]:
            return f"{name}: {flag} stored, not admitted (said [{said['lo']}, {said['hi']}])"
    return None


@dataclass
class Round:
    """The complaints by tensor, the number of tensors compared, and what was seen of
    each op."""

    complaints: dict[str, str] = field(default_factory=dict)
    compared: int = 0
    counts: soundness_counts.Counts = field(default_factory=soundness_counts.Counts)

    def update(self, other):
        self.complaints.update(other.complaints)
        self.compared += other.compared
        self.counts.update(other.counts)


def check_round(cases, seed, format, repeats=1, samples=12, opset=20):
    draw = draw_cases(Draw(seed, format, opset), cases, seed, repeats)
    model = draw.model()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "model.onnx"
        path.write_bytes(model.SerializeToString())
        ranges = dump_ranges(path, draw.boxes, format.precision)
        ops = soundness_counts.read_ops(path)
    stored = format.name == "fp32"
    running = session(model if stored else with_rounding(model, format))
    names = [output.name for output in running.get_outputs()]
    seen, lists = collections.defaultdict(list), collections.defaultdict(list)
    for feed in draw.samples(samples):
        if not stored:
            feed = {name: format.round(value) if value.dtype == numpy.float32 else value
                    for name, value in feed.items()}
        for name, value in zip(names, running.run(None, feed)):
            if isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub":
                seen[name.removesuffix("/computed")].append(value.ravel())
            elif isinstance(value, list):
                # Its elements are compared where they are taken out.
                lists[name].append(sum(element.size for element in value))
    result = Round()
    for name, sizes in lists.items():
        result.counts.add(format.name, ops.get(name), ranges, len(sizes), sum(sizes))
    for name, values in seen.items():
        computed = numpy.concatenate(values)
        # What the policy leaves alone is not rounded.
        rounds = computed.dtype == numpy.float32 and ranges[name]["dtype"] != "f32"
        problem = outside(name, computed, format.round(computed) if rounds else computed,
                          ranges[name])
        result.compared += len(values)
        if problem:
            result.complaints[name] = problem
        result.counts.add(format.name, ops.get(name), ranges, len(values), computed.size)
    return result

"""Sampled models against the bounds that mpopt states for them.

A round is one ONNX model of many small graphs, one a case, with boxes, shapes
and attributes drawn anew. ONNX Runtime runs it on sampled inputs (ends of the
boxes included) with every tensor as an output, in float32 and with each result
rounded to float16; `mpopt --dump-ranges` must hold every value."""

import json
import math
import subprocess
import zlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOATS = (TensorProto.FLOAT,)


class Draw:
    """What a case builds its graph with, and all random choices."""

    def __init__(self, seed, fp16):
        self.random = numpy.random.default_rng(seed)
        self.fp16 = fp16
        self.nodes, self.inputs, self.constants, self.boxes = [], [], [], {}
        self.count = 0
        self.case = ""

    def name(self, hint):
        self.count += 1
        return f"{self.case}.{hint}{self.count}"

    # -- numbers ---------------------------------------------------------------

    def choice(self, options):
        return options[int(self.random.integers(len(options)))]

    def integer(self, lo, hi):
        return int(self.random.integers(lo, hi + 1))

    def interval(self, scale=None):
        """Ends of a box; small, wide, one-sided, degenerate and extreme ones."""
        largest = 6e4 if self.fp16 else 1e30
        kind = self.integer(0, 9)
        scale = scale or self.choice([1e-7, 1e-3, 0.5, 1, 3, 10, 80, 1e3, largest])
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

    def constant(self, values):
        name = self.name("c")
        values = numpy.asarray(values)
        if values.dtype == numpy.float64:
            values = values.astype(numpy.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, shape, scale=None):
        lo, hi = self.interval(scale)
        return self.constant(self.random.uniform(lo, hi, shape).astype(numpy.float32))

    def node(self, op, *inputs, outputs=1, **attributes):
        names = [self.name(op) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    # -- result ----------------------------------------------------------------

    def model(self, opset=20):
        outputs = [o for node in self.nodes for o in node.output]
        graph = helper.make_graph(
            self.nodes, "g", self.inputs,
            [helper.make_empty_tensor_value_info(o) for o in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                 ir_version=9)

    def samples(self, count):
        """Feeds: ends first, then random points of the boxes."""
        for number in range(count):
            feed = {}
            for name, (lo, hi, shape, dtype) in self.boxes.items():
                values = self.random.uniform(lo, hi, shape)
                if number == 0:
                    values = numpy.full(shape, lo)
                elif number == 1:
                    values = numpy.full(shape, hi)
                elif number % 3 == 0:
                    ends = self.random.integers(0, 4, shape)
                    values = numpy.where(ends == 0, lo, numpy.where(ends == 1, hi, values))
                    if lo <= 0 <= hi:
                        values = numpy.where(ends == 2, 0.0, values)
                if numpy.issubdtype(dtype, numpy.integer):
                    values = numpy.floor(values)
                if dtype == numpy.bool_:
                    values = values >= 0.5
                feed[name] = numpy.clip(values, lo, hi).astype(dtype)
            yield feed


def draw_round(cases, seed, fp16):
    draw = Draw(seed, fp16)
    for name, build in cases.items():
        draw.case = name
        # Independent of the other cases, so that adding one changes none.
        draw.random = numpy.random.default_rng([seed, zlib.crc32(name.encode())])
        build(draw)
    return draw


def with_rounding(model):
    """Every float result goes through float16; `NAME/computed` is what it was
    before."""
    types = {}
    inferred = onnx.shape_inference.infer_shapes(model)
    for value in list(inferred.graph.value_info) + list(inferred.graph.output):
        types[value.name] = value.type.tensor_type.elem_type
    rounded = onnx.ModelProto()
    rounded.CopyFrom(model)
    graph = rounded.graph
    del graph.node[:]
    del graph.output[:]
    for constant in graph.initializer:
        if constant.data_type in FLOATS:
            with numpy.errstate(over="ignore"):
                values = numpy_helper.to_array(constant).astype(numpy.float16)
            constant.CopyFrom(numpy_helper.from_array(
                values.astype(numpy.float32), constant.name))
    for node in model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        del copy.output[:]
        graph.node.append(copy)
        for name in node.output:
            if types.get(name) not in FLOATS:
                graph.node[-1].output.append(name)
            else:
                graph.node[-1].output.append(name + "/computed")
                graph.output.append(helper.make_empty_tensor_value_info(name + "/computed"))
        for name in node.output:
            if types.get(name) in FLOATS:
                graph.node.extend([
                    helper.make_node("Cast", [name + "/computed"], [name + "/half"],
                                     to=TensorProto.FLOAT16),
                    helper.make_node("Cast", [name + "/half"], [name], to=TensorProto.FLOAT)])
            graph.output.append(helper.make_empty_tensor_value_info(name))
    return rounded


def session(model):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def dump_ranges(mpopt, model, boxes, precision, folder):
    path, ranges = folder / "model.onnx", folder / "ranges.json"
    path.write_bytes(model.SerializeToString())
    command = [mpopt, "--check", path, "--precision", precision, "--target", "ort-cpu",
               "--fail-on", "never", "--dump-ranges", ranges, "-o", folder / "report.txt"]
    for name, (lo, hi, _, _) in boxes.items():
        command += ["--input", f"{name}={float(lo)!r}:{float(hi)!r}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(ranges.read_text())["tensors"]


def outside(name, computed, stored, said):
    """Why these values are not in what was said, or None. Values were rounded to
    float32, the bounds were not."""
    finite = computed[numpy.isfinite(computed)]
    with numpy.errstate(over="ignore"):
        lo, hi = numpy.float32(float(said["lo"])), numpy.float32(float(said["hi"]))
    if finite.size and not (lo <= finite.min() and finite.max() <= hi):
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


def check_round(mpopt, cases, seed, fp16, folder, samples=12):
    """The complaints of one round, and how many tensors were compared."""
    draw = draw_round(cases, seed, fp16)
    model = draw.model()
    ranges = dump_ranges(mpopt, model, draw.boxes, "fp16" if fp16 else "as-is", folder)
    running = session(with_rounding(model) if fp16 else model)
    names = [output.name for output in running.get_outputs()]
    complaints, compared = {}, 0
    for feed in draw.samples(samples):
        if fp16:
            feed = {name: numpy.float32(numpy.float16(value))
                    if value.dtype == numpy.float32 else value
                    for name, value in feed.items()}
        values = dict(zip(names, running.run(None, feed)))
        for name, stored in values.items():
            # A list's elements are compared where they are taken out.
            if (name.endswith("/computed") or not isinstance(stored, numpy.ndarray)
                    or not numpy.issubdtype(stored.dtype, numpy.number)):
                continue
            computed = values.get(name + "/computed", stored)
            if fp16 and ranges[name]["dtype"] == "f32":
                stored = computed  # what the policy leaves alone is not rounded
            compared += 1
            problem = outside(name, computed, stored, ranges[name])
            if problem:
                complaints.setdefault(name, problem)
    return list(complaints.values()), compared

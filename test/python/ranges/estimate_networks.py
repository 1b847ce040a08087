"""Small networks whose estimates test_estimates.py compares with what they do.

Each is a function `build(net, variant)` with seeded random weights; a network's
variants are the same one with and without a numeric hazard in FP16. None of them
follows a model that the estimates were developed on: they are here to notice
rules that fit one set of models only."""

import numpy
from onnx import TensorProto, helper, numpy_helper

NETWORKS = {}


def network(*variants):
    def register(build):
        for variant in variants:
            NETWORKS[f"{build.__name__}-{variant}"] = (build, variant)
        return build
    return register


class Net:
    """A graph being built, and how its inputs are distributed."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.inputs, self.constants = [], [], []
        self.distributions = {}

    # -- graph -----------------------------------------------------------------

    def input(self, shape, mean=0.0, std=1.0, lo=None, hi=None):
        """Normal, cut at six deviations, or uniform on [lo, hi]."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        uniform = lo is not None
        if uniform:
            mean, std = (lo + hi) / 2, (hi - lo) / 12 ** 0.5
        else:
            lo, hi = mean - 6 * std, mean + 6 * std
        self.distributions[name] = (lo, hi, mean, std, tuple(shape), uniform)
        return name

    def constant(self, values, kind=numpy.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, kind), name))
        return name

    def integers(self, *values):
        return self.constant(values, numpy.int64)

    def normal(self, *shape, scale=1.0):
        return self.random.normal(0, scale, shape)

    def op(self, kind, *inputs, outputs=1, **attributes):
        """Numbers and arrays become constants."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        results = [f"{kind.lower()}{len(self.nodes)}" + (f".{i}" if i else "")
                   for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, names, results, **attributes))
        return results[0] if outputs == 1 else results

    def linear(self, x, inputs, outputs, gain=1.0, bias=0.1):
        y = self.op("MatMul", x, self.normal(inputs, outputs, scale=gain / inputs ** 0.5))
        return self.op("Add", y, self.normal(outputs, scale=bias))

    def reduce(self, kind, x, *axes, keepdims=1):
        return self.op(kind, x, self.integers(*axes), keepdims=keepdims)

    def reshape(self, x, *shape):
        return self.op("Reshape", x, self.integers(*shape))

    def slice(self, x, begin, end, axis):
        return self.op("Slice", x, self.integers(begin), self.integers(end), self.integers(axis))

    def layer_norm(self, x, width):
        """As primitives, with a gain that training moved off 1."""
        u = self.op("Sub", x, self.reduce("ReduceMean", x, -1))
        variance = self.reduce("ReduceMean", self.op("Mul", u, u), -1)
        y = self.op("Div", u, self.op("Sqrt", self.op("Add", variance, 1e-5)))
        gain = numpy.exp(self.normal(width, scale=0.2))
        return self.op("Add", self.op("Mul", y, gain), self.normal(width, scale=0.1))

    # -- result ----------------------------------------------------------------

    def model(self):
        outputs = [name for node in self.nodes for name in node.output]
        graph = helper.make_graph(
            self.nodes, "g", self.inputs,
            [helper.make_empty_tensor_value_info(name) for name in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)],
                                 ir_version=9)

    def sample(self, random):
        feed = {}
        for name, (lo, hi, mean, std, shape, uniform) in self.distributions.items():
            values = random.uniform(lo, hi, shape) if uniform else random.normal(mean, std, shape)
            feed[name] = numpy.clip(values, lo, hi).astype(numpy.float32)
        return feed


@network("unit", "metres")
def radiance_field(net, variant):
    """Positional encoding in octaves, an MLP, then alpha compositing along rays."""
    rays, samples = 16, 24
    reach = {"unit": 1.0, "metres": 300.0}[variant]  # 300 * 2^9 pi is past FP16
    points = net.input((rays, samples, 3), lo=-reach, hi=reach)
    octaves = numpy.float32(numpy.pi * 2.0 ** numpy.arange(10))
    angles = net.op("Mul", net.op("Unsqueeze", points, net.integers(-1)), octaves)
    angles = net.reshape(angles, rays, samples, 30)
    x = net.op("Concat", net.op("Sin", angles), net.op("Cos", angles), axis=-1)
    for layer in range(3):
        x = net.op("Relu", net.linear(x, 60 if layer == 0 else 64, 64, gain=1.4))
    density = net.op("Softplus", net.linear(x, 64, 1, gain=2.0))
    colour = net.op("Sigmoid", net.linear(x, 64, 3))
    opacity = net.op("Mul", net.reshape(density, rays, samples), -0.25)
    through = net.op("Exp", net.op("CumSum", opacity, net.constant(1, numpy.int64), exclusive=1))
    alpha = net.op("Sub", 1.0, net.op("Exp", opacity))
    weights = net.op("Unsqueeze", net.op("Mul", through, alpha), net.integers(-1))
    net.reduce("ReduceSum", net.op("Mul", weights, colour), 1)


@network("tame", "steep")
def coupling_flow(net, variant):
    """Affine coupling layers: y2 = x2 exp(s(x1)) + t(x1), halves swapped."""
    limit = {"tame": 0.4, "steep": 6.0}[variant]
    x = net.input((64, 12))
    logdet = None
    for _ in range(5):
        left, right = net.op("Split", x, outputs=2, axis=-1, num_outputs=2)
        hidden = net.op("Tanh", net.linear(left, 6, 32, gain=1.0))
        scale = net.op("Mul", net.op("Tanh", net.linear(hidden, 32, 6)), limit)
        shift = net.linear(hidden, 32, 6)
        right = net.op("Add", net.op("Mul", right, net.op("Exp", scale)), shift)
        total = net.reduce("ReduceSum", scale, -1)
        logdet = net.op("Add", logdet, total) if logdet else total
        x = net.op("Concat", right, left, axis=-1)
    energy = net.op("Mul", net.reduce("ReduceSumSquare", x, -1), -0.5)
    net.op("Add", energy, logdet)


@network("soft", "hard")
def pair_potential(net, variant):
    """Lennard-Jones energies of all pairs, as powers of an inverse square."""
    softening = {"soft": 1.0, "hard": 0.05}[variant]
    at = net.input((4, 12, 3), std=2.0)
    apart = net.op("Sub", net.op("Unsqueeze", at, net.integers(2)),
                   net.op("Unsqueeze", at, net.integers(1)))
    square = net.reduce("ReduceSum", net.op("Mul", apart, apart), -1, keepdims=0)
    inverse = net.op("Reciprocal", net.op("Add", square, softening))
    sixth = net.op("Pow", inverse, 3.0)
    twelfth = net.op("Mul", sixth, sixth)
    energy = net.op("Mul", net.op("Sub", twelfth, sixth), 4.0)
    away = numpy.float32(1 - numpy.eye(12))
    net.reduce("ReduceSum", net.op("Mul", energy, away), 1, 2)


@network("short", "long")
def linear_attention(net, variant):
    """elu(x) + 1 features, running sums of k v^T, a gate."""
    steps = {"short": 16, "long": 256}[variant]
    width = 16
    x = net.layer_norm(net.input((1, steps, width)), width)
    q, k = (net.op("Add", net.op("Elu", net.linear(x, width, width)), 1.0) for _ in range(2))
    v = net.linear(x, width, width, gain=1.0 if variant == "short" else 300.0)
    outer = net.op("Mul", net.op("Unsqueeze", k, net.integers(3)),
                   net.op("Unsqueeze", v, net.integers(2)))
    axis = net.constant(1, numpy.int64)
    state = net.op("CumSum", outer, axis)
    above = net.op("Einsum", q, state, equation="btd,btdv->btv")
    below = net.op("Einsum", q, net.op("CumSum", k, axis), equation="btd,btd->bt")
    mixed = net.op("Div", above, net.op("Unsqueeze", below, net.integers(-1)))
    gate = net.op("Sigmoid", net.linear(x, width, width))
    net.linear(net.op("Mul", mixed, gate), width, width)


@network("wide", "narrow")
def mixture_density(net, variant):
    """Gaussian mixture head: learned log-deviations, logsumexp over components."""
    narrow = variant == "narrow"
    x, y = net.input((32, 8)), net.input((32, 1))
    h = net.op("Relu", net.linear(net.op("Relu", net.linear(x, 8, 48, 1.4)), 48, 48, 1.4))
    logits, mean = net.linear(h, 48, 6), net.linear(h, 48, 6)
    log_deviation = net.linear(h, 48, 6, gain=1.5)
    if narrow:
        log_deviation = net.op("Sub", log_deviation, 4.0)
    z = net.op("Div", net.op("Sub", y, mean), net.op("Exp", log_deviation))
    square = net.op("Mul", net.op("Mul", z, z), -0.5)
    density = net.op("Sub", net.op("Sub", square, log_deviation), 0.919)
    joint = net.op("Add", density, net.op("LogSoftmax", logits, axis=-1))
    net.op("Neg", net.reduce("ReduceLogSumExp", joint, -1))


@network("plain", "large")
def capsules(net, variant):
    """Votes, three rounds of routing by agreement, squash."""
    lower, upper, size = 24, 6, 8
    gain = {"plain": 1.0, "large": 200.0}[variant]
    u = net.input((2, lower, 1, 1, size))
    votes = net.op("MatMul", u, net.normal(1, lower, upper, size, size, scale=gain / size ** 0.5))
    votes = net.reshape(votes, 2, lower, upper, size)
    agreement = numpy.zeros((2, lower, upper, 1), numpy.float32)
    for turn in range(3):
        coupling = net.op("Softmax", agreement, axis=2)
        s = net.reduce("ReduceSum", net.op("Mul", coupling, votes), 1)
        square = net.reduce("ReduceSumSquare", s, -1)
        factor = net.op("Div", square, net.op("Add", square, 1.0))
        v = net.op("Mul", factor, net.op("Div", s, net.op("Sqrt", net.op("Add", square, 1e-7))))
        if turn < 2:
            match = net.reduce("ReduceSum", net.op("Mul", votes, v), -1)
            agreement = net.op("Add", agreement, match)


@network("trained", "hot")
def generator(net, variant):
    """Transposed convolutions with batch and pixel normalisation, tanh."""
    gain = {"trained": 1.0, "hot": 4e3}[variant]
    z = net.input((2, 32))
    x = net.reshape(net.linear(z, 32, 32 * 16), 2, 32, 4, 4)
    channels = 32
    for layer in range(3):
        weight = net.normal(channels, channels // 2, 4, 4, scale=(4 * channels) ** -0.5)
        x = net.op("ConvTranspose", x, weight * (gain if layer == 1 else 1), strides=[2, 2],
                   pads=[1, 1, 1, 1])
        channels //= 2
        if layer == 0:
            x = net.op("BatchNormalization", x, numpy.exp(net.normal(channels, scale=0.2)),
                       net.normal(channels, scale=0.1), net.normal(channels, scale=0.1),
                       numpy.exp(net.normal(channels, scale=0.2)))
            x = net.op("LeakyRelu", x, alpha=0.2)
        elif layer == 1:
            mean = net.reduce("ReduceMean", net.op("Mul", x, x), 1)
            x = net.op("LeakyRelu", net.op("Div", x, net.op("Sqrt", net.op("Add", mean, 1e-6))))
    net.op("Tanh", net.op("Conv", x, net.normal(3, channels, 3, 3, scale=(9 * channels) ** -0.5),
                          pads=[1, 1, 1, 1]))


@network("speech", "integers", "quiet")
def log_mel(net, variant):
    """Window, DFT by two matrices, power, mel filters, log, mean removed."""
    size, hop, bands = 128, 64, 20
    deviation = {"speech": 0.1, "integers": 3000.0, "quiet": 4e-6}[variant]
    wave = net.input((1, 1, 1024), std=deviation)
    window = numpy.hanning(size)
    at = numpy.arange(size)[:, None] * numpy.arange(size // 2 + 1)[None] * 2 * numpy.pi / size
    powers = []
    for basis in (numpy.cos(at), numpy.sin(at)):
        filters = (basis * window[:, None]).T[:, None]
        part = net.op("Conv", wave, filters, strides=[hop])
        powers.append(net.op("Mul", part, part))
    power = net.op("Add", *powers)
    centres = numpy.linspace(0, size // 2, bands + 2)
    bins = numpy.arange(size // 2 + 1)
    triangles = [numpy.interp(bins, centres[i:i + 3], [0, 1, 0]) for i in range(bands)]
    mel = net.op("MatMul", numpy.stack(triangles) / size, power)
    log = net.op("Log", net.op("Add", mel, 1e-5))
    net.op("Sub", log, net.reduce("ReduceMean", log, -1))


@network("metres", "millimetres")
def kalman_step(net, variant):
    """Predict and update with a written-out 2 x 2 inverse."""
    unit = {"metres": 1.0, "millimetres": 1e3}[variant]
    state, seen = net.input((8, 4, 1), std=3 * unit), net.input((8, 2, 1), std=3 * unit)
    covariance = (numpy.eye(4) * 0.5 + 0.1) * unit ** 2
    motion = numpy.eye(4) + 0.1 * numpy.eye(4, k=2)
    observe = numpy.eye(2, 4)
    noise = net.op("Softplus", net.linear(net.reshape(seen, 8, 2), 2, 2, 0.1 / unit))
    noise = net.op("Mul", net.op("Unsqueeze", noise, net.integers(-1)), numpy.eye(2) * unit ** 2)
    predicted = net.op("MatMul", motion, state)
    spread = net.op("MatMul", net.op("MatMul", motion, covariance), motion.T)
    spread = net.op("Add", spread, numpy.eye(4) * 0.05 * unit ** 2)
    s = net.op("Add", net.op("MatMul", net.op("MatMul", observe, spread), observe.T), noise)
    a, b, c, d = (net.slice(net.slice(s, i, i + 1, 1), j, j + 1, 2)
                  for i in (0, 1) for j in (0, 1))
    determinant = net.op("Sub", net.op("Mul", a, d), net.op("Mul", b, c))
    top = net.op("Concat", d, net.op("Neg", b), axis=2)
    bottom = net.op("Concat", net.op("Neg", c), a, axis=2)
    inverse = net.op("Div", net.op("Concat", top, bottom, axis=1), determinant)
    gain = net.op("MatMul", net.op("MatMul", spread, observe.T), inverse)
    surprise = net.op("Sub", seen, net.op("MatMul", observe, predicted))
    net.op("Add", predicted, net.op("MatMul", gain, surprise))


@network("plain", "unscaled")
def fourier_operator(net, variant):
    """Spectral convolutions by DFT matrices beside pointwise ones."""
    points, modes, width = 64, 12, 12
    at = numpy.arange(points)[:, None] * numpy.arange(modes)[None] * 2 * numpy.pi / points
    forward = 1.0 if variant == "unscaled" else 1 / points
    x = net.linear(net.input((2, points, 2)), 2, width)
    for layer in range(3):
        channels_first = net.op("Transpose", x, perm=[0, 2, 1])
        real = net.op("MatMul", channels_first, numpy.cos(at) * forward)
        imaginary = net.op("MatMul", channels_first, -numpy.sin(at) * forward)
        a, b = (net.normal(width, width, modes, scale=width ** -0.5) for _ in range(2))
        mix = "bim,iom->bom"
        real, imaginary = (
            net.op("Sub", net.op("Einsum", real, a, equation=mix),
                   net.op("Einsum", imaginary, b, equation=mix)),
            net.op("Add", net.op("Einsum", real, b, equation=mix),
                   net.op("Einsum", imaginary, a, equation=mix)))
        back = net.op("Sub", net.op("MatMul", real, 2 * numpy.cos(at).T),
                      net.op("MatMul", imaginary, 2 * numpy.sin(at).T))
        x = net.op("Add", net.op("Transpose", back, perm=[0, 2, 1]), net.linear(x, width, width))
        if layer < 2:
            x = net.op("Gelu", x)
    net.linear(x, width, 1)


@network("near", "far")
def kernel_machine(net, variant):
    """Gaussian kernels of distances to centres, normalised by their sum."""
    width, centres = 10, 40
    reach = {"near": 0.4, "far": 1.5}[variant]
    x = net.input((32, 1, width), std=reach)
    apart = net.op("Sub", x, net.normal(1, centres, width, scale=reach))
    square = net.reduce("ReduceSum", net.op("Mul", apart, apart), -1, keepdims=0)
    kernel = net.op("Exp", net.op("Neg", square))
    total = net.op("Add", net.reduce("ReduceSum", kernel, -1), 1e-3)
    net.linear(net.op("Div", kernel, total), centres, 4)


@network("shallow", "deep")
def residual_mlp(net, variant):
    """Residual blocks without a norm: the stream grows with depth."""
    width = 48
    x = net.input((64, width))
    for _ in range({"shallow": 4, "deep": 16}[variant]):
        h = net.op("Relu", net.linear(x, width, 2 * width, gain=2.0))
        x = net.op("Add", x, net.linear(h, 2 * width, width, gain=1.4))
    net.op("Softmax", net.linear(x, width, 10), axis=-1)


@network("short", "long")
def decaying_scan(net, variant):
    """A diagonal state space with its recurrence written out."""
    steps, width = {"short": 8, "long": 40}[variant], 16
    u = net.linear(net.input((4, steps, 8)), 8, width)
    decay = net.op("Exp", net.op("Neg", net.op("Softplus", net.normal(width))))
    state, power, outputs = None, None, []
    for step in range(steps):
        now = net.reshape(net.slice(u, step, step + 1, 1), 4, width)
        state = net.op("Add", net.op("Mul", state, decay), now) if state else now
        power = net.op("Mul", power, decay) if power else decay
        outputs.append(net.op("Unsqueeze", state, net.integers(1)))
    y = net.op("Concat", *outputs, axis=1)
    net.op("Mul", y, power)

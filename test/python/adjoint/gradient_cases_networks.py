"""Attention, recurrent networks, quantisation and training."""

import numpy as np
from gradient_cases import CASES, case

# -- attention -------------------------------------------------------------------------


@case
def attention(g):
    return g.op("attention", g.normal(1, 2, 3, 4), g.normal(1, 2, 5, 4), g.normal(1, 2, 5, 3))


@case
def attention_causal(g):
    return g.op("attention", g.normal(1, 3, 8), g.normal(1, 3, 8), g.normal(1, 3, 8), None, g.normal(3, 3),
                num_heads=2, is_causal=None, scale=0.3, softcap=2.0)


@case
def attention_groups(g):
    return g.op("attention", g.normal(1, 3, 8), g.normal(1, 5, 4), g.normal(1, 5, 4), g.normal(3, 5), num_heads=4,
                kv_num_heads=2)


@case
def attention_masked(g):
    mask = np.tril(np.ones((3, 3), bool))
    return g.op("attention", g.normal(2, 3, 4), g.normal(2, 3, 4), g.normal(2, 3, 4), g.constant(mask))


@case
def attention_sink(g):
    return g.op("attention", g.normal(1, 2, 3, 4), g.normal(1, 2, 3, 4), g.normal(1, 2, 3, 4), None, None,
                g.normal(1, 2, 2, 4), g.normal(1, 2, 2, 4), None, g.normal(2), left_window=2)


for _interleaved in (False, True):
    CASES[f"rotary_{_interleaved}"] = lambda g, i=_interleaved: g.op(
        "rotary_embedding", g.normal(1, 2, 3, 6), g.input(np.cos(np.arange(10.0)).reshape(5, 2), False),
        g.input(np.sin(np.arange(10.0)).reshape(5, 2), False), g.ints([[0, 4, 2]]), interleaved=i, rotary_dim=4)

# -- recurrent networks ----------------------------------------------------------------


def network(name, gates, activations, more=0, **attributes):
    directions = 2 if attributes.get("direction") == "bidirectional" else 1

    def build(g):
        operands = [g.normal(3, 2, 3), g.normal(directions, gates * 4, 3, scale=0.5),
                    g.normal(directions, gates * 4, 4, scale=0.5), g.normal(directions, gates * 8, scale=0.3), None,
                    g.normal(directions, 2, 4)]
        operands += [g.normal(directions, 2, 4)] * (more > 0)
        operands += [g.normal(directions, 12)] * (more > 1)
        made = g.op(name, *operands, hidden_size=4, activations=activations * directions, **attributes)
        return g.op("add", g.op("reduce_sum", made[0], axes=[], keep_dims=False),
                    g.op("square", made[-1]))
    CASES["_".join([name, *map(str, attributes.values())])] = build


network("rnn", 1, ["Tanh"])
network("rnn", 1, ["Relu"], direction="reverse")
network("lstm", 4, ["Sigmoid", "Tanh", "Tanh"], more=1)
network("lstm", 4, ["Sigmoid", "Tanh", "Tanh"], more=2, direction="bidirectional")
network("gru", 3, ["Sigmoid", "Tanh"], linear_before_reset=True)
network("gru", 3, ["Sigmoid", "Tanh"], direction="bidirectional")


@case
def lstm_output_only(g):
    return g.op("lstm", g.normal(2, 1, 2), g.normal(1, 12, 2), g.normal(1, 12, 3), hidden_size=3,
                activations=["Sigmoid", "Tanh", "Tanh"])[0]


@case
def rnn_cell(g):
    return g.op("rnn_cell", g.normal(2, 3), g.normal(2, 4), g.normal(4, 3), g.normal(4, 4), g.normal(4), g.normal(4))


@case
def lstm_cell(g):
    h, c = g.op("lstm_cell", g.normal(2, 3), g.normal(2, 4), g.normal(2, 4), g.normal(16, 3), g.normal(16, 4),
                g.normal(16), None)
    return g.op("mul", h, c)


@case
def lstm_cell_state(g):
    return g.op("lstm_cell", g.normal(2, 3), g.normal(2, 4), g.normal(2, 4), g.normal(16, 3), g.normal(16, 4))[1]


@case
def gru_cell(g):
    return g.op("gru_cell", g.normal(2, 3), g.normal(2, 4), g.normal(12, 3), g.normal(12, 4), g.normal(12), g.normal(12))

# -- regions and samples ---------------------------------------------------------------


@case
def roi_align(g):
    return g.op("roi_align", g.normal(2, 2, 5, 6), g.constant(np.array([[0.3, 0.2, 3.7, 4.1], [1, 1, 4.5, 2.5]])),
                g.ints([1, 0]), output_height=2, output_width=2, sampling_ratio=2)


@case
def max_roi_pool(g):
    return g.op("max_roi_pool", g.distinct(2, 2, 5, 6), g.constant(np.array([[0, 0.0, 1, 3, 4], [1, 2, 0, 5, 2]])),
                pooled_shape=[2, 2])


@case
def stft(g):
    return g.op("stft", g.normal(2, 12, 1), g.constant(np.int64(3)), g.normal(4))


@case
def deform_conv(g):
    return g.op("deform_conv", g.normal(1, 4, 5, 5), g.normal(2, 2, 2, 2), g.normal(1, 16, 4, 4, scale=0.4), g.normal(2),
                g.uniform(0.2, 1, 1, 8, 4, 4), strides=[1, 1], dilations=[1, 1], pads=[0, 0, 0, 0], group=2,
                offset_group=2)


@case
def range_of_floats(g):
    return g.op("range", g.input(np.array(0.5)), g.constant(3.0), g.input(np.array(0.4)))


# -- quantisation ----------------------------------------------------------------------


@case
def fake_quantize(g):
    return g.op("fake_quantize", g.normal(3, 4, scale=2), g.constant(0.3), quant_min=-4, quant_max=5)


@case
def fake_quantize_by_channel(g):
    return g.op("fake_quantize", g.normal(3, 4, scale=2), g.constant(np.array([0.1, 0.2, 0.5, 1.0])),
                g.constant(np.array([0, 1, 0, -1])), quant_min=-4, quant_max=5, axis=1)

# -- training --------------------------------------------------------------------------


@case
def loss_scale(g):
    return g.op("loss_scale", g.normal(2, 3), g.constant(8.0), divide=True)


@case
def global_norm(g):
    return g.op("global_norm", g.normal(2, 3), g.normal(4))

# -- graphs ----------------------------------------------------------------------------


@case
def fan_out(g):
    x = g.normal(3, 4)
    y = g.op("tanh", x)
    return g.op("add", g.op("mul", y, x), g.op("exp", y))


@case
def dead_branch(g):
    x = g.normal(2, 3)
    g.op("log", g.op("square", x))
    return g.op("sin", x)

"""Cases of test_soundness.py: recurrent layers and cells."""

import numpy as np
from soundness_family import Cases
from soundness_operands import sigmoid, signed

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- layers ----------------------------------------------------------------------------


def _recurrent(draw, op, gates, activations, outputs, **attributes):
    steps, hidden = draw.choice([1, 3, 9]), 4
    scale = draw.choice([0.3, 1, 5])
    x = draw.box((steps, 2, 3), scale=draw.choice([0.5, 3, 30]))
    directions = draw.choice([1, 2])
    inputs = [x, draw.weights((directions, gates * hidden, 3), scale),
              draw.weights((directions, gates * hidden, hidden), scale),
              draw.weights((directions, 2 * gates * hidden), scale)]
    if draw.integer(0, 1):
        inputs += ["", draw.box((directions, 2, hidden), scale=2)]
        if op == "LSTM":
            inputs.append(draw.box((directions, 2, hidden), scale=5))
    draw.node(op, *inputs, outputs=outputs, hidden_size=hidden,
              direction="bidirectional" if directions == 2 else "forward",
              activations=activations * directions, **attributes)


@onnx_case
def rnn(draw):
    for activation in ("Tanh", "Relu", "Sigmoid", "HardSigmoid"):
        _recurrent(draw, "RNN", 1, [activation], 2)


@onnx_case
def lstm(draw):
    _recurrent(draw, "LSTM", 4, ["Sigmoid", "Tanh", "Tanh"], 3)
    _recurrent(draw, "LSTM", 4, ["Sigmoid", "Tanh", "Tanh"], 3, input_forget=1)
    _recurrent(draw, "LSTM", 4, ["HardSigmoid", "Tanh", "Tanh"], 3)


@onnx_case
def quantised_lstm(draw):
    steps, hidden = draw.choice([1, 3, 6]), 4
    x = draw.box((steps, 2, 3), scale=draw.choice([0.5, 3, 30]))
    directions = draw.choice([1, 2])
    by_column = directions == 1 and draw.integer(0, 1) == 1

    def codes(rows):
        values = draw.random.integers(-128, 128, (directions, rows, 4 * hidden))
        return draw.constant(values.astype(np.int8))

    def scales():
        shape = (1, 4 * hidden) if by_column else (directions,)
        zeros = np.zeros(shape) if by_column else draw.random.integers(-9, 9, shape)
        values = draw.random.uniform(0.3, 1, shape) * draw.choice([1e-3, 0.01, 0.1])
        return (draw.constant(draw.format.round(values.astype(np.float32)), exact=True),
                draw.constant(zeros.astype(np.int8)))
    w, r = codes(3), codes(hidden)
    bias = draw.choice(["", draw.weights((directions, 8 * hidden), 1)])
    draw.node("DynamicQuantizeLSTM", x, w, r, bias, "", "", "", "", *scales(), *scales(),
              outputs=3, hidden_size=hidden, domain="com.microsoft",
              direction="bidirectional" if directions == 2 else "forward")


@onnx_case
def gru(draw):
    _recurrent(draw, "GRU", 3, ["Sigmoid", "Tanh"], 2)
    _recurrent(draw, "GRU", 3, ["Sigmoid", "Relu"], 2, linear_before_reset=1)


# -- gates, activations and states at the edges ----------------------------------------


@onnx_case
def infinite_weights(draw):
    """-3.4e38 is -Inf in FP16: tanh is -1, whatever the finite rows say."""
    least = -float(np.finfo(np.float32).max)
    x = draw.box((1, 3, 6), 0, draw.choice([0.5, 3e4]))
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        draw.node(op, x, draw.constant(np.full((1, gates * 2, 6), least)),
                  signed(draw, (1, gates * 2, 2)), hidden_size=2, outputs=2)


@onnx_case
def infinite_inputs(draw):
    x = draw.node("Mul", draw.box((2, 2, 3), -3, 3), draw.constant(np.full(3, 2e38)))
    for activation in ("Tanh", "HardSigmoid", "Relu"):
        draw.node("RNN", x, signed(draw, (1, 2, 3)), signed(draw, (1, 2, 2)), hidden_size=2,
                  activations=[activation], outputs=2)


@onnx_case
def coupled_gates(draw):
    """The forget gate is 1 - i: the cell is a mean of the two."""
    x, state = draw.box((3, 2, 3), -3, 3), draw.box((1, 2, 2), 20, 70)
    draw.node("LSTM", x, signed(draw, (1, 8, 3), 5), signed(draw, (1, 8, 2), 5), "", "",
              draw.box((1, 2, 2), -1, 1), state, hidden_size=2, input_forget=1, outputs=3,
              activations=[draw.choice(["HardSigmoid", "Sigmoid"]), "Tanh", "Tanh"])


@onnx_case
def open_gates(draw):
    x = draw.box((2, 3, 4), -0.05, 0)
    draw.node("LSTM", x, signed(draw, (1, 4, 4)), signed(draw, (1, 4, 1)), "", "",
              draw.box((1, 3, 1), 0, 0.25), "", signed(draw, (1, 3), 20), hidden_size=1,
              activations=["HardSigmoid", "Relu", "HardSigmoid"], outputs=3,
              input_forget=draw.integer(0, 1))


@onnx_case
def numbers_of_activations(draw):
    """Those that take none read none of the list."""
    x = draw.box((2, 2, 3), -5, 5)
    draw.node("GRU", x, signed(draw, (1, 6, 3)), signed(draw, (1, 6, 2)), hidden_size=2,
              activations=["Sigmoid", "HardSigmoid"], activation_alpha=[2.0],
              activation_beta=[0.25], outputs=2)


@onnx_case
def other_activations(draw):
    """Nothing is known of cells with activations that no exporter writes; the lit test
    says so."""
    x = draw.box((1, 2, 3), 0, 100)
    for activation in ("Softplus", "ThresholdedRelu", "Softsign", "Elu", "LeakyRelu"):
        draw.node("RNN", x, signed(draw, (1, 2, 3)), signed(draw, (1, 2, 2)), hidden_size=2,
                  activations=[activation], outputs=2)


@onnx_case
def tiny_states(draw):
    """A tanh of 1.7e-7 is 2.4e-7 in ONNX Runtime's cells, and the next step times 90."""
    x = draw.box((2, 3, 4), -draw.choice([1e-7, 1e-9]), 0)
    for activation in ("Tanh", "HardSigmoid"):
        draw.node("RNN", x, signed(draw, (1, 2, 4)), signed(draw, (1, 2, 2), 60),
                  hidden_size=2, activations=[activation], outputs=2)
    draw.node("LSTM", x, signed(draw, (1, 8, 4)), signed(draw, (1, 8, 2), 60), hidden_size=2,
              outputs=3)


# -- cells -----------------------------------------------------------------------------


def _cell(draw, gates):
    hidden, inputs, rows, scale = 4, 3, 2, draw.choice([0.3, 1, 5])
    operands = [draw.box((rows, inputs), scale=draw.choice([0.5, 3, 30])),
                draw.box((rows, hidden), scale=2)]
    return operands, [draw.weights((gates * hidden, inputs), scale),
                      draw.weights((gates * hidden, hidden), scale),
                      draw.weights((gates * hidden,), scale),
                      draw.weights((gates * hidden,), scale)]


@ir_case
def cells(draw):
    state, weights = _cell(draw, 1)
    activation = draw.choice(["tanh", "relu"])

    def rnn(x, h, w, r, b, c):
        z = x @ w.T + b + h @ r.T + c
        return np.tanh(z) if activation == "tanh" else np.maximum(z, 0)
    draw.op("rnn_cell", state + weights, rnn, segments=state + weights, activation=activation)

    state, weights = _cell(draw, 3)

    def gru(x, h, w, r, b, c):
        ir, iz, inew = np.split(x @ w.T + b, 3, 1)
        hr, hz, hnew = np.split(h @ r.T + c, 3, 1)
        z = sigmoid(iz + hz)
        new = np.tanh(inew + sigmoid(ir + hr) * hnew)
        return (1 - z) * new + z * h
    draw.op("gru_cell", state + weights, gru, segments=state + weights)

    state, weights = _cell(draw, 4)
    state.append(draw.box((2, 4), scale=5))

    def lstm(x, h, cell, w, r, b, c):
        i, f, g, o = np.split(x @ w.T + b + h @ r.T + c, 4, 1)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(cell), cell
    draw.op("lstm_cell", state + weights, lstm, segments=state + weights)

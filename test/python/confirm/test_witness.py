"""Inputs that `--witness` finds: ONNX Runtime overflows there, and the report names them."""

import json

import mpopt
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import helper, numpy_helper, parser
from tool import run_mpopt

BOX = ("--input", "x=-1:1", "--precision", "fp16")


class Net(torch.nn.Module):
    """Scores of which one passes FP16 at one corner of the box, by a fifth, and none of those
    that are drawn: 40 inputs add up."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.hidden = torch.nn.Linear(40, 40)
        self.out = torch.nn.Linear(40, 2)
        with torch.no_grad():
            signs = torch.sign(torch.randn(40))
            self.hidden.weight.copy_(torch.eye(40) * signs[:, None])
            self.hidden.bias.fill_(1.0)
            self.out.weight.copy_(torch.tensor([[1.2 * 65520 / 80] * 40, [1.0] * 40]))
            self.out.bias.zero_()

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def write_onnx(file):
    net = Net()
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 40] x) => (float[1, 2] y) {
          h = Gemm <transB = 1> (x, w, b)
          r = Relu (h)
          y = Gemm <transB = 1> (r, v, c)
        }""")
    for name, value in zip("wbvc", net.parameters(), strict=True):
        model.graph.initializer.append(numpy_helper.from_array(value.detach().numpy(), name))
    onnx.save(model, file)
    return file


def stored(file):
    """The model's outputs with FP16 storage, by ONNX Runtime."""
    model = onnx.load(file)
    names = {value.name for value in (*model.graph.input, *model.graph.initializer)}
    nodes, now = [], {}

    def store(name):
        now[name] = f"{name}.stored"
        nodes.append(helper.make_node("Cast", [name], [f"{name}.low"], to=onnx.TensorProto.FLOAT16))
        nodes.append(helper.make_node("Cast", [f"{name}.low"], [now[name]], to=onnx.TensorProto.FLOAT))
    for name in sorted(names):
        store(name)
    for node in model.graph.node:
        node.input[:] = [now[name] for name in node.input]
        nodes.append(node)
        store(node.output[0])
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(now["y"], onnx.TensorProto.FLOAT, [1, 2]))
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def check(model, folder, *options, status=0):
    done = run_mpopt("--check", model, *BOX, "--witness", folder, *options)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_runtime_overflows_at_the_witness(tmp_path):
    model = write_onnx(tmp_path / "m.onnx")
    found = json.loads(check(model, tmp_path / "w", "--format", "json"))["findings"]
    named = {finding["tensor"]: finding for finding in found if "witness" in finding}
    assert set(named) == {"y"}
    assert named["y"]["certainty"] == "possible"
    feed = dict(np.load(named["y"]["witness"]))
    assert np.abs(feed["x"]).max() <= 1
    assert np.isinf(stored(model).run(None, feed)[0][0, 0])


@pytest.mark.parametrize("suffix", ["pt", "pt2"])
def test_programs_have_witnesses(tmp_path, suffix):
    model, x = tmp_path / f"m.{suffix}", torch.zeros(1, 40)
    if suffix == "pt":
        torch.jit.trace(Net().eval(), x).save(str(model))
    else:
        torch.export.save(torch.export.export(Net().eval(), (x,)), str(model))
    report = mpopt.check(model, precision="fp16", inputs={"x": (-1, 1)}, input_shapes={"x": (1, 40)} if suffix == "pt" else None,
                         witness=tmp_path / "w")
    files = [finding.witness for finding in report.findings if finding.witness]
    assert len(files) == 1
    y = Net()(torch.from_numpy(np.load(files[0])["x"]))
    assert float(y.detach().abs().max()) >= 65520


def test_witnesses_fail_only_if_asked(tmp_path):
    model = write_onnx(tmp_path / "m.onnx")
    text = check(model, tmp_path / "w")
    assert "happens for the input in" in text and "witness-1.npz" in text
    check(model, tmp_path / "w", "--fail-on-witness", status=1)
    sarif = json.loads(check(model, tmp_path / "v", "--format", "sarif"))
    assert [result["properties"]["witness"] for result in sarif["runs"][0]["results"]
            if "witness" in result["properties"]] == [str(tmp_path / "v" / "witness-1.npz")]


def test_no_input_attains_what_only_bounds_allow(tmp_path):
    """The square of a difference is the sum of its parts."""
    model = parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 40] x, float[1, 40] z) => (float[1, 40] y) <float k = {40}, float two = {2}> {
          d = Sub (x, z)
          s = Mul (d, d)
          xx = Mul (x, x)
          zz = Mul (z, z)
          xz = Mul (x, z)
          t = Mul (xz, two)
          sum = Add (xx, zz)
          rest = Sub (sum, t)
          p = Sub (s, rest)
          q = Mul (p, k)
          y = Mul (q, k)
        }""")
    onnx.save(model, tmp_path / "m.onnx")
    text = check(tmp_path / "m.onnx", tmp_path / "w", "--format", "json", "--min-certainty", "possible",
                 "--fail-on", "never", "--fail-on-witness")
    assert json.loads(text)["summary"]["possible"] and '"witness"' not in text
    assert not (tmp_path / "w").exists()


def test_what_is_not_evaluated_is_a_warning(tmp_path):
    model = write_onnx(tmp_path / "m.onnx")
    graph = onnx.load(model)
    graph.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(graph, model)
    warnings = json.loads(check(model, tmp_path / "w", "--format", "json"))["warnings"]
    assert any("no witness was sought: the open shape of 'x'" in warning for warning in warnings)


def test_open_dims_have_one_size_in_a_witness(tmp_path):
    model = write_onnx(tmp_path / "m.onnx")
    graph = onnx.load(model)
    graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    graph.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(graph, model)
    findings = json.loads(check(model, tmp_path / "w", "--format", "json", "--min-certainty", "possible",
                                "--fail-on", "never"))["findings"]
    [file] = {finding["witness"] for finding in findings if "witness" in finding}
    x = np.load(file)["x"]
    assert x.shape == (1, 40)
    [y] = stored(model).run(None, {"x": x})
    assert np.isinf(y).any()

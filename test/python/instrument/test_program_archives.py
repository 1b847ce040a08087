"""mpopt --instrument on archives of exported programs that are written by hand: the text of
the program around the probes stays byte for byte, whatever it looks like."""

import copy
import hashlib
import json
import pathlib
import re
import struct
import zipfile

import pytest
from bad_input import refused, run
from written_programs import members, name, node, payload, program, tensor, write

PROBE = re.compile(r'\{"inputs":\[(?:(?!\{"inputs").)*?"target":"torch\.ops\.mpopt\.\w+\.default"\}')


def without_probes(text):
    for probe in PROBE.findall(text):
        form = next(form for form in (f", {probe}", f"{probe}, ", probe) if form in text)
        text = text.replace(form, "", 1)
    return text


def instrument(tmp_path, model, *options, indent=None, files=None):
    """The original text of the program, the one with probes, and the ledger."""
    text = json.dumps(model, indent=indent, ensure_ascii=False)
    files = members() | {"m/models/model.json": text.encode()} | (files or {})
    path, probed = write(tmp_path / "m.pt2", files), tmp_path / "probed.pt2"
    done = run("--instrument", path, "-o", probed, "--probe", "all", *options)
    assert done.returncode == 0, done.stderr
    ledger = pathlib.Path(f"{probed}.probes.json")
    with zipfile.ZipFile(probed) as archive:
        assert archive.testzip() is None
        new = archive.read("m/models/model.json").decode()
        digest = archive.read("m/extra/mpopt_ledger_sha256").decode()
    assert digest == hashlib.sha256(ledger.read_bytes()).hexdigest() and digest in new
    done = run("--strip", probed, "-o", tmp_path / "plain.pt2")
    assert done.returncode == 0 and (tmp_path / "plain.pt2").read_bytes() == path.read_bytes()
    return text, new, json.loads(ledger.read_text())


def nodes_of(text, *path):
    graph = json.loads(text)["graph_module"]["graph"]
    for index, argument in path:
        graph = graph["nodes"][index]["inputs"][argument]["arg"]["as_graph"]["graph"]
    return graph["nodes"]


def seen(nodes):
    """The nodes in order: the values of the program's own, what the probes look at."""
    order = []
    for one in nodes:
        arguments = {argument["name"]: argument["arg"] for argument in one["inputs"]}
        if one["target"] == "torch.ops.mpopt.begin_run.default":
            order.append("begin")
        elif one["target"].startswith("torch.ops.mpopt."):
            order.append(f"?{arguments['x']['as_tensor']['name']}")
        else:
            order.append(one["outputs"][0].get("as_tensor", {}).get("name", "-"))
    return order


@pytest.mark.parametrize("indent", [None, 0, 3])
def test_text_around_probes_stays(tmp_path, indent):
    model = program()
    model["note"] = {"α": '"}]', "big": 12345678901234567890, "small": 1e-7, "nodes": []}
    text, new, ledger = instrument(tmp_path, model, indent=indent)
    assert new != text and without_probes(new) == text
    assert seen(nodes_of(new)) == ["begin", "?x", "y", "?y"]
    ids = [argument["arg"]["as_int"] for one in nodes_of(new) for argument in one["inputs"]
           if argument["name"] == "id"]
    assert ids == [probe["id"] for probe in ledger["probes"]]
    checked = [run("--check", tmp_path / file, "--format", "json", "--fail-on", "never")
               for file in ("m.pt2", "probed.pt2")]
    assert all(done.returncode == 0 for done in checked)
    reports = [json.loads(done.stdout) for done in checked]
    assert reports[0]["coverage"] == reports[1]["coverage"]


def test_module_of_a_probe(tmp_path):
    """PyTorch takes a program apart by the modules of its nodes."""
    model = program()
    stack = 'L__self__,,net.Net;L__self__fc,fc,"Linear"'
    model["graph_module"]["graph"]["nodes"][0]["metadata"] = {"nn_module_stack": stack,
                                                              "stack_trace": "no"}
    _, new, _ = instrument(tmp_path, model)
    stacks = [one["metadata"].get("nn_module_stack") for one in nodes_of(new)]
    assert stacks == ["L__self__,,net.Net", "L__self__,,net.Net", stack, stack]
    assert all("stack_trace" not in one["metadata"] for one in nodes_of(new)
               if "mpopt" in one["target"])


def test_program_without_nodes(tmp_path):
    model = program()
    graph = model["graph_module"]["graph"]
    graph["nodes"], graph["outputs"] = [], [name("x")]
    model["graph_module"]["signature"]["output_specs"] = [{"user_output": {"arg": name("x")}}]
    text, new, _ = instrument(tmp_path, model)
    assert seen(nodes_of(new)) == ["begin", "?x"] and without_probes(new) == text


def body(*nodes, inputs, outputs, **tensors):
    return {"inputs": [name(one) for one in inputs], "outputs": [name(one) for one in outputs],
            "nodes": list(nodes), "tensor_values": tensors, "sym_int_values": {},
            "sym_bool_values": {}}


def branches(*graphs):
    """y = cond(c, graphs..., x) behind `c = isnan(s)`, `s = sum(x)`."""
    model = program()
    graph = model["graph_module"]["graph"]
    graph["nodes"] = [
        node("torch.ops.aten.sum.default", {"self": name("x")}, [name("s")]),
        node("torch.ops.aten.isnan.default", {"self": name("s")}, [name("c")]),
        node("torch.ops.higher_order.cond", {}, [{"as_tensors": [{"name": "y"}]}])]
    graph["nodes"][-1]["inputs"] = [
        {"name": "", "arg": argument, "kind": 1} for argument in (
            name("c"), *({"as_graph": {"name": called, "graph": graph}} for called, graph in graphs),
            {"as_tensors": [{"name": "x"}]})]
    graph["tensor_values"] |= {"s": tensor(), "c": tensor(dtype=12), "y": tensor(2, 4)}
    return model


def exp_of(value, result):
    return node("torch.ops.aten.exp.default", {"self": name(value)}, [name(result)])


def test_bodies(tmp_path):
    """A body's names are its own: `x` and `y` mean others inside of it."""
    first = body(exp_of("x", "y"), inputs=["x"], outputs=["y"], x=tensor(2, 4), y=tensor(2, 4))
    second = body(exp_of("z", "x"), exp_of("x", "y"), inputs=["z"], outputs=["y"], z=tensor(2, 4),
                  x=tensor(2, 4), y=tensor(2, 4))
    text, new, ledger = instrument(tmp_path, branches(("a", first), ("b", second)))
    assert without_probes(new) == text
    assert seen(nodes_of(new)) == ["begin", "?x", "s", "?s", "c", "-", "?y"]
    at = [index for index, one in enumerate(nodes_of(new)) if "cond" in one["target"]]
    assert seen(nodes_of(new, (at[0], 1))) == ["y", "?y"]
    assert seen(nodes_of(new, (at[0], 2))) == ["x", "?x", "y", "?y"]
    assert [probe["tensor"] for probe in ledger["probes"]] == ["x", "s", "a.y", "b.x", "b.y", "y"]


def test_bodies_of_one_name(tmp_path):
    """PyTorch keeps one graph of a name: a probe in it would see both."""
    graph = body(exp_of("x", "y"), inputs=["x"], outputs=["y"], x=tensor(2, 4), y=tensor(2, 4))
    _, new, ledger = instrument(tmp_path, branches(("a", graph), ("a", copy.deepcopy(graph))))
    (at,) = [index for index, one in enumerate(nodes_of(new)) if "cond" in one["target"]]
    assert seen(nodes_of(new, (at, 1))) == seen(nodes_of(new, (at, 2))) == ["y"]
    assert [probe["tensor"] for probe in ledger["probes"]] == ["x", "s", "y"]


def test_lists(tmp_path):
    """A member of a list keeps the name that the program gives it, unless FX made it up."""
    model = program()
    graph = model["graph_module"]["graph"]
    graph["nodes"] = [
        node("torch.ops.aten.split.Tensor", {"self": name("x"), "split_size": {"as_int": 2},
                                             "dim": {"as_int": 1}},
             [{"as_tensors": [{"name": "left"}, {"name": "getitem_1"}]}]),
        node("torch.ops.aten.mul.Tensor", {"self": name("left"), "other": name("getitem_1")}, [name("y")])]
    graph["nodes"][0]["name"] = "halves"
    graph["tensor_values"] |= {"left": tensor(2, 2), "getitem_1": tensor(2, 2), "y": tensor(2, 2)}
    _, new, ledger = instrument(tmp_path, model)
    assert seen(nodes_of(new)) == ["begin", "?x", "-", "?left", "?getitem_1", "y", "?y"]
    assert [probe["tensor"] for probe in ledger["probes"]] == ["x", "left", "halves.1", "y"]


def test_channels(tmp_path):
    """A finding about channels keeps a range for each."""
    model = program()
    model["graph_module"]["graph"]["nodes"][0] = node(
        "torch.ops.aten.mul.Tensor", {"self": name("x"), "other": name("w")}, [name("y")])
    model["graph_module"]["graph"]["tensor_values"] |= {"w": tensor(4), "y": tensor(2, 4)}
    files = {"m/data/weights/weight_0": struct.pack("<4f", 1e-9, 1, 1e-9, 1),
             "m/data/weights/model_weights_config.json":
                 json.dumps(payload(tensor_meta=tensor(4))).encode()}
    _, new, ledger = instrument(tmp_path, model, "--precision", "fp16", files=files)
    axes = {probe["tensor"]: probe["channel_axis"] for probe in ledger["probes"]
            if "channel_axis" in probe}
    assert axes
    found = {arguments["x"]["as_tensor"]["name"]: arguments["axis"]["as_int"] for one in nodes_of(new)
             if "probe_channels" in one["target"]
             for arguments in [{item["name"]: item["arg"] for item in one["inputs"]}]}
    assert found == axes


def test_refused(tmp_path):
    """No half-written file, one line."""
    probed = tmp_path / "probed.pt2"
    instrument(tmp_path, program())
    refused(run("--instrument", probed, "-o", tmp_path / "out.pt2"), "it has probes already")
    model = json.loads(zipfile.ZipFile(probed).read("m/models/model.json"))
    saved = write(tmp_path / "saved.pt2", members(model))
    refused(run("--instrument", saved, "-o", tmp_path / "out.pt2"), "not as --instrument wrote it")
    refused(run("--strip", saved, "-o", tmp_path / "out.pt2"), "it has no probes")
    # A key that is spelt with escapes is read, but not found in the text.
    text = json.dumps(program()).replace('"nodes"', '"no\\u0064es"')
    odd = write(tmp_path / "odd.pt2", members() | {"m/models/model.json": text.encode()})
    assert run("--check", odd, "--fail-on", "never").returncode == 0
    refused(run("--instrument", odd, "-o", tmp_path / "out.pt2"), "is not where it should be")
    for size in (40, 400, 4000):
        cut = tmp_path / "cut.pt2"
        cut.write_bytes(probed.read_bytes()[:-size])
        done = run("--strip", cut, "-o", tmp_path / "out.pt2")
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.glob("out.pt2*"))

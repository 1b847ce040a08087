"""Programs of torch.export that are damaged, ask for too much or are of another version:
one line and status 2. The archives are written here, by hand."""

import copy
import json
import zipfile

import pytest

from bad_input import GIGABYTE, peak_memory, refused, run
from written_programs import members, name, node, payload, program, tensor, write


def refuse(tmp_path, files, *parts, packed=()):
    path = write(tmp_path / "m.pt2", files, packed)
    error = refused(run("--check", path), *parts)
    assert len(error.splitlines()) == 1, error
    refused(run("--emit-mlir", path, "-o", tmp_path / "out"), *parts)
    assert not (tmp_path / "out").exists()


def test_whole(tmp_path):
    """What the cases below break."""
    path = write(tmp_path / "m.pt2", members())
    done = run("--check", path, "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["model"]["format"] == "exported-program"
    assert report["model"]["parameters"] == 12
    assert report["coverage"]["modelled"] == report["coverage"]["ops"] == 1
    assert run("--check", "-", "--fail-on", "never",
               stdin=open(path, "rb")).returncode == 0  # noqa: SIM115


def test_unknown_optional_fields_are_ignored(tmp_path):
    model = program()
    model["later"] = {"as": [1]}
    model["schema_version"]["minor"] = 999
    model["graph_module"]["graph"]["nodes"][0]["later"] = 1
    model["graph_module"]["graph"]["tensor_values"]["x"]["later"] = "?"
    path = write(tmp_path / "m.pt2", members(model))
    assert run("--check", path, "--fail-on", "never").returncode == 0


@pytest.mark.parametrize("major", [4, 9])
def test_other_schema(tmp_path, major):
    model = program()
    model["schema_version"]["major"] = major
    refuse(tmp_path, members(model), f"version {major} of the schema", "versions 5 to 8 are")


def test_other_layout(tmp_path):
    refuse(tmp_path, members(**{"m/archive_version": b"1"}), "version '1'", "version '0'")
    refuse(tmp_path, members(**{"m/byteorder": b"big"}), "'big'")
    refuse(tmp_path, members(**{"m/archive_format": b"pt3"}), "'pt3'")


def test_missing_members(tmp_path):
    whole = members()
    for missing, text in (("m/models/model.json", "holds no model"),
                          ("m/archive_version", "archive_version"),
                          ("m/data/weights/weight_0", "lacks the record"),
                          ("m/data/weights/model_weights_config.json", "values of 'w'")):
        refuse(tmp_path, {key: data for key, data in whole.items() if key != missing}, text)


def test_compiled_code(tmp_path):
    files = members(**{"m/data/aotinductor/model/a.so": b"x"})
    del files["m/models/model.json"]
    refuse(tmp_path, files, "compiled code")


def test_old_layout(tmp_path):
    refuse(tmp_path, {"serialized_exported_program.json": b"{}"}, "field 'schema_version' is no object")
    files = members()
    program_alone = {"serialized_exported_program.json": files["m/models/model.json"]}
    refuse(tmp_path, program_alone, "values of 'w'")
    for weights, text in ((b"?", "weights in a file that"), (b"PK", "weights in a file that")):
        refuse(tmp_path, program_alone | {"serialized_state_dict.pt": weights}, text)


@pytest.mark.parametrize("path", ["../weight_0", "/etc/passwd", "..", "a\\\\b"])
def test_traversal(tmp_path, path):
    refuse(tmp_path, members(weights=payload(path_name=path)), "outside of its folder")


@pytest.mark.parametrize("meta,text", [
    (tensor(3, 5), "reaches to byte 60 of a record of 48"),
    (tensor(3, 4, offset=1), "reaches to byte 52"),
    (tensor(3, 4, offset=-1), "no memory holds"),
    (tensor(3, 4, strides=[-4, 1]), "no memory holds"),
    (tensor(3, 4, strides=[4]), "2 sizes and 1 strides"),
    (tensor(1 << 39, 1 << 39), "no memory holds"),
    (tensor(1 << 20, 1 << 20, strides=[0, 0], offset=12), "reaches to byte 52"),
    (tensor(1 << 15, 1 << 15, strides=[0, 1]), "reaches to byte"),
    (tensor(-3, 4), "a dim of -3"),
    (tensor(1 << 50), "a dim of"),
    (tensor(*[1] * 65), "65 dims"),
    (tensor(3, 4, dtype=99), "unknown dtype 99"),
    (tensor(3, 4, layout=0), "nested or opaque"),
    (tensor(3, 4, layout=2), "sparse"),
])
def test_absurd_tensors(tmp_path, meta, text):
    refuse(tmp_path, members(weights=payload(tensor_meta=meta)), text)


def test_tensors_that_are_views(tmp_path):
    """A transposed weight and one that repeats its elements are read where they lie."""
    for meta in (tensor(3, 4, strides=[1, 3]), tensor(3, 4, strides=[0, 1], offset=2)):
        path = write(tmp_path / "m.pt2", members(weights=payload(tensor_meta=meta)))
        done = run("--emit-mlir", path)
        assert done.returncode == 0, done.stderr
        assert b"mp.constant" in done.stdout


def test_packed_weights(tmp_path):
    refuse(tmp_path, members(), "is packed", packed=("m/data/weights/weight_0",))


def test_bomb(tmp_path):
    path = tmp_path / "m.pt2"
    files = members()
    for text, why in ((b"[" + b"1," * (100 << 20) + b"1]", "more values than any model"),
                      (b" " * (300 << 20), "damaged member")):
        files["m/models/model.json"] = text
        write(path, files, packed=("m/models/model.json",))
        peak, done = peak_memory("--check", path)
        refused(done, why)
        assert peak < GIGABYTE


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b"1", b'{"schema_version": 8}',
                                  b"[" * 100_000])
def test_no_program(tmp_path, text):
    refuse(tmp_path, members(**{"m/models/model.json": text}), "MPI")


def test_twice(tmp_path):
    path = tmp_path / "m.pt2"
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "w") as archive:
        for member, data in members().items():
            archive.writestr(member, data)
        archive.writestr("m/models/model.json", b"{}")
    refused(run("--check", path), "two members")


def test_overlap(tmp_path):
    """Two entries of the directory that point to the same bytes."""
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members().items():
            archive.writestr(member, data)
        copied = copy.copy(archive.getinfo("m/data/weights/weight_0"))
        copied.filename = copied.orig_filename = "m/data/weights/weight_1"
        archive.filelist.append(copied)
        archive.NameToInfo[copied.filename] = copied
    refused(run("--check", path), "overlap")


def broken(change):
    model = program()
    change(model["graph_module"], model["graph_module"]["graph"])
    return members(model)


@pytest.mark.parametrize("change,text", [
    (lambda module, graph: graph["nodes"].clear(), "'y', which nothing defines"),
    (lambda module, graph: graph["nodes"].append(graph["nodes"][0]), "defines 'y' twice"),
    (lambda module, graph: graph["nodes"][0]["inputs"][0].pop("arg"), "without a value"),
    (lambda module, graph: graph["nodes"][0]["inputs"][0].update(arg={}), "of no kind"),
    (lambda module, graph: graph["nodes"][0].update(target=1), "'target' is no string"),
    (lambda module, graph: graph["inputs"].pop(), "the signature has 2 inputs"),
    (lambda module, graph: module["signature"]["input_specs"].pop(), "has 1 inputs"),
    (lambda module, graph: graph.update(nodes={}), "'nodes' is no list"),
    (lambda module, graph: graph.pop("tensor_values"), "'tensor_values' is no object"),
    (lambda module, graph: module["signature"]["input_specs"][0]["parameter"].update(
        parameter_name="q"), "values of 'q'"),
    (lambda module, graph: module["signature"]["output_specs"].__setitem__(
        0, {"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "b"}}), "changes 'b'"),
    (lambda module, graph: graph["nodes"].insert(0, node(
        "torch.ops.aten._nested_view_from_buffer.default", {"self": name("x")},
        [name("n")])), "nested tensors are not read"),
    (lambda module, graph: graph["nodes"].insert(0, node(
        "torch.ops.higher_order.cond", {}, [])), "without two bodies"),
    (lambda module, graph: graph["nodes"].insert(0, node(
        "torch.ops.higher_order.while_loop", {}, [])), "without a condition"),
    (lambda module, graph: graph["nodes"].insert(0, node(
        "torch.ops.higher_order.wrap_with_autocast", {}, [])), "without a body"),
])
def test_broken_graphs(tmp_path, change, text):
    refuse(tmp_path, broken(change), text)


def test_deep_graphs(tmp_path):
    """Bodies in bodies: refused before anything recurses."""
    model = program()
    graph = model["graph_module"]["graph"]
    for _ in range(50):
        graph = {**graph, "nodes": [node("torch.ops.higher_order.strict_mode", {
            "": {"as_graph": {"name": "g", "graph": graph}}}, [name("z")])]}
    model["graph_module"]["graph"] = graph
    refuse(tmp_path, members(model), "nested too deep")


@pytest.mark.parametrize("cut", range(1, 12))
def test_cut(tmp_path, cut):
    path = write(tmp_path / "m.pt2", members())
    data = path.read_bytes()
    path.write_bytes(data[:len(data) * cut // 12])
    refused(run("--check", path))


def test_bit_flips(tmp_path):
    """Whatever byte of the graph is another one, there is a verdict or a line."""
    path = write(tmp_path / "m.pt2", members())
    data = bytearray(path.read_bytes())
    first = data.find(b'"graph_module"')
    for at in range(first, first + 1500, 7):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        done = run("--check", path, "--fail-on", "never")
        assert done.returncode in (0, 2), done.stderr
        assert done.returncode == 0 or b"mpopt: error: " in done.stderr


def test_repeated_elements_take_no_memory(tmp_path):
    """A dim of stride 0 has one element, however large it is."""
    model = program()
    values = model["graph_module"]["graph"]["tensor_values"]
    values |= {"w": tensor(16384, 16384), "x": tensor(2, 16384), "y": tensor(2, 16384)}
    for strides in ([0, 0], [0, 1], [1, 0]):
        meta = tensor(16384, 16384, strides=strides)
        record = {"m/data/weights/weight_0": bytes(4 * 16384)}
        path = write(tmp_path / "m.pt2", members(model, payload(tensor_meta=meta), **record))
        peak, done = peak_memory("--check", path, "--fail-on", "never")
        assert done.returncode == 0, done.stderr
        assert peak < GIGABYTE / 4


def test_sum_of_what_is_unpacked(tmp_path):
    """Windows that overlap are gathered: one is allowed, five together are not."""
    windows = payload(tensor_meta=tensor(1 << 12, 1 << 12, strides=[1, 1]))
    files = members(weights=windows, **{"m/data/weights/weight_0": bytes(4 << 13)})
    model = program()
    values = model["graph_module"]["graph"]["tensor_values"]
    values |= {"w": tensor(4096, 4096), "x": tensor(2, 4096), "y": tensor(2, 4096)}
    files["m/models/model.json"] = json.dumps(model).encode()
    assert run("--check", write(tmp_path / "m.pt2", files), "--fail-on", "never").returncode == 0
    windows["config"] |= {f"w{index}": windows["config"]["w"] for index in range(4)}
    files["m/data/weights/model_weights_config.json"] = json.dumps(windows).encode()
    refuse(tmp_path, files, "too many for the file")


def chain(count):
    """So many ReLUs one after the other, with what torch.export writes beside them."""
    model = program()
    graph = model["graph_module"]["graph"]
    values = [f"v{index}" for index in range(count)]
    graph["tensor_values"] |= {value: tensor(2, 4) for value in values}
    graph["nodes"] = [
        node("torch.ops.aten.relu.default", {"self": name(of)}, [name(value)]) | {
            "metadata": {"stack_trace": f'  File "model.py", line {index}, in forward\n    x\n',
                         "nn_module_stack": f"L__self__,,model.Net;L__self___{index},{index},"
                                            "torch.nn.modules.activation.ReLU"}}
        for index, (of, value) in enumerate(zip(["x", *values], values))]
    graph["outputs"] = [name(values[-1])]
    model["graph_module"]["signature"]["output_specs"] = [
        {"user_output": {"arg": name(values[-1])}}]
    return model


def test_memory_of_a_node(tmp_path):
    """Nodes are parsed one by one: below 10 kB each, where they took 60 in a document."""
    peaks = []
    for count in (1000, 5000):
        path = write(tmp_path / "m.pt2", members(chain(count)))
        peak, done = peak_memory("--check", path, "--fail-on", "never")
        assert done.returncode == 0, done.stderr
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 4000 * 10


@pytest.mark.parametrize("old, new", [
    ('"nodes": [{', '"nodes": [{"a": ]}, {'), ('"nodes": [{', '"nodes": [{} {'),
    ('"nodes": [{', '"nodes": [,{'), ('"nodes": [{', '"nodes": [{]'),
    ('"nodes": [{', '"nodes": [3, {'),
    ('"x": {"dtype": 7', '"x": {"dtype": '),
    ('"tensor_values": {', '"tensor_values": {3: 4, '),
    ('"tensor_values": {', '"tensor_values": [{'), ('"nodes": [{', '"nodes": {{')])
def test_damaged_parts(old, new, tmp_path):
    """Parts that are text until they are read."""
    text = json.dumps(program())
    assert text.count(old) == 1
    refuse(tmp_path, members(**{"m/models/model.json": text.replace(old, new).encode()}), "")


def test_names_with_escapes(tmp_path):
    text = json.dumps(program()).replace('"x": {"dtype"', '"\\u0078": {"dtype"')
    path = write(tmp_path / "m.pt2", members(**{"m/models/model.json": text.encode()}))
    assert run("--check", path, "--fail-on", "never").returncode == 0

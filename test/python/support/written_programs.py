"""Archives of exported programs that are written by hand, without PyTorch."""

import json
import struct
import zipfile


def tensor(*sizes, dtype=7, strides=None, offset=0, layout=7):
    if strides is None:
        strides, step = [], 1
        for size in reversed(sizes):
            strides.insert(0, step)
            step *= size
    return {"dtype": dtype, "sizes": [{"as_int": size} for size in sizes],
            "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": stride} for stride in strides],
            "storage_offset": {"as_int": offset}, "layout": layout}


def name(of):
    return {"as_tensor": {"name": of}}


def node(target, inputs, outputs):
    return {"target": target, "outputs": outputs, "metadata": {}, "name": "the_node",
            "inputs": [{"name": key, "arg": value, "kind": 1} for key, value in inputs.items()]}


def program():
    """y = linear(x, w)."""
    return {
        "graph_module": {
            "graph": {
                "inputs": [name("w"), name("x")], "outputs": [name("y")],
                "nodes": [node("torch.ops.aten.linear.default",
                               {"input": name("x"), "weight": name("w")}, [name("y")])],
                "tensor_values": {"w": tensor(3, 4), "x": tensor(2, 4), "y": tensor(2, 3)},
                "sym_int_values": {}, "sym_bool_values": {}},
            "signature": {
                "input_specs": [{"parameter": {"arg": {"name": "w"}, "parameter_name": "w"}},
                                {"user_input": {"arg": name("x")}}],
                "output_specs": [{"user_output": {"arg": name("y")}}]},
            "module_call_graph": []},
        "opset_version": {"aten": 10}, "range_constraints": {},
        "schema_version": {"major": 8, "minor": 20}}


def payload(**meta):
    return {"config": {"w": {"path_name": "weight_0", "is_param": True, "use_pickle": False,
                             "tensor_meta": tensor(3, 4)} | meta}}


def members(model=None, weights=None, **other):
    return {"m/archive_format": b"pt2", "m/archive_version": b"0", "m/byteorder": b"little",
            "m/models/model.json": json.dumps(model or program()).encode(),
            "m/data/weights/model_weights_config.json":
                json.dumps(weights or payload()).encode(),
            "m/data/weights/weight_0": struct.pack("<12f", *range(12))} | other


def write(path, files, packed=()):
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in files.items():
            archive.writestr(member, data, zipfile.ZIP_DEFLATED if member in packed
                             else zipfile.ZIP_STORED)
    return path

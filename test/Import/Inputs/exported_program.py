"""Writes a program of torch.export by hand: a layer in an autocast region, a branch and a
symbolic dim, with a module and a line for each node."""

import json
import struct
import sys
import zipfile


def tensor(*sizes, dtype=7):
    dims = [{"as_int": size} if isinstance(size, int) else
            {"as_expr": {"expr_str": f"Symbol('{size}', positive=True, integer=True)"}}
            for size in sizes]
    return {"dtype": dtype, "sizes": dims, "requires_grad": True, "layout": 7,
            "device": {"type": "cpu"}, "storage_offset": {"as_int": 0},
            "strides": [{"as_int": 1}] * len(sizes)}


def name(of):
    return {"as_tensor": {"name": of}}


def node(target, inputs, *outputs, module=""):
    return {"target": "torch.ops." + target, "name": outputs[0],
            "inputs": [{"name": key, "arg": value, "kind": 1} for key, value in inputs],
            "outputs": [name(output) for output in outputs],
            "metadata": {
                "stack_trace": '  File "net.py", line 12, in forward\n    return self.fc(x)\n'
                               '  File "/site-packages/torch/nn/modules/linear.py", line 134, in '
                               'forward\n    return F.linear(input)\n',
                "nn_module_stack": f"L__self__,,net.Net;L__self__{module},{module},net.Layer"}}


def graph(inputs, nodes, outputs, **values):
    return {"inputs": [name(one) for one in inputs], "nodes": nodes,
            "outputs": [name(one) for one in outputs], "tensor_values": values,
            "sym_int_values": {}, "sym_bool_values": {}}


def body(called, of):
    return {"as_graph": {"name": called, "graph": of}}


rows = tensor("s0", 3)
region = graph(["a", "w"], [node("aten.linear.default", [("input", name("a")),
                                                         ("weight", name("w"))],
                                 "linear", module="fc")],
               ["linear"], a=tensor("s0", 2), w=tensor(3, 2), linear=tensor("s0", 3, dtype=13))
sides = [graph(["b"], [node(f"aten.{op}.default", [("self", name("b"))], op)], [op], b=rows,
               **{op: rows}) for op in ("exp", "neg")]
whole = graph(
    ["p_w", "x", "c"],
    [node("higher_order.wrap_with_autocast",
          [("", {"as_string": "cpu"}), ("", {"as_scalar_type": 13}), ("", {"as_bool": True}),
           ("", {"as_none": True}), ("", body("region", region)), ("", name("x")),
           ("", name("p_w"))], "fc"),
     node("higher_order.cond",
          [("", name("c")), ("", body("true", sides[0])), ("", body("false", sides[1])),
           ("", {"as_tensors": [{"name": "fc"}]})], "cond"),
     node("aten.add.Tensor", [("self", name("cond")), ("other", {"as_int": 1})], "add")],
    ["add"], p_w=tensor(3, 2), x=tensor("s0", 2), c=tensor(dtype=12), fc=rows, cond=rows,
    add=rows)
program = {
    "graph_module": {
        "graph": whole,
        "signature": {
            "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.w"}},
                            {"user_input": {"arg": name("x")}}, {"user_input": {"arg": name("c")}}],
            "output_specs": [{"user_output": {"arg": name("add")}}]},
        "module_call_graph": []},
    "opset_version": {"aten": 10}, "schema_version": {"major": 8, "minor": 20},
    "range_constraints": {"s0": {"min_val": 2, "max_val": 8}}}
weight = tensor(3, 2)
weight["strides"] = [{"as_int": 2}, {"as_int": 1}]
config = {"config": {"fc.w": {"path_name": "weight_0", "is_param": True, "use_pickle": False,
                              "tensor_meta": weight}}}
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for member, data in {
            "net/archive_format": "pt2", "net/archive_version": "0", "net/byteorder": "little",
            "net/models/model.json": json.dumps(program),
            "net/data/weights/model_weights_config.json": json.dumps(config),
            "net/data/weights/weight_0": struct.pack("<6f", *range(6))}.items():
        archive.writestr(member, data)

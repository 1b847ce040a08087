"""Runs a TorchScript graph node by node in Python, as eager PyTorch would.

Each aten node is one call of the op that the module's code called, so autocast
acts on it, and what it makes is known by the graph's name of it. A dispatch mode
sees the ops that PyTorch really runs, casts of autocast included.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: What is Python and no operator of PyTorch.
PYTHON = {
    "aten::__not__": operator.not_,
    "aten::__is__": lambda a, b: a is b,
    "aten::__isnot__": lambda a, b: a is not b,
    "aten::__getitem__": lambda values, index: values[index],
    "aten::append": lambda values, value: values.append(value) or values,
    "aten::len": len,
    "aten::dim": lambda value: value.dim(),
    "aten::keys": lambda values: list(values),
    "aten::items": lambda values: list(values.items()),
    "aten::warn": lambda *_: None,
    "aten::Bool": bool,
    "aten::format": lambda text, *values: text.format(*values),
    "aten::sqrt": math.sqrt,
}
ON_NUMBERS = {"aten::sqrt"}


class Watch(TorchDispatchMode):
    """Writes down each op that runs and the dtypes of its results."""

    def __init__(self):
        super().__init__()
        self.seen: list[tuple[str, tuple]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.seen.append((str(func), dtypes_of(result)))
        return result


def dtypes_of(value) -> tuple:
    if isinstance(value, torch.Tensor):
        return (value.dtype,)
    if isinstance(value, (list, tuple)):
        return tuple(dtype for member in value for dtype in dtypes_of(member))
    return ()


@dataclass
class Run:
    """What a graph makes."""

    result: object = None
    #: By the graph's name of a value: its node's kind and its dtype when it was
    #: made. Values of rounds after the first are those of the first.
    dtypes: dict[str, tuple[str, torch.dtype]] = field(default_factory=dict)


class Interpreter:
    def __init__(self, module: torch.jit.ScriptModule):
        self.graph = module.inlined_graph
        self.module = module
        self.run = Run()

    def __call__(self, *inputs) -> Run:
        names = [value.debugName() for value in self.graph.inputs()]
        values = dict(zip(names, [self.module, *inputs]))
        # Optional inputs that nobody gave.
        values.update({name: None for name in names[1 + len(inputs):]})
        results = self.block(self.graph, values)
        self.run.result = results[0] if len(results) == 1 else results
        return self.run

    def block(self, block, values: dict) -> list:
        for node in block.nodes():
            self.node(node, values)
        if hasattr(block, "returnNode"):
            return [values[value.debugName()] for value in block.returnNode().inputs()]
        return [values[value.debugName()] for value in block.outputs()]

    def node(self, node, values: dict) -> None:
        kind = node.kind()
        inputs = [values[value.debugName()] for value in node.inputs()]
        outputs = list(node.outputs())
        handler = getattr(self, kind.replace("::", "_"), None)
        if handler:
            results = handler(node, inputs, values)
        elif kind in PYTHON and not (kind in ON_NUMBERS
                                     and isinstance(inputs[0], torch.Tensor)):
            results = PYTHON[kind](*inputs)
            results = [results]
        else:
            results = self.operator(node, inputs)
            results = [results] if len(outputs) == 1 else list(results or [])
        for value, result in zip(outputs, results):
            name = value.debugName()
            values[name] = result
            if not isinstance(result, torch.Tensor) or kind.startswith("prim::"):
                continue
            self.run.dtypes.setdefault(name, (kind, result.dtype))

    def operator(self, node, inputs: list):
        """One call with the arguments by the schema's names where it wants them."""
        schema = torch._C.parse_schema(node.schema())
        function, _ = torch._C._jit_get_operation(schema.name)
        overload = getattr(getattr(torch.ops, schema.name.split("::")[0]),
                           schema.name.split("::")[1], None)
        if overload is not None:
            function = getattr(overload, schema.overload_name or "default")
        positional, named = [], {}
        for argument, value in zip(schema.arguments, inputs):
            if argument.kwarg_only:
                named[argument.name] = value
            else:
                positional.append(value)
        return function(*positional, **named)

    # -- what has no operator ----------------------------------------------------

    def prim_Constant(self, node, inputs, values):
        value = node.output().toIValue()
        # The tracer writes Python numbers as tensors of their own dtype, which
        # takes part in promotion where the number did not.
        if (isinstance(value, torch.Tensor) and value.dim() == 0
                and value.dtype in (torch.float64, torch.int64)):
            value = value.item()
        return [value]

    def aten__convolution(self, node, inputs, values):
        """The tracer sees what is below `conv2d`, which modules call and autocast
        lists."""
        x, weight, bias, stride, padding, dilation, transposed, extra, groups = inputs[:9]
        dims = weight.dim() - 2
        if transposed:
            function = getattr(torch, f"conv_transpose{dims}d")
            return [function(x, weight, bias, stride, padding, extra, groups, dilation)]
        function = getattr(torch, f"conv{dims}d")
        return [function(x, weight, bias, stride, padding, dilation, groups)]

    def prim_GetAttr(self, node, inputs, values):
        return [getattr(inputs[0], node.s("name"))]

    def prim_SetAttr(self, node, inputs, values):
        setattr(inputs[0], node.s("name"), inputs[1])
        return []

    def prim_ListConstruct(self, node, inputs, values):
        return [list(inputs)]

    def prim_TupleConstruct(self, node, inputs, values):
        return [tuple(inputs)]

    def prim_DictConstruct(self, node, inputs, values):
        return [dict(zip(inputs[::2], inputs[1::2]))]

    def prim_ListUnpack(self, node, inputs, values):
        return list(inputs[0])

    prim_TupleUnpack = prim_ListUnpack

    def prim_TupleIndex(self, node, inputs, values):
        return [inputs[0][inputs[1]]]

    def prim_NumToTensor(self, node, inputs, values):
        return [torch.tensor(inputs[0])]

    def prim_unchecked_cast(self, node, inputs, values):
        return inputs

    prim_Uninitialized = prim_unchecked_cast

    def prim_dtype(self, node, inputs, values):
        return [inputs[0].dtype]

    def prim_device(self, node, inputs, values):
        return [inputs[0].device]

    def prim_RaiseException(self, node, inputs, values):
        raise RuntimeError(inputs[0])

    def prim_Print(self, node, inputs, values):
        return []

    def prim_Enter(self, node, inputs, values):
        return [inputs[0].__enter__()]

    def prim_Exit(self, node, inputs, values):
        inputs[0].__exit__(None, None, None)
        return []

    def prim_If(self, node, inputs, values):
        yes, no = node.blocks()
        return self.block(yes if inputs[0] else no, values)

    def prim_Loop(self, node, inputs, values):
        most, going, *carried = inputs
        body = next(iter(node.blocks()))
        names = [value.debugName() for value in body.inputs()]
        round = 0
        while going and round < most:
            values.update(zip(names, [round, *carried]))
            going, *carried = self.block(body, values)
            round += 1
        return carried

"""PyTorch modules to ONNX models that depend on nothing but the module."""

from __future__ import annotations

import contextlib
import io
import logging
import tempfile
import warnings
from pathlib import Path

import onnx
import torch
from draws import Draw, Input


def strip(model: onnx.ModelProto) -> None:
    """Without traces of stacks and other notes, which name paths."""
    for item in (model, model.graph, *model.graph.node, *model.graph.initializer, *model.graph.value_info, *model.graph.input,
                 *model.graph.output):
        item.doc_string = ""
        del item.metadata_props[:]


def export(d: Draw, network: torch.nn.Module, inputs: list[Input]) -> tuple[onnx.ModelProto, str]:
    """The model, and by which exporter; the newer one takes longer."""
    dynamo = d.chance(0.25)
    examples = tuple(torch.from_numpy(value.sample(d.rng)) for value in inputs)
    logging.disable(logging.ERROR)
    options = {"dynamo": True, "external_data": False, "verbose": False} if dynamo else {"dynamo": False}
    options |= {"input_names": [f"x{i}" for i in range(len(inputs))], "output_names": ["y"]}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), \
            contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        path = Path(folder, "model.onnx")
        opset = 18 if dynamo else d.pick((17, 18))
        torch.onnx.export(network.eval(), examples, str(path), opset_version=opset, **options)
        model = onnx.load(path)
    strip(model)
    return model, "dynamo" if dynamo else "script"

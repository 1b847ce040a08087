"""com.microsoft operators: dtypes and shapes of every output are what ONNX Runtime
computes on the CPU. Where it has no kernel there, the operator's documentation says what they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from contrib_cases import MS, Contrib, get_cases
from inference import Inferred, Shape, bind_inputs, disagreement, infer_all, make_model

# Variants of ops that have no lowering, and why.
QUANTISED = "attention on packed quantised weights"
UNMODELLED = {
    "QAttention plain": QUANTISED, "QAttention past": QUANTISED,
    "Inverse": "no such mp op", "Unique": "no such mp op", "Rfft real": "no such mp op",
    "MurmurHash3": "no such mp op", "ExpandDims": "ONNX has Unsqueeze",
}

# What the project promises to model.
PROMISED = {
    "Attention", "MultiHeadAttention", "GroupQueryAttention", "SkipLayerNormalization",
    "SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", "FastGelu", "BiasGelu",
    "QuickGelu", "FusedMatMul", "FusedConv", "MatMulNBits", "RotaryEmbedding",
    "EmbedLayerNormalization", "QLinearConv", "QLinearMatMul", "QLinearAdd", "QLinearMul",
    "QLinearSigmoid", "QLinearGlobalAveragePool", "QLinearConcat", "QLinearSoftmax",
    "QLinearLeakyRelu", "DynamicQuantizeMatMul", "MatMulIntegerToFloat", "DynamicQuantizeLinear",
    "BiasSoftmax",
}
DTYPES = {"float32": "f32", "float16": "f16", "float64": "f64", "uint8": "ui8", "int8": "i8",
          "uint16": "ui16", "int16": "i16", "int32": "i32", "uint32": "ui32", "int64": "i64",
          "bool": "i1"}
OPSET = 21


@dataclass
class Checked:
    case: Contrib
    truth: dict[str, tuple[str, Shape]]
    error: str
    result: Inferred


def build(case: Contrib) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    values = {f"x{index}": value for index, value in enumerate(case.inputs) if value is not None}
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
              for name, value in values.items()]
    outputs = [name for name in case.outputs if name]
    model = make_model([case.node], inputs, outputs, OPSET, domains=[MS])
    constants = {f"x{index}": values.pop(f"x{index}") for index in case.constant}
    return bind_inputs(model, constants), values


def run(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> tuple[dict, str]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    # As it stands in the file.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    names = [output.name for output in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        outputs = session.run(names, values)
    except Exception as error:  # noqa: BLE001  no kernel, or a wrong model
        return {}, str(error)
    return {name: (DTYPES[value.dtype.name], list(value.shape))
            for name, value in zip(names, outputs)}, ""


@pytest.fixture(scope="module")
def checked() -> list[Checked]:
    cases = get_cases()
    models = [build(case) for case in cases]
    results = infer_all(model for model, _ in models)
    rows = []
    for case, (model, values), result in zip(cases, models, results):
        if case.expected:
            names = [name for name in case.outputs if name]
            truth, error = dict(zip(names, case.expected)), ""
        else:
            truth, error = run(model, values)
        rows.append(Checked(case, truth, error, result))
    return rows


def report(problems: list[str]) -> None:
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)


def test_every_case_has_a_truth(checked):
    report([f"{row.case.name}: {row.error[:300]}" for row in checked if not row.truth])


def test_every_case_is_imported(checked):
    report([f"{row.case.name}: {row.result.error[:300]}" for row in checked
            if row.result.status not in (0, 1)])


def test_every_op_is_modelled(checked):
    unmodelled = {row.case.name for row in checked if row.result.unmodelled}
    assert unmodelled == set(UNMODELLED)
    assert PROMISED <= {row.case.op for row in checked} - {
        name.split(" ")[0] for name in UNMODELLED}


def test_types_are_those_computed(checked):
    problems, compared = [], Counter()
    for row in checked:
        if row.case.name in UNMODELLED or row.result.status not in (0, 1):
            continue
        for name, (dtype, shape) in row.truth.items():
            compared[row.case.op] += 1
            reason = disagreement(row.result, name, dtype, shape, exact=row.case.exact)
            if reason:
                problems.append(f"{row.case.name}: {reason}")
    print(f"{len(checked)} cases of {len(compared)} ops, {compared.total()} outputs compared; "
          f"left out: {UNMODELLED}")
    report(problems)

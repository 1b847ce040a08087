"""The cases of ONNX's own backend tests: every one is imported, modelled, and given
the dtypes and shapes that its expected outputs have.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import DATA_DIR, load_model_tests

from inference import (DTYPES, Inferred, Shape, bind_inputs, disagreement, infer_all, read_type,
                       strip_declarations)

# The fixture that all tests share judges every case of the corpus.
pytestmark = pytest.mark.slow

# Ops that have no lowering, and why.
CLASSICAL = "trees, tables and the like: no arithmetic of the kind mpopt judges"
UNMODELLED = dict.fromkeys(
    ["ai.onnx.ml::LabelEncoder", "ai.onnx.ml::TreeEnsemble"], CLASSICAL)


@dataclass
class Case:
    name: str
    model: onnx.ModelProto
    # The graph's outputs, sequences and optionals left out.
    outputs: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    # What ONNX's shape inference says of every value.
    declared: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    # Inputs that only say shapes are constants: nothing may be left open.
    exact: bool = False


def get_tensors(values) -> dict[str, tuple[str, Shape]]:
    return {value.name: read_type(value) for value in values
            if value.type.WhichOneof("value") == "tensor_type" and value.type.tensor_type.elem_type}


def infer_with_onnx(model: onnx.ModelProto) -> dict[str, tuple[str, Shape]]:
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # noqa: BLE001  a reference that gives up says nothing
        return {}
    return get_tensors([*graph.value_info, *graph.output])


def read_data_set(folder: Path, model: onnx.ModelProto):
    def read(kind: str, count: int):
        files = [folder / "test_data_set_0" / f"{kind}_{index}.pb" for index in range(count)]
        return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files if file.exists()]

    try:
        return read("input", len(model.graph.input)), read("output", len(model.graph.output))
    except Exception:  # noqa: BLE001  a sequence: no tensor
        return [], []


def make_cases(name: str, model: onnx.ModelProto, inputs, outputs) -> list[Case]:
    expected = get_tensors(model.graph.output)
    for info, value in zip(model.graph.output, outputs):
        if info.name in expected and hasattr(value, "shape"):
            expected[info.name] = (expected[info.name][0], list(value.shape))
    model = strip_declarations(model)
    cases = [Case(name, model, expected, infer_with_onnx(model))]
    numbers = {info.name: value for info, value in zip(model.graph.input, inputs)
               if isinstance(value, np.ndarray) and value.dtype.kind in "ib"
               and value.ndim <= 1 and value.size <= 64}
    if numbers and len(inputs) == len(model.graph.input):
        bound = bind_inputs(model, numbers)
        cases.append(Case(name + " (constants)", bound, expected, infer_with_onnx(bound), True))
    return cases


def load_cases() -> list[Case]:
    cases = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    for test in tests:
        inputs, outputs = test.data_sets[0]
        cases += make_cases(test.name, test.model, inputs, outputs)
    for test in load_model_tests(kind="simple"):
        folder = Path(test.model_dir)
        model = onnx.load(folder / "model.onnx")
        cases += make_cases(test.name, model, *read_data_set(folder, model))
    for file in sorted(Path(DATA_DIR, "light").glob("*.onnx")):
        output = onnx.load_tensor(file.with_name(file.stem + "_output_0.pb"))
        cases += make_cases(file.stem, onnx.load(file), [], [numpy_helper.to_array(output)])
    return cases


@pytest.fixture(scope="module")
def corpus() -> list[tuple[Case, Inferred]]:
    cases = load_cases()
    return list(zip(cases, infer_all(case.model for case in cases)))


def report(problems: list[str]) -> None:
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)


def test_every_case_is_imported(corpus):
    report([f"{case.name}: status {result.status}: {result.error[:300]}" for case, result in corpus
            if result.status not in (0, 1)])


def test_every_node_is_modelled(corpus):
    found = Counter()
    for _, result in corpus:
        found.update(result.unmodelled.keys())
    assert {op for op in found if op not in UNMODELLED} == set(), found
    assert set(UNMODELLED) <= set(found), "these are modelled now"


def test_outputs_have_the_expected_types(corpus):
    problems, compared, left_out = [], 0, Counter()
    for case, result in corpus:
        for name, (dtype, shape) in case.outputs.items():
            if result.unmodelled:
                left_out.update(f"{op}: {UNMODELLED.get(op)}" for op in result.unmodelled)
                continue
            compared += 1
            reason = disagreement(result, name, dtype, shape)
            if reason:
                problems.append(f"{case.name}: {reason}")
        left_out["sequence or optional outputs"] += len(case.model.graph.output) - len(case.outputs)
    print(f"{len(corpus)} models, {compared} outputs compared; left out: {dict(left_out)}")
    report(problems)


def test_inference_knows_what_onnx_knows(corpus):
    problems, compared, wrong = [], 0, []
    for case, result in corpus:
        if result.unmodelled or result.status not in (0, 1):
            continue
        reference = Inferred(0, "", tensors=case.declared)
        for name, (dtype, shape) in case.declared.items():
            if name in case.outputs and disagreement(reference, name, *case.outputs[name]):
                wrong.append(f"{case.name}: {name}")
                continue
            compared += 1
            reason = disagreement(result, name, dtype, shape, exact=True)
            if reason:
                problems.append(f"{case.name}: {reason}")
    print(f"{compared} values compared; ONNX contradicts its own expected outputs: {wrong}")
    # STFT with onesided left at its default.
    assert len(wrong) <= 4, wrong
    report(problems)

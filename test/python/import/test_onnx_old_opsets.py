"""Every operator of ONNX in every version it ever had: imported, modelled, and typed as
it is computed.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs, helper
from onnx.backend.test.loader import load_model_tests

from inference import Inferred, Shape, bind_inputs, disagreement, infer_all, make_model, DTYPES
from old_forms import Form, get_versions, handmade, make_old

# Versions for which there is no model, and why.
NOT_EXERCISED: dict[tuple[str, int], str] = {}
# Cases a version is tested with, besides the handmade ones.
CASES = 2


@dataclass
class Checked:
    op: str
    since: int
    form: Form
    model: onnx.ModelProto
    truth: dict[str, tuple[str, Shape]]
    result: Inferred | None = None

    @property
    def name(self) -> str:
        return f"{self.op}-{self.since}: {onnx.printer.to_text(self.form.node)}"


def build(form: Form) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    names = [name for name in form.node.input if name]
    values = dict(zip(names, (value for value in form.inputs if value is not None)))
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype),
                                            np.shape(value)) for name, value in values.items()]
    model = make_model(form.nodes, inputs, form.outputs, form.opset)
    # Parameters are constants: nothing may be left open.
    numbers = {name: np.asarray(value) for index, (name, value) in enumerate(values.items())
               if np.ndim(value) <= 1 and np.size(value) <= 64
               and (np.asarray(value).dtype.kind in "ib" or index > 0)}
    model = bind_inputs(model, numbers)
    return model, {name: value for name, value in values.items() if name not in numbers}


def is_valid(model: onnx.ModelProto) -> bool:
    """By the schema of its opset: attributes, arity and types."""
    context = onnx.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {"": model.opset_import[0].version}
    try:
        for node in model.graph.node:
            onnx.checker.check_node(node, context)
        onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:  # noqa: BLE001  that version has no such form
        return False
    return True


def run(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> dict[str, tuple[str, Shape]]:
    """What ONNX Runtime computes; nothing if it does not know the version."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    names = [output.name for output in model.graph.output]
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        outputs = session.run(names, values)
    except Exception:  # noqa: BLE001  no kernel
        return {}
    return {name: get_type(value.dtype, value.shape) for name, value in zip(names, outputs)
            if isinstance(value, np.ndarray) and value.dtype.kind != "O"}


def get_type(dtype, shape) -> tuple[str, Shape]:
    return DTYPES[helper.np_dtype_to_tensor_dtype(np.dtype(dtype))], list(shape)


def check_form(op: str, since: int, form: Form) -> Checked | None:
    model, values = build(form)
    if not is_valid(model):
        return None
    truth = run(model, values)
    if not truth and form.expected:
        truth = {name: get_type(*expected) for name, expected in zip(form.outputs, form.expected)}
    return Checked(op, since, form, model, truth)


def collect() -> list[Checked]:
    versions, checked = defaultdict(list), []
    for op, since in get_versions():
        versions[op].append(since)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = load_model_tests(kind="node")
    count = Counter()
    for test in tests:
        graph = test.model.graph
        op = graph.node[0].op_type
        inputs, outputs = test.data_sets[0]
        if len(graph.node) != 1 or graph.node[0].domain or not all(
                isinstance(value, (np.ndarray, np.generic)) for value in [*inputs, *outputs]):
            continue
        places = iter(inputs)
        values = [next(places) if name else None for name in graph.node[0].input]
        for since in versions[op]:
            if count[op, since] >= CASES:
                continue
            form = make_old(graph.node[0], values, since)
            if form:
                form.expected = [(value.dtype, list(value.shape)) for value in outputs]
                entry = check_form(op, since, form)
                if entry:
                    count[op, since] += 1
                    checked.append(entry)
    return checked


def get_corpus_versions() -> set[tuple[str, int]]:
    """The versions in ONNX's backend cases, of which test_onnx_node_corpus checks every one."""
    found = set()
    for test in load_model_tests(kind="node"):
        opsets = {entry.domain: entry.version for entry in test.model.opset_import}
        found |= {(node.op_type, defs.get_schema(node.op_type, opsets[""]).since_version)
                  for node in test.model.graph.node if node.domain == ""}
    return found


@pytest.fixture(scope="module")
def checked() -> list[Checked]:
    rows = collect()
    for form in handmade():
        since = defs.get_schema(form.node.op_type, form.opset).since_version
        entry = check_form(form.node.op_type, since, form)
        assert entry, f"not a valid form: {onnx.printer.to_text(form.node)} at {form.opset}"
        rows.append(entry)
    for row, result in zip(rows, infer_all(row.model for row in rows)):
        row.result = result
    return rows


def report(problems: list[str]) -> None:
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems)


def test_every_version_is_exercised(checked):
    found = {(node.op_type, defs.get_schema(node.op_type, row.form.opset).since_version)
             for row in checked for node in row.form.nodes}
    versions = set(get_versions())
    # The backend cases as they are belong to another test.
    newest = get_corpus_versions()
    missing = versions - found - newest
    print(f"{len(found)} of {len(versions)} (op, version) pairs in {len(checked)} models, "
          f"{len((versions & newest) - found)} only in ONNX's own cases; not: {sorted(missing)}")
    assert missing == set(NOT_EXERCISED)


def test_every_form_is_imported(checked):
    report([f"{row.name}: {row.result.error[:300]}" for row in checked
            if row.result.status not in (0, 1)])


def test_every_form_is_modelled(checked):
    report([row.name for row in checked if row.result.unmodelled])


def test_types_are_those_computed(checked):
    problems, compared, unknown = [], 0, 0
    for row in checked:
        unknown += not row.truth
        if row.result.status not in (0, 1):
            continue
        for name, (dtype, shape) in row.truth.items():
            compared += 1
            reason = disagreement(row.result, name, dtype, shape)
            if reason:
                problems.append(f"{row.name}: {reason}")
    print(f"{compared} outputs compared; {unknown} models that nothing ran")
    report(problems)

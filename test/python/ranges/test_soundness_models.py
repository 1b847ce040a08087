"""Every value that ONNX Runtime computes in a whole model lies in the bounds that
mpopt states, in float32 and with FP16 storage.

The models are those of the folder `shared/models` beside the checkout and, where
MPOPT_ZOO names generated zoos (folders, separated by colons), all of theirs. To run
a zoo: generate it with its own environment as its README says, then

    MPOPT_ZOO=/path/to/zoo pytest -q -s test/python/ranges/test_soundness_models.py"""

import os

import numpy
import onnx
import pytest
from soundness_models import Subject, compare, read_vnnlib_box, read_zoo_model
from tool import SHARED, ZOOS

# What the files leave open: sizes of symbolic dims, and inputs that index or mask.
OPEN = {
    "genai-gpt2-tiny-fp32": {
        "dims": {"batch_size": 2, "seq_len": 3, "past_seq_len": 2, "total_seq_len": 5},
        "boxes": {"input_ids": (0, 999), "position_ids": (0, 500), "attention_mask": (1, 1)}},
    "deeploy-cct2-ft1-train": {"boxes": {"labels": (0, 9)}},
    # A trip count.
    "polygraphy-loop": {"boxes": {"input_0": (0, 30)}},
}
OPEN["genai-gpt2-tiny-fp16"] = OPEN["genai-gpt2-tiny-fp32"]

# Models that ONNX Runtime does not load, and the words of its complaint.
NOT_RUN = {"deeploy-cct2-ft1-train": "First input does not have rank 2"}


def read_feeds(file, path):
    """A sample that lies beside a model."""
    names = {value.name for value in onnx.load(path).graph.input}
    with numpy.load(file) as arrays:
        return [dict(arrays)] if set(arrays.files) <= names else []


def shared_subjects():
    """Subject by the name of its test."""
    subjects = {}
    for path in sorted(SHARED.rglob("*.onnx")) if SHARED.is_dir() else []:
        given = OPEN.get(path.stem, {})
        beside = SHARED / "sidecar" / path.stem
        feeds = read_feeds(beside / "inputs.npz", path) if (
            beside / "inputs.npz").exists() else []
        subjects[path.stem] = Subject(path, given.get("dims", {}), given.get("boxes", {}), feeds)
        for file in sorted(beside.glob("*.vnnlib")):
            (name,) = inputs_of(path)
            subjects[file.stem] = Subject(path, boxes={name: read_vnnlib_box(file)})
    return subjects


def inputs_of(path):
    graph = onnx.load(path).graph
    return {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}


SUBJECTS = shared_subjects()
ZOO_MODELS = [folder for zoo in ZOOS for folder in sorted(zoo.iterdir())
              if (folder / "truth.json").exists()]


def check(name, subject, precision, folder, samples):
    result = compare(subject, precision, folder, samples)
    print(f"{name} {precision}: {result.tensors} tensors, {result.values} values "
          f"of {result.samples} samples")
    assert not result.problems, "\n".join(result.problems.values())
    assert not result.missing
    assert result.tensors


def test_models_are_there():
    """In CI a missing folder is a failure, not a skip."""
    if not SUBJECTS:
        assert not os.environ.get("CI"), f"no models in {SHARED}"
        pytest.skip(f"no models in {SHARED}")
    assert "acasxu_prop1" in SUBJECTS


@pytest.mark.parametrize("precision", ["as-is", "fp16"])
@pytest.mark.parametrize("name", SUBJECTS)
def test_shared_model(name, precision, tmp_path):
    if name in NOT_RUN:
        with pytest.raises(Exception, match=NOT_RUN[name]) as error:
            check(name, SUBJECTS[name], precision, tmp_path, 1)
        print(f"{name}: not run, ONNX Runtime says: {error.value}")
        return
    check(name, SUBJECTS[name], precision, tmp_path, 8)


@pytest.mark.parametrize("precision", ["as-is", "fp16"])
@pytest.mark.parametrize("folder", ZOO_MODELS, ids=lambda folder: folder.name)
def test_zoo_model(folder, precision, tmp_path):
    check(folder.name, read_zoo_model(folder), precision, tmp_path, 8)


def test_a_wrong_bound_is_seen(tmp_path):
    """The comparison itself: a model whose input leaves the declared box."""
    graph = onnx.parser.parse_graph("g (float[4] x) => (float[4] y) { y = Exp (x) }")
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)],
                                   ir_version=9)
    onnx.save(model, tmp_path / "exp.onnx")
    inside = Subject(tmp_path / "exp.onnx", boxes={"x": (0, 1)})
    assert compare(inside, "as-is", tmp_path).problems == {}
    outside = Subject(inside.path, boxes=inside.boxes,
                      feeds=[{"x": numpy.array([0, 1, 2, 0.5], numpy.float32)}])
    for precision in ("as-is", "fp16"):
        assert set(compare(outside, precision, tmp_path).problems) == {"x", "y"}

"""Every value that ONNX Runtime, or for other frameworks' ops NumPy, computes lies in
the bounds that mpopt states; and every op with a transfer function is tried often."""

import numpy
import pytest
import soundness
import soundness_ir
from soundness_counts import Counts
from soundness_rounds import LISTS, ROUNDS, SAMPLES, SEVERAL, repeats
from tool import ROOT, list_ops

# Ops that have no row in the table, and why.
UNTRIED = {
    **dict.fromkeys(["mp.bit_cast", "mp.gradient", "mp.opaque"], "no transfer function"),
    **dict.fromkeys(["mp.constant", "mp.yield"], "nothing to compute"),
    **dict.fromkeys(["mp.string_concat", "mp.string_normalizer", "mp.string_split",
                     "mp.regex_full_match"], "strings"),
    "mp.image_decoder": "pixels of a file, a range by type",
    "mp.optional": "nothing is said of it, but of mp.optional_get_element",
    "mp.clip_grad_norm": "a list of gradients, which has no range of its own",
    **dict.fromkeys(["mp.custom", "mp.custom_grad"], "a project states the range: cli/test_custom_ops.py"),
}
UNTRIED.update(dict.fromkeys([f"mp.{name}_grad" for name in ("det", "mean_variance_norm")],
                             "no bounds: its results are unknown"))
# Ops whose operands and attributes hardly vary.
ALIKE = {"mp.sequence_empty"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("format", soundness.FORMATS)
@pytest.mark.parametrize("cases", LISTS)
def test_bounds_hold(rounds, cases, format, seed):
    result = rounds[cases, format, seed].result()
    assert not result.complaints, "\n".join(result.complaints.values())
    assert result.compared >= SAMPLES * repeats(cases) * len(LISTS[cases])


def test_every_family_has_cases():
    families = {folder.name.lower() for folder in (ROOT / "lib/Ranges/Ops").iterdir() if folder.is_dir()}
    assert LISTS.keys() - set(SEVERAL) == families


@pytest.mark.slow
def test_every_op_is_tried(rounds):
    """Prints the table of docs/soundness.md; a new op without cases fails here."""
    counts = Counts()
    for round in rounds.values():
        counts.update(round.result().counts)
    print(counts.table(soundness.FORMATS))
    ops = list_ops()
    assert len(ops) > 200 and not UNTRIED.keys() - ops
    lacking = counts.lacking(ops - UNTRIED.keys(), soundness.FORMATS)
    for (name, dtype), (cases, configurations) in list(lacking.items()):
        if name in ALIKE and cases:
            del lacking[name, dtype]
    assert not lacking
    assert not UNTRIED.keys() & {name for name, _ in counts.cases}


def test_a_value_outside_is_seen():
    said = {"lo": -1, "hi": 1, "nan": False, "posinf": False, "neginf": False,
            "min_nonzero": 0.5}
    for values, word in (([1.5], "computed"), ([0.25], "min_nonzero"),
                         ([numpy.nan], "nan"), ([numpy.inf], "posinf")):
        array = numpy.array(values, numpy.float32)
        assert word in soundness.outside("t", array, array, said)
    inside = numpy.array([0.5, -1, 0], numpy.float32)
    assert soundness.outside("t", inside, inside, said) is None


def test_a_wrong_reference_is_seen():
    """The comparison of ops in NumPy itself."""
    def wrong(draw):
        draw.op("square", [draw.box((4,), 1, 2)], lambda x: x * x * x)
    result = soundness_ir.check_round({"wrong": wrong}, 0, soundness.FORMATS["fp32"])
    assert len(result.complaints) == 1

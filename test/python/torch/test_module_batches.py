"""mpopt.check of modules with batches of every kind, and those of transformers as they are."""

import dataclasses
import re
import warnings

import pytest
from tool import BUILD

import mpopt
from mpopt import _torch_ops

torch = pytest.importorskip("torch")


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, a, b, scale=1.0):
        made = self.layer(a) + b
        return {"total": made * scale, "parts": (made, a)}


A, B = torch.randn(2, 4), torch.randn(2, 3)


@pytest.mark.parametrize("batch", [
    (A, B), [A, B], (A.numpy(), B.numpy()), {"a": A, "b": B}, {"b": B, "a": A, "scale": 2.0}],
    ids=["tuple", "list", "numpy", "mapping", "setting"])
def test_batches(batch):
    report = mpopt.check(Two(), batch, precision="fp16")
    assert {entry.input for entry in report.assumptions} == {"a", "b"}
    assert report.path == "Two" and report.format == "exported-program"
    assert "total" in report.outputs


def test_a_tensor_is_a_batch():
    report = mpopt.check(torch.nn.Linear(4, 3), A, precision="fp16")
    assert report.known and report.path == "Linear"


@dataclasses.dataclass
class Record:
    total: torch.Tensor
    parts: tuple


class OfRecords(Two):
    """Takes a nested mapping as its one argument, and returns a dataclass that is no registered pytree node."""

    def forward(self, batch):
        made = self.layer(batch["inputs"]["a"])
        return Record(made + batch["b"], (made,))


def test_a_nested_mapping_and_a_dataclass():
    batch = {"inputs": {"a": A}, "b": B}
    for given in (batch, (batch,), {"batch": batch}):
        report = mpopt.check(OfRecords(), given, precision="fp16")
        assert report.known and list(report.outputs) == ["total", "parts_0"]


def test_values_that_are_nowhere():
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(A))
    with torch.device("meta"):
        empty = torch.nn.Linear(4, 3)
    for module, batch, text in ((empty, A, "the module has no values: .*'meta'"),
                                (torch.nn.Linear(4, 3), A.to("meta"), "the batch has no values: .*'meta'"),
                                (torch.nn.Linear(4, 3), loader, r"a loader: .*next\(iter\(loader\)\)")):
        with pytest.raises(mpopt.Error, match=text):
            mpopt.check(module, batch)


def test_a_batch_of_a_loader_is_a_list():
    data = torch.utils.data.TensorDataset(A, torch.tensor([0, 2]))
    batch = next(iter(torch.utils.data.DataLoader(data, batch_size=2)))
    report = mpopt.check_training(torch.nn.Linear(4, 3), batch, loss=torch.nn.CrossEntropyLoss())
    assert "loss" in report.outputs


class OfKeywords(torch.nn.Linear):
    """It takes whatever a record holds."""

    def forward(self, **record):
        return super().forward(record["class"])


def test_a_key_that_is_no_identifier_is_one_line():
    """PyTorch itself neither exports nor traces a keyword of that name."""
    with pytest.raises(mpopt.Error, match="the module cannot be exported .* or traced .*'class'"):
        mpopt.check(OfKeywords(4, 3), {"class": A}, precision="fp16")


def test_wrappers_are_taken_off():
    plain = torch.nn.Linear(4, 3)
    for wrapped in (torch.compile(plain), torch.nn.DataParallel(plain)):
        report = mpopt.check(wrapped, A, precision="fp16")
        assert (report.path, report.format) == ("Linear", "exported-program")


class Branches(torch.nn.Module):
    """One that `torch.export` does not follow, and `torch.jit.trace` does with a warning."""

    def forward(self, x, flag=True):
        return x * 2 if flag and x.sum() > 0 else x


with_reader = pytest.mark.skipif(bool(_torch_ops._misfit(BUILD / "lib" / "libmpopt_torch.so", torch.__version__)),
                                 reason="archives of TorchScript are read by the pinned PyTorch")


@with_reader
def test_what_is_not_exported_is_traced_without_warnings(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in (A.abs(), {"x": A.abs(), "flag": True}):
            report = mpopt.check(Branches(), batch)
            assert report.format == "torchscript"
            assert re.search(r"\ntraced: judged on the path that this batch takes, .*\(.+\)$", str(report))
    # `torch.export` prints the graph of a module that it gives up.
    assert capfd.readouterr() == ("", "")


class Priced(torch.nn.Linear):
    """The loss broadcasts the output."""

    def forward(self, x, y):
        price = super().forward(x)
        return {"price": price, "loss": torch.nn.functional.smooth_l1_loss(price, y)}


def test_an_output_keeps_its_name_behind_an_op_that_gives_it_back():
    report = mpopt.check(Priced(4, 2), {"x": A, "y": torch.ones(A.shape[0], 2)})
    assert set(report.outputs) == {"price", "loss"}


@with_reader
def test_a_loss_that_is_not_exported_is_traced():
    """`torch.export` has no lengths of CTC."""
    ctc = torch.nn.functional.ctc_loss

    def loss(model, batch):
        x, lengths, targets, sizes = batch
        return ctc(model(x).log_softmax(-1), targets, lengths, sizes)

    batch = torch.randn(9, 2, 4), torch.tensor([9, 7]), torch.randint(1, 5, (2, 3)), torch.tensor([3, 2])
    report = mpopt.check_training(torch.nn.Linear(4, 5), batch, loss=loss, precision="16-mixed")
    assert report.format == "torchscript" and set(report.gradients) == {"weight", "bias"}


class Neither(torch.nn.Module):
    def forward(self, x):
        return object() if x.sum() > 0 else x


def test_the_error_says_why_there_is_no_program():
    with pytest.raises(mpopt.Error) as caught:
        mpopt.check(Neither(), A.abs())
    text = str(caught.value)
    assert "cannot be exported (Could not guard on data-dependent" in text
    assert "or traced (" in text and "\n" not in text and len(text) < 800


def test_a_batch_of_a_wrong_shape_is_one_line(capfd):
    with pytest.raises(mpopt.Error, match=r"^the module does not run on the batch \(mat1 and mat2 shapes cannot be multiplied"):
        mpopt.check(torch.nn.Linear(4, 2), torch.ones(3, 5))
    assert capfd.readouterr() == ("", "")


def test_a_name_that_is_missing_is_answered_with_others():
    report = mpopt.check_training(torch.nn.Linear(4, 2), torch.ones(3, 4), precision="fp16")
    with pytest.raises(KeyError, match="'weigt' is none of 'weight', 'bias'"):
        report.gradients["weigt"]
    with pytest.raises(KeyError, match="'logits' is none of 'linear'"):
        report.outputs["logits"]


@pytest.mark.parametrize("spelling, precision", [
    (torch.float16, "fp16"), ("half", "fp16"), ("16-true", "fp16"), ("float16", "fp16"),
    (torch.bfloat16, "bf16"), ("bf16-true", "bf16"), ("bfloat16", "bf16"), ("BF16", "bf16"),
    ("16-mixed", "autocast-fp16"), ("bf16-mixed", "autocast-bf16"), (16, "autocast-fp16"),
    (torch.autocast("cpu", torch.bfloat16), "autocast-bf16"),
    ("no", "as-is"), ("32-true", "as-is"), (torch.float32, "as-is"), ("as_is", "as-is")], ids=str)
def test_precisions_of_frameworks(spelling, precision):
    assert mpopt.check(torch.nn.ReLU(), A, precision=spelling).precision == precision


@pytest.mark.parametrize("wrong", ["fp8", None, "bogus"])
def test_other_precisions_are_refused(wrong):
    with pytest.raises(mpopt.Error, match=r"precision: .* is not auto, as-is, fp16|precision fp8 goes with train"):
        mpopt.check(torch.nn.ReLU(), A, precision=wrong)


def test_errors_name_keywords():
    with pytest.raises(mpopt.Error, match="^inputs: the model has no input 'nothing'"):
        mpopt.check(torch.nn.ReLU(), A, inputs={"nothing": (0, 1)})
    with pytest.raises(mpopt.Error, match="^thresholds: "):
        mpopt.check(torch.nn.ReLU(), A, thresholds={"nothing": 1})


# -- transformers ---------------------------------------------------------------------------

def _make(name):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_layer=1, n_embd=16, n_head=2, vocab_size=50, n_positions=32, bos_token_id=1,
            eos_token_id=1)).eval()
    if name == "llama":
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(
            num_hidden_layers=1, hidden_size=16, intermediate_size=32, num_attention_heads=2,
            num_key_value_heads=1, vocab_size=50)).eval()
    if name == "t5":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            num_layers=1, d_model=16, d_kv=8, d_ff=32, num_heads=2, vocab_size=50,
            decoder_start_token_id=0)).eval()
    return transformers.ViTForImageClassification(transformers.ViTConfig(
        num_hidden_layers=1, hidden_size=16, intermediate_size=32, num_attention_heads=2,
        image_size=16, patch_size=8)).eval()


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "vit"])
def test_models_of_transformers_need_no_batch(name):
    module = _make(name)
    report = mpopt.check(module, precision="autocast-fp16")
    assert report.format == "exported-program" and report.outputs["logits"].verdict == "fine"
    cache = getattr(module.config, "use_cache", None)
    assert cache in (None, True)


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_outputs_have_the_names_of_the_record(name):
    ids = torch.randint(0, 50, (2, 8))
    report = mpopt.check(_make(name), {"input_ids": ids, "labels": ids}, precision="bf16")
    assert list(report.outputs)[:2] == ["loss", "logits"]
    assert {entry.input for entry in report.assumptions} == {"input_ids", "labels"}


def test_a_model_inside_a_module_has_its_cache_off():
    class Wrapper(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = _make("gpt2")

        def forward(self, ids):
            return self.inner(input_ids=ids)

    module = Wrapper()
    assert "logits" in mpopt.check(module, torch.randint(0, 50, (2, 8))).outputs
    assert module.inner.config.use_cache


@with_reader
def test_instrument_traces_a_model_of_transformers(tmp_path):
    ids = torch.randint(0, 50, (2, 8))
    probed = mpopt.instrument(_make("gpt2"), tmp_path / "p.pt", precision="autocast-fp16",
                              example_inputs={"input_ids": ids, "labels": ids}, train=True)
    assert probed.probes

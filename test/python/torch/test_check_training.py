"""mpopt.check_training with live objects of PyTorch: losses, optimizers, scalers, batches."""

import json
import types

import pytest

import mpopt
from mpopt import _training_options as training_options

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.b = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


NAMES = ["a.weight", "a.bias", "b.weight", "b.bias"]
X, Y = torch.randn(2, 8), torch.tensor([0, 3])


def step(model, batch):
    x, y = batch
    return torch.nn.functional.cross_entropy(model(x), y)


def step_of_mapping(model, batch):
    return {"loss": torch.nn.functional.cross_entropy(model(batch["x"]), batch["labels"])}


@pytest.mark.parametrize("loss, batch, outputs", [
    (torch.nn.CrossEntropyLoss(), (X, Y), ["loss", "prediction"]),
    (torch.nn.CrossEntropyLoss(weight=torch.ones(4)), {"x": X, "labels": Y}, ["loss", "prediction"]),
    (torch.nn.functional.cross_entropy, ({"x": X}, Y), ["loss", "prediction"]),
    (step, (X, Y), ["loss"]), (step_of_mapping, {"x": X, "labels": Y}, ["loss"])],
    ids=["module", "mapping", "function", "step", "step-mapping"])
def test_losses_are_exported_with_the_module(loss, batch, outputs):
    net = Net()
    report = mpopt.check_training(net, batch, loss=loss, precision="16-mixed")
    assert isinstance(report, mpopt.TrainingReport) and report.path == "Net"
    assert list(report.outputs) == outputs and report.training["loss"] == ["sum:loss"]
    assert list(report.gradients) == NAMES
    scale = report.loss_scale
    assert 2.0**scale.lo <= scale.recommended <= 2.0**scale.hi and scale.above and scale.needed
    assert type(net) is Net and "forward" not in vars(net)


def test_terms_of_the_command_line():
    report = mpopt.check_training(Net(), X, loss="cross-entropy:b/linear_1,labels", precision="fp16")
    assert report.training["loss"] == ["cross-entropy:b/linear_1,labels"]
    assert "training step: loss" in str(report)
    gradient = report.gradients["b.bias"]
    assert gradient.dtype == "f16" and gradient.shape == (4,) and 0 < gradient.rms <= gradient.absmax
    assert gradient.lost < 0.1 and 0 < gradient.expected_error < 0.1
    assert report.memory is None


def test_a_term_describes_the_target_that_the_batch_has():
    report = mpopt.check_training(Net(), (X, Y), loss="cross-entropy", precision="fp16")
    assert report.training["loss"] == ["cross-entropy:b/linear_1,target"]


def test_memory_and_files(tmp_path):
    report = mpopt.check_training(Net(), (X, Y), loss=step, memory=True, batch_size=2,
                                  optimizer="adamw:lr=1e-3", dump_gradients=tmp_path / "g.json")
    assert report.memory["optimizer"] == "adamw" and (tmp_path / "g.json").stat().st_size
    assert "memory: one rank" in str(report)
    page = report._repr_html_()
    assert "Gradients of 4 parameters" in page and "loss scale: " in page


def test_fail_on():
    net = Net()
    with pytest.raises(mpopt.FindingsError, match="MP407") as caught:
        mpopt.check_training(net, (X, Y), loss=step, precision="fp16", fail_on="error",
                             optimizer=torch.optim.AdamW(net.parameters()))
    assert caught.value.report.by_rule("MP407")


@pytest.mark.parametrize("optimizer, text", [
    (torch.optim.AdamW(Net().parameters(), lr=1e-3, eps=1e-7),
     "AdamW,lr=0.001,eps=1e-07,betas=0.9,0.999,weight_decay=0.01"),
    (torch.optim.SGD(Net().parameters(), lr=0.5, momentum=0.9),
     "SGD,lr=0.5,momentum=0.9,weight_decay=0.0"),
    (types.SimpleNamespace(optimizer=torch.optim.Adagrad(Net().parameters(), lr=0.5)),
     "Adagrad,lr=0.5,eps=1e-10,weight_decay=0.0"),
    ("adamw:lr=1e-4", "adamw,lr=1e-4")], ids=["adamw", "sgd", "wrapped", "text"])
def test_optimizers(optimizer, text):
    assert training_options.optimizer_text(optimizer) == text


def test_an_optimizer_has_the_settings_of_most_of_its_parameters():
    net = Net()
    groups = [{"params": [net.a.bias, net.b.bias], "lr": 1.0}, {"params": [net.a.weight], "lr": 2.0}]
    text = training_options.optimizer_text(torch.optim.SGD(groups, lr=3.0))
    assert text.startswith("SGD,lr=2.0,")


@pytest.mark.parametrize("scaler, text", [
    (torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=100),
     "dynamic,initial=1024.0,growth=2.0,backoff=0.5,interval=100"),
    (torch.amp.GradScaler("cpu", enabled=False), "none"),
    (512, "512.0"), ("dynamic:initial=4", "dynamic,initial=4"), (False, "none")], ids=str)
def test_scalers(scaler, text):
    assert training_options.scaler_text(scaler) == text


@pytest.mark.parametrize("batch, text", [
    (8, "8"), (mpopt.Batch(8, accumulate=2, world=4), "8,accumulate=2,world=4"),
    ({"micro": 4}, "4,accumulate=1,world=1"), ("4:world=2", "4,world=2"),
    (mpopt.Batch(world=2), "accumulate=1,world=2")], ids=str)
def test_batch_sizes(batch, text):
    assert training_options.batch_text(batch) == text


@pytest.mark.parametrize("reduce, text", [(torch.float16, "f16"), ("fp16,after", "f16,after")],
                         ids=str)
def test_reductions(reduce, text):
    assert training_options.reduce_text(reduce) == text


CONFIG = {"output_dir": "out", "fp16": True, "learning_rate": 1e-4,
          "per_device_train_batch_size": 4}


def test_configurations(tmp_path):
    file = tmp_path / "args.json"
    file.write_text(json.dumps(CONFIG))
    live = types.SimpleNamespace(to_json_string=lambda: json.dumps(CONFIG))
    net = Net()
    reports = [mpopt.check_training(net, (X, Y), loss=step, config=config)
               for config in (CONFIG, file, live)]
    assert {report.precision for report in reports} == {"autocast-fp16"}
    # A setting says where it is from: the file, or the argument.
    sources = [{setting.pop("source") for setting in report.raw["training"]["settings"]} for report in reports]
    assert sources[0] == sources[2] == {"config"} and sources[1] == {str(file)}
    assert reports[0].raw["training"] == reports[1].raw["training"] == reports[2].raw["training"]
    other = mpopt.check_training(Net(), (X, Y), loss=step, config=CONFIG, precision="bf16")
    assert other.precision == "bf16"


@pytest.mark.parametrize("how, text", [
    ({"optimizer": 3}, "optimizer: a torch.optim.Optimizer or a text, not int"),
    ({"optimizer": "adamw,speed=3"}, "optimizer: "), ({"scaler": []}, "scaler: a torch.amp"),
    ({"clip": "much"}, "clip: "), ({"batch_size": {"large": 3}}, "batch_size: "),
    ({"config": 3}, "config: a path, a mapping, TrainingArguments, an Accelerator or a trainer, not int"),
    ({"config": "training_args.bin"}, "config: 'training_args.bin' is a pickle"),
    ({"config": {"optimizer": {"name": 3}, "schema": "mpopt-train-config/1"}}, ""),
    ({"loss": None}, "loss: the batch has 2 members, forward takes 1: "),
    ({"loss": 3}, "loss: "), ({"loss": torch.nn.MSELoss(), "batch": X}, "loss: with a loss of"),
    ({"loss": step, "batch": None}, "loss: a callable needs a batch"),
    ({"loss": "mse:nothing,y"}, "")], ids=str)
def test_errors_are_one_line(how, text):
    with pytest.raises(mpopt.Error) as caught:
        mpopt.check_training(Net(), **{"batch": (X, Y), "loss": step, **how})
    assert str(caught.value).startswith(text) and "\n" not in str(caught.value)


@pytest.mark.parametrize("has_batch", [False, True])
def test_a_model_of_transformers_has_its_own_loss(has_batch):
    transformers = pytest.importorskip("transformers")
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=1, n_embd=16, n_head=2, vocab_size=50, n_positions=32, bos_token_id=1,
        eos_token_id=1)).eval()
    ids = torch.randint(0, 50, (2, 8))
    batch = {"input_ids": ids, "labels": ids} if has_batch else None
    report = mpopt.check_training(module, batch, precision="16-mixed")
    assert report.training["loss"] == ["sum:loss"] and report.loss_scale.needed
    assert "transformer.h.0.attn.c_attn.weight" in report.gradients
    # One tensor given twice is two inputs.
    bounds = {each.input: each.bound for each in report.assumptions}
    assert bounds["input_ids"] == mpopt.Interval(0, 49)


def test_a_forward_under_autocast_keeps_the_names_of_its_outputs():
    """Accelerate, and so the Trainer of transformers, puts `forward` of a model into a region of autocast."""
    class Classifier(Net):
        def forward(self, x, labels):
            logits = super().forward(x)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    net = Classifier()
    net.forward = torch.autocast("cpu", torch.bfloat16)(net.forward)
    report = mpopt.check_training(net, {"x": X, "labels": Y}, precision="bf16-mixed")
    assert list(report.outputs) == ["loss", "logits"] and report.training["loss"] == ["sum:loss"]
    assert list(report.gradients) == NAMES


@pytest.mark.parametrize("loss", [
    torch.nn.CrossEntropyLoss(), lambda model, batch: torch.nn.functional.cross_entropy(model(batch[0]), batch[1])],
    ids=["pair", "step"])
def test_a_forward_that_is_replaced_on_the_module(loss):
    """As Accelerate prepares a model."""
    model = Net()
    before = mpopt.check_training(model, (X, Y), loss=loss).gradients["b.weight"].rms
    plain = model.forward.__func__
    model.forward = types.MethodType(lambda self, x: 1e-2 * plain(self, x), model)
    after = mpopt.check_training(model, (X, Y), loss=loss).gradients["b.weight"].rms
    assert 0.002 * before < after < 0.05 * before and "forward" in vars(model)

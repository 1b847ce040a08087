"""`config` of check_training as the live object of a library: what the report takes from it is what
the library's file says. Libraries that are not here are stood for by objects with their attributes."""

import enum
import types

import pytest

import mpopt
from mpopt import _live_configs
from mpopt import _training_options as training_options

torch = pytest.importorskip("torch")

X, Y = torch.randn(2, 8), torch.tensor([0, 3])


class Kind(enum.Enum):
    DDP = "MULTI_GPU"


def check(config, **options):
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4)
    return mpopt.check_training(model, (X, Y), loss=torch.nn.CrossEntropyLoss(), config=config, **options).raw


def judged(config):
    """The precision and all that a report says of the training, with what a rank holds and sends."""
    raw = check(config, optimizer="adamw", memory=True)
    return raw["precision"], raw["training"], raw.get("memory")


def words(config, folder, **others):
    """The options that `config` becomes, by name."""
    given = dict.fromkeys(("loss", "optimizer", "scaler", "clip", "batch_size", "reduce", "loss_value")) | others
    made = training_options.options(folder, config=config, memory=False, **given)
    return dict(zip(made[1::2], made[2::2], strict=True))


def accelerator(**others):
    return types.SimpleNamespace(**{"mixed_precision": "fp16", "gradient_accumulation_steps": 4, "num_processes": 2,
                                    "distributed_type": Kind.DDP, "state": types.SimpleNamespace(), **others})


def trainer(**others):
    return types.SimpleNamespace(**{"precision": "16-mixed", "accumulate_grad_batches": 2, "gradient_clip_val": 0.5, "num_devices": 4,
                                    "num_nodes": 1, "strategy": types.SimpleNamespace(strategy_name="ddp"), **others})


def test_an_accelerator_is_its_file():
    file = {"compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU", "mixed_precision": "fp16",
            "num_processes": 2, "gradient_accumulation_steps": 4}
    live = judged(accelerator())
    assert live[0] == "autocast-fp16"
    assert live == judged(file)


def test_an_accelerator_under_deepspeed():
    plugin = types.SimpleNamespace(deepspeed_config={"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True},
                                                     "zero_optimization": {"stage": 2}})
    live = check(accelerator(state=types.SimpleNamespace(deepspeed_plugin=plugin)))
    assert live["precision"] == check(plugin.deepspeed_config)["precision"]


def test_the_scaler_of_an_accelerator_is_taken(tmp_path):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    assert "initial=1024" in words(accelerator(scaler=scaler), tmp_path)["--scaler"]
    assert words(accelerator(scaler=scaler), tmp_path, scaler="none")["--scaler"] == "none"
    assert "--scaler" not in words(accelerator(), tmp_path)


def test_a_trainer_of_lightning_is_its_file():
    file = {"trainer": {"precision": "16-mixed", "accumulate_grad_batches": 2, "gradient_clip_val": 0.5, "devices": 4,
                        "num_nodes": 1, "strategy": "ddp"}}
    live = judged(trainer())
    assert live[0] == "autocast-fp16"
    assert live == judged(file)


def test_the_optimizer_of_a_trainer_is_taken_unless_another_is_given(tmp_path):
    own = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.25)
    assert words(trainer(optimizers=[own]), tmp_path)["--optimizer"].startswith("SGD,lr=0.25")
    assert words(trainer(optimizers=[own]), tmp_path, optimizer="adamw,lr=0.125")["--optimizer"] == "adamw,lr=0.125"


def test_what_is_no_object_of_a_library():
    assert _live_configs.read({"fp16": {"enabled": True}}) is None
    assert _live_configs.read("train.yaml") is None
    with pytest.raises(mpopt.Error, match="an Accelerator or a trainer, not object"):
        check(object())


def test_accelerate_itself():
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not in this environment")
    live = accelerate.Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=3)
    assert check(live)["precision"] == "autocast-bf16"


def test_lightning_itself(tmp_path):
    lightning = pytest.importorskip("lightning", reason="lightning is not in this environment")
    live = lightning.Trainer(accelerator="cpu", precision="bf16-mixed", accumulate_grad_batches=3, logger=False,
                             default_root_dir=tmp_path)
    assert check(live)["precision"] == "autocast-bf16"

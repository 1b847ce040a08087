"""A loss of PyTorch as part of the module that is exported."""

import copy
from collections.abc import Mapping

from mpopt import _batches, _modules
from mpopt._command import Error

#: The names that data sets give the target in a batch.
_TARGETS = ("labels", "label", "targets", "target", "y")


def label_batch(module):
    """A batch by the configuration of a module of transformers, with labels if it takes them:
    the tokens of a language model, the first class of another."""
    import torch

    batch = _modules.example_batch(module)
    if not _batches.is_mapping(batch) or "labels" not in _modules.parameters_of(module):
        return batch
    first = batch[module.main_input_name]
    name = type(module).__name__
    is_language = any(word in name for word in ("LMHead", "ForCausalLM", "ForConditionalGeneration",
                                                "ForMaskedLM"))
    labels = first.clone() if is_language else torch.zeros(first.shape[0], dtype=torch.long)
    return {**batch, "labels": labels}


def without_targets(module, batch: tuple, loss) -> tuple:
    """The arguments of `forward` among `(input, target)`. The terms of a loss describe targets by name;
    without a loss a target has no use, which is an error."""
    module = _modules.unwrap(module)
    positional = _modules.positional_names(module)
    if not positional or _modules.takes_any_number(module) or len(batch) <= len(positional):
        return batch
    if loss is None:
        raise Error(f"loss: the batch has {len(batch)} members, forward takes {len(positional)}: "
                    "say how the others are used, as loss=torch.nn.CrossEntropyLoss()")
    return batch[:len(positional)]


def _name_arguments(module, arguments: tuple) -> dict:
    names = list(_modules.parameters_of(module))
    if len(names) < len(arguments) or _modules.takes_any_number(module):
        names = [f"input_{index}" for index in range(len(arguments))]
    return dict(zip(names, arguments, strict=False))


def _split_target(batch):
    """The arguments of the module, and the target of the loss."""
    if _batches.is_mapping(batch):
        name = next((name for name in _TARGETS if name in batch), None)
        if name is None:
            raise Error(f"loss: the batch has no target: none of {', '.join(_TARGETS)}")
        return {key: value for key, value in batch.items() if key != name}, batch[name]
    if not isinstance(batch, list | tuple) or len(batch) < 2:
        raise Error("loss: with a loss of prediction and target, the batch is (input, target)")
    *inputs, target = batch
    return (inputs[0] if len(inputs) == 1 else tuple(inputs)), target


def _join_prediction(module, loss, batch):
    """The module with a loss of prediction and target, and the batch by names."""
    inputs, target = _split_target(batch)
    arguments, keywords = _modules.split_batch(module, inputs)
    first = _name_arguments(module, arguments)
    plain = _modules.plain_forward(module)
    name = "target" if "target" not in {*first, *keywords} else "loss_target"

    def forward(self, **named):
        positional = [named.pop(key) for key in first]
        expected = named.pop(name)
        made = plain(self, *positional, **named)
        prediction = made.get("logits", made) if isinstance(made, Mapping) else made
        outputs = {"loss": loss(prediction, expected)}
        if isinstance(made, Mapping):
            outputs.update((key, value) for key, value in made.items() if key != "loss")
        else:
            outputs["prediction"] = made
        return outputs

    batch = {**first, **keywords, name: target}
    _modules.describe_keywords(forward, batch)
    return _modules.with_forward(module, forward), batch


def _join_step(module, loss, batch):
    """The module whose forward pass is `loss(model, batch)`, and the batch by names."""
    is_mapping, is_tuple = _batches.is_mapping(batch), isinstance(batch, list | tuple)
    if is_mapping:
        named = dict(batch.items())
    else:
        members = tuple(batch) if is_tuple else (batch,)
        named = {f"batch_{index}": member for index, member in enumerate(members)}
    kind, own = type(module), {key: each for key, each in vars(module).items() if key == "forward"}

    def forward(self, **given):
        # Parameters are those of the copy that is exported.
        model = copy.copy(self)
        model.__class__ = kind
        vars(model).update(own)
        made = loss(model, given if is_mapping else tuple(given.values()) if is_tuple
                    else next(iter(given.values())))
        made = made.get("loss") if isinstance(made, Mapping) else made
        return {"loss": made}

    _modules.describe_keywords(forward, named)
    return _modules.with_forward(module, forward), named


def join(module, loss, batch):
    """The module with its loss as the output `loss`, and the batch to export it with. `loss`:
    a module or function of PyTorch of prediction and target, or a callable of the model and
    the batch."""
    import torch

    if batch is None:
        raise Error("loss: a callable needs a batch to be exported with")
    module = _modules.unwrap(module)
    if isinstance(module, torch.jit.ScriptModule) or not isinstance(module, torch.nn.Module):
        raise Error("loss: a callable goes with a torch.nn.Module; of another model name the loss, "
                    "as 'cross-entropy:logits,labels'")
    is_pair = isinstance(loss, torch.nn.Module) or str(
        getattr(loss, "__module__", "")).startswith("torch.nn")
    return (_join_prediction if is_pair else _join_step)(module, loss, batch)

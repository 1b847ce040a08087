"""A training step judged without a run."""

from collections.abc import Mapping, Sequence

from mpopt import _command, _training_options, checking
from mpopt._command import ModelFile, PathLike
from mpopt.report import TrainingReport


def check_training(model, batch=None, *, loss=None, optimizer=None, scaler=None, precision="auto",
                   clip: float | None = None, batch_size=None, reduce=None,
                   loss_value: float | None = None, config=None, memory: bool | str | float = False,
                   inputs: Mapping | None = None, fail_on: str | None = None,
                   assume: tuple[float, float] | None = None,
                   dims: Mapping[str, int] | None = None, input_shapes: Mapping | None = None,
                   method: str | None = None, policy: PathLike | None = None,
                   target: PathLike | None = None, select: Sequence[str] | str | None = None,
                   ignore: Sequence[str] | str | None = None,
                   thresholds: Mapping[str, float] | None = None,
                   min_certainty: str = "likely", safe_input: bool = False,
                   keep_fp32: PathLike | None = None,
                   settings: PathLike | None = None, baseline: PathLike | None = None,
                   write_baseline: PathLike | None = None, dump_ranges: PathLike | None = None,
                   dump_gradients: PathLike | None = None) -> TrainingReport:
    """Judges a step of training: `mpopt --check --train`.

    model, batch   as in `check`; a model of transformers without a batch is given labels, too
    loss           None: the output `loss` of the module, else by the outputs. A module or
                   function of PyTorch of prediction and target (the batch is
                   `(input, target)`, or has `labels`); a callable of model and batch that
                   gives a scalar; a term (`"cross-entropy:logits,labels"`), or several
    optimizer      a `torch.optim.Optimizer`, or `"adamw,lr=3e-4,eps=1e-8"`
    scaler         a `torch.amp.GradScaler`, a number, `"dynamic"` or `"none"`
    clip           the maximum norm of the gradient
    batch_size     samples of a pass, or `Batch(micro, accumulate, world)`
    reduce         the dtype in which workers' gradients are summed, or `"f16,after"`
    loss_value     the loss now, as a log shows it
    config         how it is trained: a file, a mapping as in one (docs/train-config.md),
                   `TrainingArguments`, an `Accelerator`, or a trainer of transformers or
                   Lightning; the other arguments override it
    memory         True: the report has what a rank holds and sends; a size (`"24GiB"`, or
                   bytes): also what makes it fit into that
    dump_gradients a file to write with what is expected of every gradient

    The other arguments are those of `check`. Raises `mpopt.Error` as `check` does."""
    model, batch, loss = prepare(model, batch, loss)
    with ModelFile(model, batch) as file:
        if loss is None and "loss" in file.outputs:
            loss = "sum:loss"
        options = _command.judging_options(
            file.arrays, precision=_training_options.precision_of(precision, config),
            policy=policy, target=target, inputs=inputs, assume=assume, dims=dims,
            input_shapes=input_shapes, method=method, select=select, ignore=ignore,
            thresholds=thresholds)
        options += checking.report_options(min_certainty=min_certainty, safe_input=safe_input,
                                           settings=settings, baseline=baseline)
        options += _training_options.options(
            file.folder, loss=loss, optimizer=optimizer, scaler=scaler, clip=clip,
            batch_size=batch_size, reduce=reduce, loss_value=loss_value, config=config, memory=memory)
        report = checking.judge(file, options, checking.written_options(
            keep_fp32=keep_fp32, write_baseline=write_baseline, dump_ranges=dump_ranges,
            dump_gradients=dump_gradients), TrainingReport)
    if fail_on is not None:
        report.raise_if(fail_on)
    return report


def prepare(model, batch, loss):
    """The model with a loss that is a callable inside, its batch, and the terms of another loss."""
    if loss is None and batch is None and hasattr(model, "main_input_name"):
        from mpopt import _losses

        return model, _losses.label_batch(model), None
    if callable(loss):
        from mpopt import _losses

        return *_losses.join(model, loss, batch), None
    if loss is not None and not isinstance(loss, str | Sequence):
        raise _command.Error(f"loss: a callable or a text, not {type(loss).__name__}")
    if isinstance(batch, list | tuple) and hasattr(model, "forward"):
        from mpopt import _losses

        batch = _losses.without_targets(model, tuple(batch), loss)
    return model, batch, loss

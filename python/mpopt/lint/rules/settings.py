"""Settings: PyTorch's flags, old names, and frameworks' arguments that contradict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.names import list_imports
from mpopt.lint.rules import Report, rule
from mpopt.lint.values import LOW, NAMES, Value

REDUCTIONS = {"allow_fp16_reduced_precision_reduction": "FP16", "allow_bf16_reduced_precision_reduction": "BF16",
              "allow_fp16_accumulation": "FP16"}
DEPRECATED = re.compile(r"torch\.(cuda|cpu)\.amp\.(autocast|GradScaler|custom_fwd|custom_bwd)$")


@rule
def reduced_precision_reduction(program: Program) -> Iterator[Report]:
    for _, full, value, statement in program.assignments:
        prefix, _, last = full.rpartition(".")
        if prefix == "torch.backends.cuda.matmul" and last in REDUCTIONS and value.constant is True:
            yield Report(statement, f"partial sums of matrix products may be added in {REDUCTIONS[last]}",
                         fixes.assign(program.script, statement, "False"))


@rule
def low_precision_matmul(program: Program) -> Iterator[Report]:
    for _, full, value, statement in program.assignments:
        if full == "torch.backends.cuda.matmul.allow_tf32" and value.constant is True:
            yield Report(statement, "FP32 matrix products keep 10 bits of each factor (TF32): values kept in FP32 "
                         "for their digits lose them", severity="note")
    for event in program.calls_of("set_float32_matmul_precision"):
        if event.callee.name == "torch.set_float32_matmul_precision" and event.arguments:
            kind = event.arguments[0].constant
            if kind == "high":
                yield Report(event.node, "FP32 matrix products keep 10 bits of each factor (TF32): values kept in "
                             "FP32 for their digits lose them", severity="note")
            elif kind == "medium":
                yield Report(event.node, "FP32 matrix products keep 7 bits of each factor (BF16): values kept in "
                             "FP32 for their digits lose them")


@rule
def deprecated_amp(program: Program) -> Iterator[Report]:
    fallbacks = find_fallbacks(program)
    for node in program.imports:
        if id(node) in fallbacks:
            continue
        old = [full for _, full in list_imports(node) if DEPRECATED.match(full)]
        if old:
            yield Report(node, f"{' and '.join(sorted(set(old)))} {'is' if len(set(old)) == 1 else 'are'} deprecated: "
                         "torch.amp has them, with the device as first argument", fixes.modern_import(program, node))
    for event in program.calls_of("autocast", "GradScaler", "custom_fwd", "custom_bwd"):
        if id(event.node) not in fallbacks and DEPRECATED.match(event.callee.name) and "." in (path := written(program, event)):
            device = event.callee.name.split(".")[1]
            short = event.callee.name.rpartition(".")[2]
            yield Report(event.node, f"{path} is deprecated: torch.amp.{short}(\"{device}\")",
                         fixes.modern_call(program.script, event.node, device, short, path))


OLD_NAMES = re.compile(r"torch\.(cuda|cpu)(\.amp| import amp)")
NEW_NAMES = re.compile(r"\btorch\.amp\.|from torch\.amp|torch\.(autocast|GradScaler)\(|hasattr\(torch")
NEW_IMPORT = re.compile(r"from torch import ([^\n]*)")
SHORT_NAME = re.compile(r"\b(autocast|GradScaler)\b")
VERSION = re.compile(r"version|torch_?\d", re.I)


def has_new_names(code: str) -> bool:
    return bool(NEW_NAMES.search(code)) or any(SHORT_NAME.search(names) for names in NEW_IMPORT.findall(code))


def chooses(program: Program, node: ast.AST) -> bool:
    """True if a branch or a function has the new names, too."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        code = program.script.code(node)
        return has_new_names(code) and bool(VERSION.search(code))
    return isinstance(node, (ast.If, ast.IfExp, ast.Try)) and has_new_names(program.script.code(node))


def find_fallbacks(program: Program) -> set[int]:
    """The imports and calls in branches and functions that have the new names, too: those
    of a script that runs under older versions of PyTorch as well."""
    if not OLD_NAMES.search(program.script.text) or not has_new_names(program.script.text):
        return set()
    found: set[int] = set()
    pending: list[ast.AST] = [program.script.tree]
    while pending:
        node = pending.pop()
        if chooses(program, node):
            found |= {id(inner) for inner in ast.walk(node) if isinstance(inner, (ast.Call, ast.Import, ast.ImportFrom))}
        else:
            pending += ast.iter_child_nodes(node)
    return found


def written(program: Program, event: Event) -> str:
    """The callee of a call, as it is written."""
    return program.script.code(event.node.func) if hasattr(event.node, "func") else ""


@rule
def apex_amp(program: Program) -> Iterator[Report]:
    for event in program.calls_of("initialize", "scale_loss"):
        if event.callee.name in ("apex.amp.initialize", "apex.amp.scale_loss"):
            yield Report(event.node, f"{event.callee.name} is no longer developed, and patches PyTorch's functions: "
                         "torch.amp.autocast and torch.amp.GradScaler")


def entry(mapping: Value, *keys: str) -> Value | None:
    for key in keys:
        if mapping.kind != values.MAPPING or key not in mapping.parts:
            return None
        mapping = mapping.parts[key]
    return mapping


def is_true(value: Value | None) -> bool:
    return value is not None and value.constant is True


DEEPSPEED_KEYS = {"fp16", "bf16", "bfloat16", "zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size"}


def list_deepspeed(program: Program) -> list[Value]:
    """The configurations of DeepSpeed that the program shows."""
    return [mapping for mapping in program.mappings if len(DEEPSPEED_KEYS & mapping.parts.keys()) >= 2]


@rule
def deepspeed_conflict(program: Program) -> Iterator[Report]:
    for mapping in list_deepspeed(program):
        fp16 = is_true(entry(mapping, "fp16", "enabled"))
        bf16 = is_true(entry(mapping, "bf16", "enabled")) or is_true(entry(mapping, "bfloat16", "enabled"))
        amp = is_true(entry(mapping, "amp", "enabled"))
        if fp16 and bf16:
            yield Report(mapping.origin, "the DeepSpeed configuration enables both fp16 and bf16")
        if amp and (fp16 or bf16):
            yield Report(mapping.origin, "the DeepSpeed configuration enables amp beside fp16 or bf16")
        scale = entry(mapping, "fp16", "loss_scale")
        if fp16 and scale is not None and isinstance(scale.constant, (int, float)) and scale.constant > 0 \
                and entry(mapping, "fp16", "initial_scale_power") is not None:
            yield Report(mapping.origin, f"loss_scale {scale.constant:g} is a fixed scale, and initial_scale_power "
                         "is for a dynamic one (loss_scale 0)")
        sizes = [entry(mapping, key) for key in ("train_batch_size", "train_micro_batch_size_per_gpu",
                                                 "gradient_accumulation_steps")]
        numbers = [size.constant for size in sizes if size is not None and isinstance(size.constant, int) and size.constant > 0]
        if len(numbers) == len(sizes) and numbers[0] % (numbers[1] * numbers[2]):
            yield Report(mapping.origin, f"train_batch_size {numbers[0]} is no multiple of {numbers[1]} samples times "
                         f"{numbers[2]} passes")


MIXED_PRECISION = re.compile(r"^torch\.distributed\.(fsdp|_composable\.fsdp)(\.\w+)*\.MixedPrecision(Policy)?$")


@rule
def fsdp_conflict(program: Program) -> Iterator[Report]:
    low_policy = False
    for event in program.calls_of("MixedPrecision", "MixedPrecisionPolicy"):
        if not MIXED_PRECISION.match(event.callee.name):
            continue
        dtypes = {}
        for index, key in enumerate(("param_dtype", "reduce_dtype", "buffer_dtype")):
            value = event.argument(index, key)
            dtypes[key] = value.dtype if value is not None else ""
        param, reduce = dtypes["param_dtype"], dtypes["reduce_dtype"]
        low_policy = low_policy or param == "f16"
        if {param, reduce} == {"f16", "bf16"}:
            yield Report(event.node, f"parameters in {NAMES[param]} and gradients that are summed in {NAMES[reduce]}: "
                         "either has values that the other cannot hold")
        elif reduce in LOW and param in ("f32", "f64"):
            yield Report(event.node, f"the model computes in FP32, and its gradients are summed over the ranks in "
                         f"{NAMES[reduce]}")
        elif reduce == "f16":
            yield Report(event.node, "gradients are summed over the ranks in FP16: reduce_dtype=torch.float32")
    sharded = [event for event in program.calls_of("FullyShardedDataParallel") if event.callee.name == SHARDED]
    if not sharded:
        return
    if low_policy or any(event.subject.dtype == "f16" for event in program.of_kind(events.CONTEXT)):
        for event in program.calls_of("GradScaler"):
            if event.callee.name in ("torch.amp.GradScaler", "torch.cuda.amp.GradScaler") and event.result.parts is not False:
                yield Report(event.node, "each rank of FSDP has a part of the gradients, and this scaler sees only "
                             "that: torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler")
    # Without a strategy FSDP shards; a strategy that is not known may not.
    if all("sharding_strategy" not in event.keywords and "**" not in event.keywords for event in sharded):
        for event in program.of_kind(events.CLIP):
            whose = event.subject.parts if event.subject.kind == values.PARAMETERS else None
            if whose is not None and whose.has("sharded") and event.callee.kind != values.MODULE:
                yield Report(event.node, "each rank clips by the norm of its own part of the gradients: the ranks' parts are "
                             "scaled by different factors: the module's own clip_grad_norm_")


SHARDED = "torch.distributed.fsdp.FullyShardedDataParallel"


ARGUMENTS = re.compile(r"(TrainingArguments|Config)$")
# Entries of the configurations that become arguments of a trainer.
TRAINER_KEYS = {"output_dir", "learning_rate", "num_train_epochs", "num_epochs", "base_model", "model_name_or_path"}
TRAINER_ARGUMENTS = re.compile(r"^(transformers\.\w*TrainingArguments|trl\.\w+Config|sentence_transformers\.\w*TrainingArguments)$")


@rule
def trainer_conflict(program: Program) -> Iterator[Report]:
    for mapping in program.mappings:
        if is_true(entry(mapping, "fp16")) and is_true(entry(mapping, "bf16")) and TRAINER_KEYS & set(mapping.parts):
            yield Report(mapping.origin, "both fp16 and bf16 are set: one of them only")
    trained = find_trained(program)
    for event in program.calls_like(ARGUMENTS):
        if not TRAINER_ARGUMENTS.match(event.callee.name):
            continue
        given = event.keywords
        fp16, bf16 = is_true(given.get("fp16")), is_true(given.get("bf16"))
        if fp16 and bf16:
            yield Report(event.node, "both fp16 and bf16 are set: one of them only")
        if is_true(given.get("fp16_full_eval")) and (bf16 or is_true(given.get("bf16_full_eval"))):
            yield Report(event.node, "fp16_full_eval evaluates a model in FP16 that is trained or evaluated in BF16")
        if bf16 and given.get("half_precision_backend", values.NOTHING).constant == "apex":
            yield Report(event.node, "apex has no BF16: half_precision_backend=\"auto\"")
        if fp16 or bf16:
            for model in trained.get(id(event.node), ()):
                if model.dtype == "f16" and fp16:
                    yield Report(event.node, "fp16=True trains a model whose weights are loaded in FP16: the scaler "
                                 "refuses to unscale FP16 gradients")
                elif model.dtype in LOW and model.dtype != ("f16" if fp16 else "bf16"):
                    yield Report(event.node, f"{'fp16' if fp16 else 'bf16'}=True, and the weights are loaded in "
                                 f"{NAMES[model.dtype]}")


TRAINER = re.compile(r"Trainer$")
ADAPTED = re.compile(r"get_peft_model|peft_config|LoraConfig")


def find_trained(program: Program) -> dict[int, list[Value]]:
    """The models that trainers get, by the calls that make the arguments of the trainers."""
    trained: dict[int, list[Value]] = {}
    if program.mentions(ADAPTED):
        return trained
    for event in program.calls_like(TRAINER):
        model = event.argument(0, "model")
        if model is not None and model.kind == values.MODULE:
            for origin in {id(value.origin) for value in [*event.arguments, *event.keywords.values()]}:
                trained.setdefault(origin, []).append(model)
    return trained

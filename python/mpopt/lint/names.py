"""Full names of what scripts import, whatever way they import it.

Libraries export one object under several names; rules know one of them."""

from __future__ import annotations

import ast
import functools

PREFIXES = {
    "pytorch_lightning.": "lightning.pytorch.",
    "lightning_fabric.": "lightning.fabric.",
    "torch.amp.autocast_mode.": "torch.amp.",
    "torch.amp.grad_scaler.": "torch.amp.",
    "torch.cuda.amp.autocast_mode.": "torch.cuda.amp.",
    "torch.cuda.amp.grad_scaler.": "torch.cuda.amp.",
    "torch.nn.utils.clip_grad.": "torch.nn.utils.",
    "torch.nn.modules.loss.": "torch.nn.",
    "torch.nn.modules.": "torch.nn.",
    "torch.optim.adam.": "torch.optim.",
    "torch.optim.adamw.": "torch.optim.",
    "torch.special.": "torch.",
    "torch.distributed.fsdp.fully_sharded_data_parallel.": "torch.distributed.fsdp.",
    "torch.distributed.fsdp.sharded_grad_scaler.": "torch.distributed.fsdp.",
    "transformers.training_args.": "transformers.",
    "transformer_engine.pytorch.fp8.": "transformer_engine.pytorch.",
    "transformer_engine.pytorch.quantization.": "transformer_engine.pytorch.",
    "accelerate.accelerator.": "accelerate.",
}
NAMES = {
    "torch.autocast": "torch.amp.autocast",
    "torch.GradScaler": "torch.amp.GradScaler",
    "torch.half": "torch.float16",
    "torch.float": "torch.float32",
    "torch.double": "torch.float64",
    "torch.linalg.vector_norm": "torch.norm",
    "torch.linalg.norm": "torch.norm",
    "torch.nn.utils.clip_grad_norm": "torch.nn.utils.clip_grad_norm_",
    "lightning.Trainer": "lightning.pytorch.Trainer",
    "lightning.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.pytorch.core.LightningModule": "lightning.pytorch.LightningModule",
    "lightning.Fabric": "lightning.fabric.Fabric",
    "lightning.pytorch.core.lightning.LightningModule": "lightning.pytorch.LightningModule",
}
# Names that rules know and `from MODULE import *` brings.
STARRED = {
    "torch": ("autocast", "GradScaler", "float16", "bfloat16", "half"),
    "torch.nn": ("Module", "BCELoss", "CrossEntropyLoss", "MSELoss"),
    "torch.nn.functional": ("softmax", "cross_entropy", "binary_cross_entropy"),
    "torch.cuda.amp": ("autocast", "GradScaler"),
    "torch.amp": ("autocast", "GradScaler"),
}
DTYPES = {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float32": "f32", "torch.float64": "f64",
          "torch.HalfTensor": "f16", "torch.cuda.HalfTensor": "f16", "torch.BFloat16Tensor": "bf16",
          "torch.cuda.BFloat16Tensor": "bf16", "torch.FloatTensor": "f32", "torch.cuda.FloatTensor": "f32",
          "jax.numpy.float16": "f16", "jax.numpy.bfloat16": "bf16"}
# Strings by which libraries take a dtype.
DTYPE_WORDS = {"float16": "f16", "fp16": "f16", "half": "f16", "torch.float16": "f16", "bfloat16": "bf16", "bf16": "bf16",
               "torch.bfloat16": "bf16", "float32": "f32", "fp32": "f32", "float": "f32", "torch.float32": "f32"}
# Lightning's precisions that make the weights 16 bits.
PRECISION_WORDS = {"16-true": "f16", "bf16-true": "bf16"}


@functools.lru_cache(maxsize=1 << 14)
def canonical(name: str) -> str:
    """The name by which rules know an object."""
    for prefix, own in PREFIXES.items():
        if name.startswith(prefix):
            name = own + name[len(prefix):]
    return NAMES.get(name, name)


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a chain of names, else nothing."""
    parts = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name:
        return ""
    return ".".join([node.id, *reversed(parts)]) if parts else node.id


def list_imports(node: ast.Import | ast.ImportFrom):
    """The pairs (name that is bound, full name) of an import statement. A relative
    import's full name starts with its dots."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (first, first)
        return
    module = "." * node.level + (node.module or "")
    if node.names[0].name == "*":
        for name in STARRED.get(module, ()):
            yield name, f"{module}.{name}"
        return
    for alias in node.names:
        full = f"{module}.{alias.name}" if not module.endswith(".") else module + alias.name
        yield alias.asname or alias.name, full


def is_of_main(statement: ast.stmt) -> bool:
    """True if a statement runs only where its file is the one that is started: `if __name__ == "__main__"`."""
    return isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.test, ast.Compare) \
        and isinstance(statement.test.ops[0], ast.Eq) and getattr(statement.test.left, "id", "") == "__name__"

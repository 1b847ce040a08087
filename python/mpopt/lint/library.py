"""Results of calls into libraries: tables of names, and the values that the calls make.

A call of which nothing is known gives an unknown value that carries the full name of
what was called, where a library brings it."""

from __future__ import annotations

import functools
import re

from mpopt.lint import values
from mpopt.lint.names import DTYPES
from mpopt.lint.values import Optimizer, Region, Value

AUTOCASTS = {
    # The device, and the positions of device, dtype and enabled among the arguments.
    "torch.amp.autocast": ("", 0, 1, 2),
    "torch.cuda.amp.autocast": ("cuda", None, 1, 0),
    "torch.cpu.amp.autocast": ("cpu", None, 1, 0),
}
CACHE_AT = {"torch.amp.autocast": 3, "torch.cuda.amp.autocast": 2, "torch.cpu.amp.autocast": 2}
DEVICE_DTYPES = {"cuda": "f16", "cpu": "bf16", "xpu": "f16", "npu": "f16", "mps": "f16"}
SCALERS = {"torch.amp.GradScaler": 5, "torch.cuda.amp.GradScaler": 4, "torch.cpu.amp.GradScaler": 4,
           "torch.distributed.fsdp.ShardedGradScaler": 5}  # The position of `enabled`.
# TransformerEngine, which computes in FP8 in regions of its own.
ENGINE = "transformer_engine.pytorch."
# The position of the recipe; that of `enabled` is 0.
FP8_REGIONS = {f"{ENGINE}fp8_autocast": 2, f"{ENGINE}autocast": 2}
# Also what a region has on Hopper that names no recipe.
DELAYED = "transformer_engine.common.recipe.DelayedScaling"
NULL_CONTEXTS = {"contextlib.nullcontext", "contextlib.suppress", "contextlib.ExitStack"}
NO_GRAD = {"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.inference_mode"}
# Decorators behind which a function gets the arguments that a call gives.
KEEPING_DECORATORS = NO_GRAD | {"staticmethod", "classmethod"}
MANAGERS = {"accelerate.Accelerator", "lightning.fabric.Fabric"}
CLIPS = {"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_"}
# They give the module that they wrap, as far as precision goes.
WRAPPERS = {"torch.nn.DataParallel", "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel",
            "torch.compile", "torch.jit.script", "torch.distributed.fsdp.FullyShardedDataParallel",
            "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "torch.distributed.fsdp.fully_shard",
            "torchao.float8.convert_to_float8_training"}
# Other modules than what they get, with the same values.
COPIERS = {"copy.deepcopy", "copy.copy"}
# Classes whose objects keep copies of the modules that they get.
KEEPS_COPIES = re.compile(r"EMA|Ema(?![a-z])|Averag|SWA|Snapshot|Cop(y|ies)")
CLASS_NAME = re.compile(r"(^|\.)_?[A-Z]\w*(\.from_\w+)?$")
MODULE_MAKERS = re.compile(
    r"(torchvision\.models\.(\w+\.)*[a-z]\w*|timm\.create_model|timm\.models\.create_model|torch\.hub\.load"
    r"|segmentation_models_pytorch\.\w+|monai\.networks\.nets\.\w+)$")
PRETRAINED = re.compile(r"(transformers|diffusers)\.(\w+\.)*[A-Z]\w*\.from_(pretrained|config)$")
# The same of a class that the file does not show, where a dtype is given.
LOADED = re.compile(r"(^|\.)[A-Z]\w*\.from_pretrained$")
# Classes of transformers and diffusers whose from_pretrained gives no module.
NO_MODULES = re.compile(r"Tokenizer|Config|Processor|Extractor|Scheduler|Pipeline$")
OPTIMIZERS = re.compile(
    r"(torch\.optim\.(?!lr_scheduler|swa_utils)(\w+\.)*[A-Z]\w*|apex\.optimizers\.\w+|bitsandbytes\.optim\.\w+"
    r"|transformers\.(optimization\.)?(AdamW|Adafactor)|torch_optimizer\.[A-Z]\w*|lion_pytorch\.Lion)$")
DEFAULT_EPS = {"Adam": 1e-8, "AdamW": 1e-8, "NAdam": 1e-8, "RAdam": 1e-8, "RMSprop": 1e-8, "Adamax": 1e-8,
               "FusedAdam": 1e-8, "Adam8bit": 1e-8, "AdamW8bit": 1e-8}
LOSSES = re.compile(
    r"torch\.nn\.functional\.(cross_entropy|nll_loss|mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div"
    r"|binary_cross_entropy|binary_cross_entropy_with_logits|triplet_margin_loss|cosine_embedding_loss"
    r"|ctc_loss|gaussian_nll_loss|poisson_nll_loss|hinge_embedding_loss|margin_ranking_loss"
    r"|multi_margin_loss|multilabel_margin_loss|soft_margin_loss)$")
# Those of classes, of which sequences have one a token.
TOKEN_LOSSES = {"cross_entropy", "nll_loss", "CrossEntropyLoss", "NLLLoss"}
# Names by which scripts call what the file does not show.
LOSS_PATH = re.compile(r"(^|_)(loss(es)?|criterion|criteria|loss_?fn|loss_?func(tion)?)(_|$)", re.I)
# Functions that make a criterion, and give no loss.
LOSS_MAKER = re.compile(r"^_?(build|make|create|init|setup|set|configure|register)_|^_?get_\w*(criteri|loss_?fn|loss_?func)", re.I)
MODULE_PATH = re.compile(r"^(\w+_)?(model|net|network|unet|generator|discriminator|backbone|transformer|vae"
                         r"|encoder|decoder|netG|netD|student|teacher)$")
SCALER_PATH = re.compile(r"scaler", re.I)
OPTIMIZER_PATH = re.compile(r"(^|_)(optim(izer)?(s)?|opt)(_?\w{0,2}|_\w+)?$|optimizer", re.I)
FACTORIES = re.compile(r"torch\.(zeros|ones|full|empty|rand|randn|tensor|as_tensor|arange|linspace|eye|randint"
                       r"|zeros_like|ones_like|full_like|empty_like|rand_like|randn_like)$")
# Results have the dtype of the first argument; so have those of methods of these names.
KEEPING = set("""abs add add_ mul mul_ sub sub_ div div_ neg sqrt rsqrt exp expm1 log log1p log2 log10 pow square
    softmax log_softmax logsumexp sigmoid tanh relu gelu silu sum mean prod max min amax amin norm var std cumsum
    matmul mm bmm dot einsum view reshape permute transpose t contiguous clone detach squeeze unsqueeze flatten
    expand repeat clamp clamp_ clamp_min masked_fill masked_fill_ where cat stack chunk split narrow select
    index_select gather normalize dropout layer_norm cosine_similarity requires_grad_ requires_grad cuda cpu pin_memory
    expand_as view_as view_as_real unflatten roll flip tril triu mT movedim swapaxes reciprocal cosh sinh softplus
    nan_to_num nan_to_num_ clip unbind cos sin""".split())
TURNS = {"cos", "sin"}
ARRANGING = set("view_as_real view reshape squeeze unsqueeze float flatten clone contiguous cat stack repeat expand transpose permute".split())
# Numbers that positions become by these are frequencies, and no angles.
BENDING = {"exp", "expm1", "pow", "log", "reciprocal", "sigmoid", "softmax"}
# Ops that autocast computes in FP32, and in 16 bits (PyTorch's lists for CUDA).
AUTOCAST_FP32 = set("""exp expm1 log log10 log2 log1p pow rsqrt reciprocal acos asin cosh sinh tan erfinv cumprod
    cumsum dist norm prod renorm sum softmax log_softmax softmin softplus layer_norm group_norm cosine_similarity
    cross_entropy nll_loss mse_loss l1_loss kl_div smooth_l1_loss binary_cross_entropy_with_logits
    poisson_nll_loss cosine_embedding_loss hinge_embedding_loss margin_ranking_loss triplet_margin_loss
    multilabel_margin_loss soft_margin_loss cdist pdist""".split())
AUTOCAST_LOW = set("""matmul mm bmm addmm addbmm baddbmm linear conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d conv_transpose3d einsum chain_matmul multi_dot prelu scaled_dot_product_attention""".split())
# Modules whose results are in a region's 16 bits.
PRODUCTS = {f"torch.nn.{name}" for name in ("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
                                            "ConvTranspose2d", "ConvTranspose3d")}
# Functions of linear algebra that have no kernel for 16 bits. On the CPU autocast computes them in FP32.
FACTORISATIONS = {f"torch.linalg.{name}" for name in """cholesky cholesky_ex inv inv_ex eigh eig eigvals eigvalsh svd svdvals
    qr solve solve_ex det slogdet pinv lstsq matrix_rank lu lu_factor lu_factor_ex ldl_factor cond tensorinv
    tensorsolve""".split()} | {f"torch.{name}" for name in
                               "cholesky inverse svd qr det logdet slogdet pinverse symeig".split()}
REDUCTIONS = {"sum", "mean", "prod", "norm", "var", "std", "logsumexp", "cumsum"}
PROBABILITIES = {"sigmoid", "softmax"}


def op_name(name: str) -> str:
    """`softmax` of torch's softmax functions; empty for anything else."""
    prefix, _, last = name.rpartition(".")
    return last if prefix in ("torch", "torch.nn.functional", "torch.Tensor") else ""


def known_bool(value: Value | None, default: bool | None) -> bool | None:
    """True and False of constants, `default` of what is not given, None of all others."""
    if value is None:
        return default
    return bool(value.parts) if value.kind == values.CONSTANT else None


def make_region(name: str, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
    """The value of a call of one of AUTOCASTS."""
    device, device_at, dtype_at, enabled_at = AUTOCASTS[name]

    def get(position, keyword):
        if keyword in keywords:
            return keywords[keyword]
        return arguments[position] if position is not None and position < len(arguments) else None

    if device_at is not None:
        given = get(device_at, "device_type")
        text = given.constant if given is not None else None
        device = text.partition(":")[0] if isinstance(text, str) else ""
    # Keywords that are handed on may have any of them.
    dtype = get(dtype_at, "dtype") or keywords.get("**")
    given = values.NOTHING if dtype is None else values.as_dtype(dtype)
    known = DEVICE_DTYPES.get(device, "") if dtype is None or given.kind == values.CONSTANT else given.dtype
    choices = values.list_choices(given) if not known else ()
    if dtype is None and not device:
        choices = (values.Choice(DEVICE_DTYPES["cuda"], "on a CUDA device"),)
    region = Region(known, device, known_bool(get(enabled_at, "enabled"), None if "**" in keywords else True), node=node,
                    choices=choices,
                    caches=known_bool(get(CACHE_AT.get(name), "cache_enabled"), True) is not False)
    return Value(values.REGION, name=name, dtype=known, parts=region, origin=node)


def make_fp8_region(name: str, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
    """The value of a call of one of FP8_REGIONS."""
    at = FP8_REGIONS[name]
    is_off = known_bool(keywords.get("enabled", arguments[0] if arguments else None), True) is False
    recipe = keywords.get("fp8_recipe", keywords.get("recipe", arguments[at] if at < len(arguments) else None))
    recipe = Value(name=DELAYED) if recipe is None or recipe.kind == values.CONSTANT else recipe
    region = Region(enabled=False, null=True, node=node, fp8=None if is_off else recipe)
    return Value(values.REGION, name=name, parts=region, origin=node)


def make_scaler(name: str, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
    at = SCALERS[name]
    enabled = keywords.get("enabled", arguments[at] if at < len(arguments) else None)
    return Value(values.SCALER, name=name, parts=known_bool(enabled, True), origin=node)


def make_optimizer(name: str, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
    parameters = keywords.get("params", arguments[0] if arguments else values.NOTHING)
    given = keywords.get("eps")
    eps = given.constant if given is not None else DEFAULT_EPS.get(name.rpartition(".")[2])
    eps = float(eps) if isinstance(eps, (int, float)) else None
    return Value(values.OPTIMIZER, name=name, origin=node,
                 parts=Optimizer(parameters, eps, has_eps=given is not None))


def dtype_keyword(keywords: dict[str, Value]) -> Value:
    return values.as_dtype(keywords.get("torch_dtype", keywords.get("dtype", values.NOTHING)))


def make_module(name: str, keywords: dict[str, Value], node) -> Value:
    return Value(values.MODULE, name=name, dtype=dtype_keyword(keywords).dtype, origin=node,
                 facts=frozenset(["loaded"]) if "from_" in name else frozenset())


@functools.lru_cache(maxsize=1 << 12)
def is_module_class(name: str) -> bool:
    """A class of torch.nn (`torch.nn.Linear`), or of TransformerEngine's layers."""
    prefix, _, last = name.rpartition(".")
    return prefix in ("torch.nn", ENGINE[:-1]) and last[:1].isupper() and last not in ("Parameter", "Module")


@functools.lru_cache(maxsize=1 << 12)
def is_module_base(name: str) -> bool:
    """A class from which classes that are modules derive."""
    return bool(re.search(r"(^torch\.nn\.(Module|Sequential|ModuleList)|LightningModule|PreTrainedModel)$", name))


def dtype_of_name(name: str) -> str:
    return DTYPES.get(name, "")


@functools.lru_cache(maxsize=1 << 12)
def is_class(name: str) -> bool:
    """True if what a call calls is a class by its name, or makes an object of one."""
    return bool(CLASS_NAME.search(name)) and not name.startswith("torch.") and not is_foreign(name)


def holds_modules(name: str) -> bool:
    """True if objects of a class that is not shown are taken to hold the modules that they get."""
    return is_class(name) and not KEEPS_COPIES.search(name) and not OPTIMIZERS.match(name)


# Objects of these have methods of the same names, and nothing to do with training, or only look on.
FOREIGN = ("mpopt.", "sklearn.", "numpy.", "pandas.", "scipy.", "PIL.", "cv2.", "matplotlib.", "wandb.", "torchvision.transforms.")


@functools.lru_cache(maxsize=1 << 12)
def is_foreign(name: str) -> bool:
    return name.startswith(FOREIGN) or name.endswith(("StandardScaler", "MinMaxScaler"))


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def is_scaler_path(path: str) -> bool:
    return _is_scaler(_last(path))


def is_optimizer_path(path: str) -> bool:
    return _is_optimizer(_last(path))


def is_module_path(path: str) -> bool:
    return _is_module(_last(path))


def is_loss_path(path: str) -> bool:
    return _is_loss(_last(path))


@functools.lru_cache(maxsize=1 << 12)
def _is_scaler(name: str) -> bool:
    return bool(SCALER_PATH.search(name))


@functools.lru_cache(maxsize=1 << 12)
def _is_optimizer(name: str) -> bool:
    return bool(OPTIMIZER_PATH.search(name)) and "sched" not in name.lower()


@functools.lru_cache(maxsize=1 << 12)
def _is_module(name: str) -> bool:
    return bool(MODULE_PATH.match(name))


@functools.lru_cache(maxsize=1 << 12)
def _is_loss(name: str) -> bool:
    return bool(LOSS_PATH.search(name)) and not LOSS_MAKER.search(name)

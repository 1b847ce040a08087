"""Effects of calls of methods: of tensors, modules, optimizers, scalers, and of objects
that only their name or their use tells."""

from __future__ import annotations

import ast
import functools

from mpopt.lint import events, library, names, values
from mpopt.lint.scopes import Class
from mpopt.lint.values import NOTHING, Value

FLOATS = (*values.LOW, "f32", "f64")
CASTS = {"half": "f16", "bfloat16": "bf16", "float": "f32", "double": "f64"}
# Methods that give the module itself.
MODULE_SELF = {"cuda", "cpu", "xpu", "train", "eval", "requires_grad_", "apply", "share_memory", "module"}
# Methods of trainers, engines and modules outside the file that may run a part of a step.
MAY_TRAIN = ("backward", "step", "train", "loss", "optim", "update", "fit", "zero_grad", "closure", "unscale", "scale")
# Objects whose kind is known, by the methods below.
HANDLERS = {values.SCALER: "call_scaler", values.OPTIMIZER: "call_optimizer", values.MODULE: "call_module",
            values.MANAGER: "call_manager", values.TENSOR: "call_tensor", values.PARAMETERS: "call_parameters"}


@functools.lru_cache(maxsize=1 << 12)
def may_train(method: str) -> bool:
    return any(word in method.lower() for word in MAY_TRAIN)


class Methods:
    """Part of the interpreter: see interpreter.py."""

    def call_method(self, node: ast.Call, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        base, method = callee.parts, callee.name
        if base.kind in (values.INSTANCE, values.MODULE) and base.parts is not None:
            if found := base.parts.find_method(method):
                return self.invoke(found, [base, *arguments], keywords, node)
        if method == "backward":
            return self.call_backward(node, base, arguments, keywords)
        if base.kind in HANDLERS:
            return getattr(self, HANDLERS[base.kind])(node, base, method, arguments, keywords)
        if base.kind in (values.MAPPING, values.SEQUENCE, values.CONSTANT):
            return self.call_container(base, method, arguments)
        return self.call_guessed(node, callee, base, method, arguments, keywords)

    # --- Backward ---

    def call_backward(self, node, base: Value, arguments, keywords) -> Value:
        for value in (base, *arguments[:1]):
            if (found := self.sums.get(id(value.origin))) is not None and found not in self.program.low_sums:
                self.program.low_sums.append(found)
        positional = [argument for argument in arguments if argument.constant is None or argument.kind != values.CONSTANT]
        if base.kind == values.MANAGER or positional and base.kind != values.TENSOR:
            self.record(events.MANAGED_BACKWARD, node, subject=positional[0] if positional else NOTHING, callee=base)
            return NOTHING
        scaler = base.parts if base.has("scaled") and isinstance(base.parts, Value) else None
        self.record(events.BACKWARD, node, subject=base, scaler=scaler, arguments=tuple(positional))
        return NOTHING

    # --- Objects whose kind is known ---

    def call_scaler(self, node, base: Value, method: str, arguments, keywords) -> Value:
        first = arguments[0] if arguments else keywords.get("optimizer", keywords.get("outputs", NOTHING))
        if method == "scale":
            return Value(values.TENSOR, facts=(first.facts | {"scaled"}) - {"sum"}, parts=base, origin=first.origin or node)
        kind = {"unscale_": events.UNSCALE, "step": events.SCALER_STEP, "update": events.UPDATE}.get(method)
        if kind:
            self.record(kind, node, subject=first, scaler=base, arguments=tuple(arguments), keywords=keywords)
        elif method == "state_dict":
            return Value(facts=frozenset(["scaler-state"]))
        return NOTHING

    def call_optimizer(self, node, base: Value, method: str, arguments, keywords) -> Value:
        if method == "step":
            self.record(events.STEP, node, subject=base, arguments=tuple(arguments), keywords=keywords)
        elif method == "zero_grad":
            self.record(events.ZERO_GRAD, node, subject=base)
        elif method == "state_dict":
            return Value(facts=frozenset(["optimizer-state"]), parts=base)
        return NOTHING

    def call_module(self, node, base: Value, method: str, arguments, keywords) -> Value:
        if method in CASTS or method in ("to", "type"):
            dtype = self.cast_dtype(method, arguments, keywords)
            return self.cast_module(node, base, dtype) if values.list_choices(dtype) else base
        if method in ("parameters", "named_parameters"):
            return Value(values.PARAMETERS, dtype=base.dtype, parts=base, origin=node)
        if method == "zero_grad":
            self.record(events.ZERO_GRAD, node, subject=base)
            return NOTHING
        if method == "requires_grad_":
            self.freeze(base, arguments[0] if arguments else None, True)
        if method in MODULE_SELF:
            return base
        if method in ("forward", "__call__"):
            return self.call_object(node, base, arguments, keywords)
        if method == "clip_grad_norm_":
            self.record(events.CLIP, node, subject=base, callee=base, arguments=tuple(arguments))
        elif method == "state_dict":
            entry = Value(values.TENSOR, dtype=base.dtype, origin=node)
            return Value(values.SEQUENCE, name=values.ANY_OF, parts=(entry,), origin=node)
        elif method == "register_buffer" and len(arguments) == 2 and isinstance(arguments[0].constant, str):
            if base.parts is not None:
                base.parts.attributes.setdefault(arguments[0].constant, arguments[1])
                base.parts.buffers.add(arguments[0].constant)
        elif base.parts is None or base.parts.has_hidden_base:
            self.opaque(node, base, method, arguments)
        return NOTHING

    def cast_dtype(self, method: str, arguments, keywords) -> Value:
        """The DTYPE that a cast names, which conditions may choose."""
        return Value(values.DTYPE, dtype=CASTS[method]) if method in CASTS else self.find_dtype(arguments, keywords)

    def cast_module(self, node, base: Value, dtype: Value) -> Value:
        choice = values.find_low(dtype) or values.Choice("")
        self.record(events.CAST, node, subject=base, dtype=choice.dtype, when=choice.when)
        self.cast_held(node, base, choice)
        self.cast_buffers(node, base, choice.dtype)
        cast = base.replaced(dtype=dtype.dtype)
        # The module itself changes, under whatever name.
        if isinstance(node.func, ast.Attribute) and (path := names.dotted(node.func.value)):
            self.assign_path(path, cast)
        return cast

    def cast_held(self, node, base: Value, choice: values.Choice) -> None:
        """A cast of an object is one of the modules that it holds, and of what these hold."""
        pending, met = [base], set()
        while pending:
            held = self.holdings.get(pending.pop().identity, ())
            for module in held:
                if module.identity not in met:
                    met.add(module.identity)
                    pending.append(module)
                    self.record(events.CAST, node, subject=module.replaced(kind=values.MODULE), callee=base,
                                dtype=choice.dtype, when=choice.when)

    def cast_buffers(self, node, base: Value, dtype: str) -> None:
        """Buffers of floating-point numbers are cast along with a module, and with the modules in it. What is known of
        attributes holds for all objects of a class: of one that the script makes twice nothing is noted."""
        pending, met = [base], set()
        while pending:
            made = pending.pop().parts
            if not isinstance(made, Class) or id(made) in met or made.made > 1 or made.find_method("_apply"):
                continue
            met.add(id(made))
            for name, value in made.attributes.items():
                if name in made.buffers and value.kind == values.TENSOR and value.dtype in FLOATS:
                    made.attributes[name] = value.replaced(dtype=dtype)
                    if value.has("table"):
                        self.record(events.CAST, node, subject=value, dtype=dtype)
                elif value.kind == values.MODULE:
                    pending.append(value)

    def call_manager(self, node, base: Value, method: str, arguments, keywords) -> Value:
        if method == "autocast":
            return Value(values.REGION, name="manager", parts=values.Region(node=node), origin=node)
        if method in ("prepare", "setup"):
            if len(arguments) == 1:
                return arguments[0].with_facts("managed")
            return Value(values.SEQUENCE, parts=tuple(argument.with_facts("managed") for argument in arguments))
        if method == "accumulate":
            return Value(values.REGION, name="manager", parts=values.Region(enabled=False, null=True, node=node))
        if method in ("unwrap_model", "gather", "gather_for_metrics") and arguments:
            return arguments[0]
        return NOTHING

    def call_parameters(self, node, base: Value, method: str, arguments, keywords) -> Value:
        # A parameter of a loop over parameters.
        if method == "requires_grad_":
            self.freeze(base.parts, arguments[0] if arguments else None, False)
            return base
        if method in ("items", "values"):
            return base  # A dictionary of named parameters.
        return self.call_tensor(node, base.replaced(kind=values.TENSOR, parts=None), method, arguments, keywords)

    def call_tensor(self, node, base: Value, method: str, arguments, keywords) -> Value:
        if method in CASTS or method in ("to", "type"):
            dtype = CASTS.get(method) or self.dtype_argument(arguments, keywords)
            if not dtype:
                return base if method == "to" and not self.may_have_dtype(arguments, keywords) else \
                    base.replaced(dtype="")
            self.record(events.CAST, node, subject=base, dtype=dtype, arguments=(*arguments, *keywords.values()))
            # A sum in FP32 that is rounded afterwards has lost none of its terms.
            was_wide = dtype in values.LOW and base.dtype not in values.LOW
            return base.replaced(dtype=dtype, origin=base.origin, facts=base.facts - {"sum"} if was_wide else base.facts)
        if method == "type_as" and arguments:
            return base.replaced(dtype=arguments[0].dtype)
        if method in ("item", "size", "dim", "numel"):
            return values.NUMBER
        if method in ("tolist", "numpy", "data_ptr", "all", "any"):
            return NOTHING
        if method in library.KEEPING or method in library.AUTOCAST_FP32 or method in library.AUTOCAST_LOW:
            return self.tensor_op(node, method, base, arguments, keywords)
        return Value(values.TENSOR, facts=base.facts & {"forward", "grad", "divided"}, origin=node)

    def call_container(self, base: Value, method: str, arguments) -> Value:
        if method == "get" and base.kind == values.MAPPING and arguments:
            key = arguments[0].constant
            return base.parts.get(key, NOTHING) if isinstance(key, (str, int)) else NOTHING
        if base.kind == values.MAPPING or base.name == values.ANY_OF:
            entries = base if base.kind == values.SEQUENCE else Value(values.SEQUENCE, parts=tuple(base.parts.values()))
            if method == "items":
                return values.sequence([values.sequence([NOTHING, self.iterate(entries)])])
            return entries if method == "values" else base if method == "copy" else NOTHING
        return NOTHING

    # --- Objects that are told by their name or their use ---

    def call_guessed(self, node, callee: Value, base: Value, method: str, arguments, keywords) -> Value:
        path = base.path
        is_library = base.kind == values.UNKNOWN and library.is_foreign(base.name)
        if not is_library and self.is_guessed_scaler(base, method, arguments):
            return self.call_scaler(node, base, method, arguments, keywords)
        if not is_library and library.is_optimizer_path(path) and method in ("step", "zero_grad", "state_dict"):
            return self.call_optimizer(node, base, method, arguments, keywords)
        if method in CASTS and not arguments or method in ("to", "type"):
            dtype = self.cast_dtype(method, arguments, keywords)
            return self.cast_guessed(node, base, dtype) if values.list_choices(dtype) else \
                base if method == "to" and base.kind == values.UNKNOWN else NOTHING
        if method == "requires_grad_" and base.origin is not None:
            self.freeze(base, arguments[0] if arguments else None, True)
        if "accelerat" in path.lower() and method in ("prepare", "unwrap_model") and arguments:
            return self.call_manager(node, base, method, arguments, keywords)
        if method in ("parameters", "named_parameters") and path:
            module = Value(values.MODULE, path=path, dtype=base.dtype, facts=base.facts, origin=base.origin)
            return Value(values.PARAMETERS, dtype=base.dtype, parts=module, origin=node)
        if method == "add_argument":
            self.note_option(arguments, keywords)
            return NOTHING
        if method == "enter_context" and arguments and arguments[0].kind == values.REGION:
            region = values.maybe(arguments[0].parts) if self.tests else arguments[0].parts
            self.enter_region(node, arguments[0].replaced(parts=region))
            return NOTHING
        if method == "zero_grad":
            self.record(events.ZERO_GRAD, node, subject=base)
            return NOTHING
        is_made = base.kind == values.UNKNOWN and base.origin is not None and library.is_class(base.name)
        if method in MODULE_SELF and (self.is_module(path) if path else is_made):
            return base
        if method == "autocast":
            region = values.Region(node=node, enabled=None)
            return Value(values.REGION, name="guessed", parts=region, origin=node)
        if library.is_loss_path(method) and not library.is_loss_path(path):
            self.opaque(node, base, method, arguments)
            return Value(values.TENSOR, facts=frozenset(["loss"]), origin=node)
        if library.is_module_path(method) and not is_library:
            self.record(events.FORWARD, node, subject=callee, callee=callee)
            return Value(values.TENSOR, facts=frozenset(["forward"]), parts=self.region_of_forward(), origin=node)
        if library.is_loss_path(method):
            return self.call_unknown(node, Value(path=callee.path or method), arguments, keywords)
        self.opaque(node, base, method, arguments)
        if method in ("mean", "sum", "softmax", "sigmoid", "pow", "square", "norm", "exp") and not is_library:
            return Value(facts=base.facts & {"forward"})
        return NOTHING

    def is_guessed_scaler(self, base: Value, method: str, arguments) -> bool:
        if base.kind not in (values.UNKNOWN, values.INSTANCE):
            return False
        if method == "unscale_":
            return True
        named = library.is_scaler_path(base.path)
        if method in ("update", "state_dict"):
            return named and base.kind == values.UNKNOWN and not arguments
        return named and method in ("scale", "step") and bool(arguments) and base.kind == values.UNKNOWN

    def cast_guessed(self, node, base: Value, dtype: Value) -> Value:
        """`x.half()` of something that only its use tells."""
        if self.is_guessed_module(node, base):
            return self.cast_module(node, Value(values.MODULE, base.name, path=base.path, origin=base.origin,
                                                facts=base.facts), dtype)
        if base.identity in self.holdings:
            self.cast_held(node, base, values.find_low(dtype) or values.Choice(""))
            return base
        if not dtype.dtype:
            return NOTHING
        tensor = Value(values.TENSOR, path=base.path, facts=base.facts, origin=base.origin)
        self.record(events.CAST, node, subject=tensor, dtype=dtype.dtype)
        return tensor.replaced(dtype=dtype.dtype, origin=base.origin or node)

    def is_guessed_module(self, node, base: Value) -> bool:
        """True if an object is a module by its name, its use, or its class and that it has a dtype."""
        if base.path:
            return self.is_module(base.path) or library.is_module_path(base.path)
        if base.kind != values.UNKNOWN or base.origin is None:
            return False
        return library.is_class(base.name) or self.is_module(self.find_target(node))

    def is_module(self, path: str) -> bool:
        """True if the script uses what has this path as a module."""
        return path in self.script.modules

    def find_target(self, node) -> str:
        """The path to which the statement assigns the value of a call, and nothing else."""
        statement = self.statement
        if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
            return names.dotted(statement.targets[0])
        return ""

    def dtype_argument(self, arguments, keywords) -> str:
        """The type among the arguments of `to` or `type`."""
        return self.find_dtype(arguments, keywords).dtype

    @staticmethod
    def find_dtype(arguments, keywords) -> Value:
        """The same as a value: a type that conditions choose has several."""
        for value in [keywords.get("dtype", NOTHING), keywords.get("torch_dtype", NOTHING), *arguments]:
            if value.kind == values.DTYPE and values.list_choices(value):
                return value
        return NOTHING

    @staticmethod
    def may_have_dtype(arguments, keywords) -> bool:
        return "dtype" in keywords or len(arguments) > 1 or any(
            argument.kind not in (values.CONSTANT, values.NAME) and "device" not in argument.path
            for argument in arguments)

    def opaque(self, node, base: Value, method: str, arguments) -> None:
        """A call that may run a part of the training step outside the file."""
        is_foreign = base.kind == values.UNKNOWN and library.is_foreign(base.name)
        if may_train(method) and "sched" not in base.path.lower() and not is_foreign:
            self.record(events.OPAQUE, node, subject=base, callee=Value(values.METHOD, method, parts=base),
                        arguments=tuple(arguments))

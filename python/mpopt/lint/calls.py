"""Effects of calls: of functions of the file, of libraries, and of methods."""

from __future__ import annotations

import ast
import builtins

from mpopt.lint import events, library, names, values
from mpopt.lint.scopes import Class
from mpopt.lint.values import NOTHING, Value

# Functions that make a field of a dataclass.
FIELD_MAKERS = {"dataclasses.field", "pydantic.Field", "attr.ib", "attrs.field"}
# Built-in functions that hand on what they get.
HANDING_ON = {"list", "tuple", "iter", "next", "reversed", "sorted", "cast"}


# Functions and methods whose results show the size of a gradient, and a loss scale on it.
GRAD_READERS = {"norm", "abs", "mean", "std", "var", "max", "min", "pow", "square", "clamp", "clamp_", "clip",
                "add_"}


def is_by_name(value: Value) -> bool:
    """True if a value is that of a dictionary, or of pairs that one is made of."""
    return value.kind in (values.PARAMETERS, values.MAPPING) or value.name == values.ANY_OF


class Calls:
    """Part of the interpreter: see interpreter.py."""

    def evaluate_Call(self, node: ast.Call) -> Value:
        callee = self.evaluate_callee(node.func)
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        for argument in node.args:
            value = self.evaluate(argument.value if isinstance(argument, ast.Starred) else argument)
            is_many = isinstance(argument, ast.Starred) and value.kind == values.SEQUENCE
            arguments += value.parts if is_many else [value]
            if isinstance(argument, ast.Starred) and not is_many:
                keywords["**"] = value  # Nobody knows which parameters it gives.
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif value.kind == values.MAPPING:
                keywords |= {key: part for key, part in value.parts.items() if isinstance(key, str)}
            else:
                keywords["**"] = value
        return self.call(node, callee, arguments[:values.MOST_PARTS], keywords)

    def evaluate_callee(self, node: ast.expr) -> Value:
        """The callee; a method of anything that is not known to have it is a METHOD."""
        if not isinstance(node, ast.Attribute):
            return self.evaluate(node)
        path = names.dotted(node)
        if path and (found := self.scope.get(path)) is not None:
            return found
        base = self.evaluate(node.value)
        if base.kind == values.NAME:
            return self.find_member(base, node, path)
        if base.kind in (values.INSTANCE, values.MODULE) and base.parts is not None:
            stored = base.parts.find_attribute(node.attr)
            if stored is not None:
                return stored
        return Value(values.METHOD, node.attr, parts=base, path=path, origin=node)

    def call(self, node: ast.Call, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        event = self.place(events.CALL, node, callee=callee, arguments=tuple(arguments), keywords=keywords)
        self.program.calls.append(event)
        event.result = self.dispatch(node, callee, arguments, keywords)
        return event.result

    def dispatch(self, node: ast.Call, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if callee.kind == values.FUNCTION:
            return self.invoke(callee.parts, arguments, keywords, node)
        if callee.kind == values.CLASS:
            return self.instantiate(callee.parts, arguments, keywords, node)
        if callee.kind == values.METHOD:
            return self.call_method(node, callee, arguments, keywords)
        if callee.kind == values.NAME:
            return self.call_library(node, callee.name, arguments, keywords)
        if callee.kind in (values.MODULE, values.INSTANCE):
            return self.call_object(node, callee, arguments, keywords)
        if callee.kind == values.REGION:
            # A decorator: `autocast()(function)`.
            return arguments[0] if arguments else NOTHING
        if callee.kind == values.UNKNOWN and callee.path:
            return self.call_unknown(node, callee, arguments, keywords)
        if callee.kind == values.UNKNOWN and values.find(values.sequence(arguments), values.PARAMETERS) is not None \
                and "optim" in self.code(node.func):
            # A class that a table or a name chooses: `getattr(torch.optim, args.optimizer)(parameters)`.
            return library.make_optimizer("", arguments, keywords, node)
        return NOTHING

    # --- Classes of the file ---

    def instantiate(self, made: Class, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
        bases = made.library_bases
        if any(library.is_module_base(base) or library.is_module_class(base) for base in bases):
            instance = Value(values.MODULE, name=made.node.name, parts=made, origin=node)
        elif any(library.OPTIMIZERS.match(base) or base.startswith("torch.optim.Optimizer") for base in bases):
            return library.make_optimizer(made.node.name, arguments, keywords, node)
        elif any(base in library.SCALERS for base in bases):
            return Value(values.SCALER, name=made.node.name, origin=node, facts=frozenset(["own"]))
        else:
            instance = Value(values.INSTANCE, name=made.node.name, parts=made, origin=node)
        made.made += 1
        self.hold(instance, [*arguments, *keywords.values()])
        if initializer := made.find_method("__init__"):
            self.invoke(initializer, [instance, *arguments], keywords, node)
        return instance

    def hold(self, made: Value, given: list[Value]) -> None:
        """Notes what a new object holds: a cast of the object is one of each module among this."""
        held = [value for value in given if value.origin is not None and value.kind in (values.MODULE, values.UNKNOWN)]
        for value in given:
            if value.kind in (values.SEQUENCE, values.MAPPING) and (found := values.find(value, values.MODULE)) is not None:
                held.append(found)
        if held:
            self.holdings[made.identity] = tuple(held)

    def call_object(self, node, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """A module is called, or another object of a class of the file."""
        if callee.kind == values.INSTANCE:
            if method := callee.parts.find_method("__call__"):
                return self.invoke(method, [callee, *arguments], keywords, node)
            return NOTHING
        if callee.name.startswith("torch.nn.") and callee.name.endswith("Loss"):
            self.record(events.LOSS, node, subject=callee, callee=callee, arguments=tuple(arguments), keywords=keywords)
            kept = ["mean"] * (not callee.has("not-mean")) + ["unreduced"] * callee.has("unreduced")
            return Value(values.TENSOR, facts=frozenset(["loss", *kept]),
                         dtype=self.loss_dtype(arguments), origin=node)
        op = callee.name.rpartition(".")[2].lower() if callee.name.startswith("torch.nn.") else ""
        self.record(events.FORWARD, node, subject=callee, callee=callee, arguments=tuple(arguments))
        result = NOTHING
        if callee.parts is not None and (method := callee.parts.find_method("forward")):
            result = self.invoke(method, [callee, *arguments], keywords, node)
        if result.kind in (values.SEQUENCE, values.MAPPING):
            return result
        if result.kind == values.TENSOR:
            self.derive(node, result)
            return result.replaced(facts=result.facts | {"forward"}, parts=self.region_of_forward(), origin=node)
        facts = {"forward"} | ({op} & library.PROBABILITIES)
        region = self.region_of_forward()
        dtype = callee.dtype if callee.dtype in values.LOW and not region else ""
        if not dtype and region is None and arguments and callee.name.startswith("torch.nn.") \
                and arguments[0].dtype in values.LOW:
            # Layers give what they get: in another type than their weights' they raise an error.
            dtype = arguments[0].dtype
        if region is not None and (callee.name in library.PRODUCTS or callee.has("ends-low")):
            dtype = self.low_region()
        if not self.regions:
            facts.add("outside")
        return Value(values.TENSOR, dtype=dtype, facts=frozenset(facts), parts=region, origin=node)

    def region_of_forward(self):
        return events.innermost(self.regions)

    def loss_dtype(self, arguments: list[Value]) -> str:
        return "" if self.in_autocast() or not arguments else arguments[0].dtype

    def call_unknown(self, node, callee: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """True if the callee is a variable of which only the name is known, or a built-in."""
        path = callee.path
        if path in HANDING_ON and arguments:
            return arguments[0]
        if path == "sum" and arguments and arguments[0].kind == values.TENSOR:
            return arguments[0].replaced(facts=arguments[0].facts - {"squares"} | {"sum"}, origin=node)
        if path == "filter" and len(arguments) == 2:
            return arguments[1]
        if path in ("zip", "enumerate") and arguments:
            parts = [values.NUMBER] * (path == "enumerate") + [self.iterate(value) for value in arguments]
            return values.sequence([values.sequence(parts[:values.MOST_ENTRIES])], node)
        if path in ("getattr", "setattr") and len(arguments) >= 2:
            name = arguments[1].constant
            if arguments[0].kind == values.NAME and isinstance(name, str):
                return self.make_name(f"{arguments[0].name}.{name}")
            is_dtype = arguments[1].kind == values.DTYPE and arguments[0].name == "torch"
            return arguments[1] if is_dtype else NOTHING
        if path == "float" and len(arguments) == 1 and isinstance(arguments[0].constant, (str, int, float)):
            try:
                return values.constant(float(arguments[0].constant))
            except (ValueError, OverflowError):
                return NOTHING
        if path in ("len", "int", "float"):
            return values.NUMBER
        if path == "open" and arguments:
            return Value(name="builtins.open", parts=arguments[0].constant, origin=node)
        if path == "dict" and arguments and is_by_name(arguments[0]):
            return arguments[0]
        if path == "dict":
            return Value(values.MAPPING, parts={key: value for key, value in keywords.items() if key != "**"},
                         origin=node)
        if library.is_loss_path(path):
            self.record(events.LOSS, node, subject=callee, callee=callee, arguments=tuple(arguments), keywords=keywords)
            return Value(values.TENSOR, facts=frozenset(["loss"]), origin=node)
        if library.is_module_path(path):
            self.record(events.FORWARD, node, subject=callee, callee=callee, arguments=tuple(arguments))
            facts = ["forward"] + ["outside"] * (not self.regions)
            return Value(values.TENSOR, facts=frozenset(facts), parts=self.region_of_forward(), origin=node)
        if not hasattr(builtins, path):
            self.record(events.OPAQUE, node, callee=callee, arguments=tuple(arguments), keywords=keywords)
        if library.is_optimizer_path(path) and values.find(values.sequence(arguments), values.PARAMETERS) is not None:
            return library.make_optimizer(path, arguments, keywords, node)
        if "unwrap" in path and len(arguments) == 1:
            return arguments[0]
        return self.make_object(path, arguments, keywords, node)

    def make_object(self, name: str, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
        """An object of which only the name of its class is known, or what a function of that name gives."""
        made = Value(name=name, origin=node)
        if library.holds_modules(name):
            self.hold(made, [*arguments, *keywords.values()])
        return made if made.identity in self.holdings else NOTHING

    # --- Libraries ---

    def call_library(self, node, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        first = arguments[0] if arguments else keywords.get("input", NOTHING)
        last = name.rpartition(".")[2]
        if (read := self.call_reader(name, arguments)) is not None:
            return read
        if name in library.AUTOCASTS:
            return library.make_region(name, arguments, keywords, node)
        if name in library.FP8_REGIONS:
            return library.make_fp8_region(name, arguments, keywords, node)
        if name in library.NULL_CONTEXTS:
            return Value(values.REGION, name=name, parts=values.Region(enabled=False, null=True, node=node))
        if name in library.SCALERS:
            return library.make_scaler(name, arguments, keywords, node)
        if name in library.MANAGERS:
            return Value(values.MANAGER, name=name, origin=node, parts=keywords)
        if library.OPTIMIZERS.match(name):
            return library.make_optimizer(name, arguments, keywords, node)
        if name == "click.option":
            self.note_option(arguments, keywords)
        if name == "click.Choice":
            return first
        if name in FIELD_MAKERS and "default" in keywords:
            return keywords["default"]
        if name == "deepspeed.initialize":
            if (read := self.read_configuration(keywords.get("config", NOTHING).constant)).kind == values.MAPPING:
                keywords["config"] = read
            return self.make_engine(node, arguments, keywords)
        if name in library.WRAPPERS:
            return first.with_facts("sharded") if name.endswith("FullyShardedDataParallel") else first
        if name == "collections.OrderedDict":
            return first if arguments and is_by_name(first) else Value(values.MAPPING, parts={}, origin=node)
        if name in library.COPIERS:
            return first.replaced(origin=node)
        if name in library.CLIPS:
            self.record(events.CLIP, node, subject=first, arguments=tuple(arguments), keywords=keywords)
            return Value(values.TENSOR, origin=node)
        if name == "torch.save":
            return NOTHING
        if name == "itertools.chain":
            found = list(values.find_all(Value(values.SEQUENCE, parts=tuple(arguments)), values.PARAMETERS))
            return found[0] if len(found) == 1 else values.sequence(found, node) if found else NOTHING
        if name in ("torch.set_default_dtype", "torch.set_default_tensor_type"):
            return NOTHING
        if name == "torch.finfo":
            return Value(name="torch.finfo", dtype=first.dtype if first.kind == values.DTYPE else "")
        if library.is_module_class(name):
            return self.make_layer(node, name, arguments, keywords)
        if library.MODULE_MAKERS.match(name) or \
                library.PRETRAINED.match(name) and not library.NO_MODULES.search(name.split(".")[-2]):
            return self.note_dtype(node, library.make_module(name, keywords, node), keywords)
        if library.LOADED.search(name) and library.dtype_keyword(keywords).kind == values.DTYPE \
                and not library.NO_MODULES.search(name.split(".")[-2]):
            return self.note_dtype(node, library.make_module(name, keywords, node), keywords)
        if library.LOSSES.match(name):
            self.record(events.LOSS, node, callee=Value(values.NAME, name=name), arguments=tuple(arguments),
                        keywords=keywords)
            kept = keywords.get("reduction")
            facts = ["loss"] + ["mean"] * (kept is None or kept.constant == "mean")
            if kept is not None and kept.constant == "none" and last in library.TOKEN_LOSSES:
                facts.append("unreduced")
            return Value(values.TENSOR, facts=frozenset(facts), dtype=self.loss_dtype(arguments), origin=node)
        if library.is_loss_path(name) and not name.startswith("torch.") and not library.is_class(name):
            return self.call_unknown(node, Value(path=name), arguments, keywords)
        if library.FACTORIES.match(name):
            dtype = values.as_dtype(keywords.get("dtype", NOTHING)).dtype or (first.dtype if last.endswith("_like") else "")
            is_zero = last.startswith("zeros") or last == "tensor" and first.kind == values.CONSTANT and first.constant == 0
            # `zeros(())` and `zeros(1)` are one number; so is what `tensor` gives for one.
            is_one = first.kind == values.CONSTANT if last == "tensor" else first.constant == 1 or first.parts == ()
            known = ({"zero"} if is_zero else set()) | ({"number"} if is_one and len(arguments) == 1 else set())
            known |= {"positions"} if last in ("arange", "randint") else set()
            return Value(values.TENSOR, dtype=dtype, facts=frozenset(known), origin=node)
        if op := library.op_name(name):
            if op in library.KEEPING or op in library.AUTOCAST_FP32 or op in library.AUTOCAST_LOW:
                operands = first.parts if first.kind == values.SEQUENCE and first.parts else [first]
                if op in ("einsum", "where") and len(arguments) > 1:
                    operands = arguments[1:]
                return self.tensor_op(node, op, operands[0], arguments, keywords)
            if op == "autograd":
                return NOTHING
        if name == "torch.polar" and len(arguments) == 2:
            angles = arguments[1]
            return Value(values.TENSOR, dtype=angles.dtype, facts=frozenset(["table"] * angles.has("positions")), origin=node)
        if name == "torch.outer" and len(arguments) == 2:
            positions = (first.facts | arguments[1].facts) & {"positions"}
            return Value(values.TENSOR, dtype=self.common_dtype(*arguments), facts=positions, origin=node)
        if name == "torch.autograd.backward":
            self.record(events.BACKWARD, node, subject=first)
            return NOTHING
        if name == "torch.autograd.grad":
            return Value(values.TENSOR, facts=frozenset(["grad"]), origin=node)
        if not name.startswith(("torch.", "os.", "math.")) and not library.is_foreign(name):
            self.record(events.OPAQUE, node, callee=Value(values.NAME, name=name), arguments=tuple(arguments),
                        keywords=keywords)
            if "unwrap" in last and len(arguments) == 1:
                return first
            if library.holds_modules(name):
                self.hold(Value(origin=node), [*arguments, *keywords.values()])
        return Value(name=name, origin=node)

    @staticmethod
    def make_engine(node, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        """The result of DeepSpeed for a model: an engine that is called as the model is, and its optimizer."""
        model = keywords.get("model", arguments[1] if len(arguments) > 1 else NOTHING)
        engine = model if model.kind == values.MODULE else Value(values.MODULE, path=model.path, origin=model.origin)
        optimizer = keywords.get("optimizer", arguments[2] if len(arguments) > 2 else NOTHING)
        engine = engine.replaced(facts=engine.facts | {"engine"}, origin=engine.origin or node)
        return Value(values.SEQUENCE, parts=(engine, optimizer.with_facts("managed"), NOTHING, NOTHING))

    def note_dtype(self, node, made: Value, keywords: dict[str, Value]) -> Value:
        """A module that is made in the dtype that it is given."""
        choice = values.find_low(library.dtype_keyword(keywords))
        if choice is not None:
            self.record(events.CAST, node, subject=made, dtype=choice.dtype, when=choice.when)
        return made

    def make_layer(self, node, name: str, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        facts = set()
        reduction = keywords.get("reduction")
        if name.endswith("Loss") and reduction is not None and reduction.constant != "mean":
            facts.add("not-mean")
            if reduction.constant == "none" and name.rpartition(".")[2] in library.TOKEN_LOSSES:
                facts.add("unreduced")
        dtype = library.dtype_keyword(keywords).dtype
        # The result of a Sequential is that of its last module.
        if name == "torch.nn.Sequential" and arguments and arguments[-1].kind == values.MODULE:
            last = arguments[-1]
            if last.name in ("torch.nn.Sigmoid", "torch.nn.Softmax"):
                return Value(values.MODULE, name=last.name, facts=frozenset(facts), origin=node)
            if last.name in library.PRODUCTS or last.has("ends-low"):
                facts.add("ends-low")
        made = Value(values.MODULE, name=name, dtype=dtype, facts=frozenset(facts), origin=node)
        self.hold(made, arguments)
        return self.note_dtype(node, made, keywords)

    def tensor_op(self, node, op: str, tensor: Value, arguments, keywords) -> Value:
        """The result of an op of torch, as a function or as a method of `tensor`."""
        facts = tensor.facts & {"loss", "mean", "grad", "divided", "forward", "mixed-low", "outside"}
        if tensor.has("grad") and op in GRAD_READERS:
            self.record(events.GRAD_READ, node, subject=tensor)
            facts -= {"grad"}
        facts |= {op} & library.PROBABILITIES
        if op in library.ARRANGING:
            facts |= tensor.facts & {"table"}
        if tensor.has("positions"):
            facts |= {"table"} if op in library.TURNS else set() if op in library.BENDING else {"positions"}
        if op in ("view", "reshape", "squeeze", "unsqueeze", "float", "flatten", "clone", "contiguous"):
            facts |= tensor.facts & (library.PROBABILITIES | {"squares", "sum", "guarded", "unreduced", "masked"})
        if op in ("sum", "norm"):
            facts |= {"sum"} | tensor.facts & {"masked"}
        if op == "sum":
            facts -= {"mean"}
        if op in ("div", "div_", "mul", "mul_", "true_divide"):
            facts |= {"divided"}
        if op in ("pow", "square") and (op == "square" or len(arguments) and arguments[-1].constant == 2):
            facts |= {"squares"}
        if op in ("clamp", "clamp_", "clamp_min", "max", "maximum", "add", "add_", "clip"):
            facts |= {"guarded"}
        dtype = tensor.dtype
        if given := keywords.get("dtype"):
            dtype = given.dtype
        elif op in library.AUTOCAST_LOW and self.low_region():
            dtype = self.low_region()
        elif op in library.AUTOCAST_FP32 and self.low_region():
            if tensor.dtype in values.LOW:
                self.program.widened.add(id(tensor.origin))
            dtype = "f32"
        elif op not in library.KEEPING and op not in library.AUTOCAST_FP32:
            dtype = tensor.dtype if op in library.AUTOCAST_LOW else ""
        self.note_sum(node, op, tensor, dtype)
        return Value(values.TENSOR, dtype=dtype, facts=frozenset(facts), parts=tensor.parts
                     if "forward" in facts else None, origin=node)

    def low_region(self) -> str:
        """The 16-bit type in which the innermost region computes; empty outside of one."""
        region = self.region_of_forward()
        return region.dtype if region is not None and region.enabled and region.dtype in values.LOW else ""

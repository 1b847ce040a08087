"""The values of expressions."""

from __future__ import annotations

import ast
import re

from mpopt.lint import events, library, names, values
from mpopt.lint.calls import Calls
from mpopt.lint.project import Reference
from mpopt.lint.scopes import Class, Function, Scope
from mpopt.lint.values import NOTHING, Value

# Parts of the name under which a library has a value; no script by hand has a longer one.
LONGEST_NAME = 300


TENSOR_ATTRIBUTES = {"shape", "device", "ndim", "requires_grad", "is_cuda", "grad", "grad_fn", "layout", "is_leaf", "names",
                     "itemsize", "nbytes", "real", "imag"}
# Paths by which scripts call the options that they were given.
OPTIONS = re.compile(r"(^|[._])(args?|opts?|options?|flags|hparams|params|cfg|config)([._]|$)", re.I)
# The limits of the types that `finfo` names.
LIMITS = {"max": {"f16": 65504.0, "bf16": 2.0 ** 128 - 2.0 ** 120, "f32": 2.0 ** 128 - 2.0 ** 104},
          "min": {"f16": -65504.0, "bf16": 2.0 ** 120 - 2.0 ** 128, "f32": 2.0 ** 104 - 2.0 ** 128},
          "eps": {"f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f32": 2.0 ** -23},
          "tiny": {"f16": 2.0 ** -14, "bf16": 2.0 ** -126, "f32": 2.0 ** -126}}
# Attributes by which wrappers show the module that they wrap.
WRAPPED = ("module", "_orig_mod")


def as_tensor(value: Value) -> Value:
    """A parameter in arithmetic; any other value as it is."""
    return value.replaced(kind=values.TENSOR, parts=None) if value.kind == values.PARAMETERS else value


def list_groups(*sides: Value) -> list[Value]:
    """The value of the sum of lists of parameters, or of groups of them; nothing if none is one."""
    known = [side for side in sides if values.find(side, values.PARAMETERS, 2) is not None]
    if len(known) < len(sides) and not any(side.kind == values.SEQUENCE for side in known):
        return []
    return [part for side in known for part in (side.parts if side.kind == values.SEQUENCE else (side,))]


class Expressions(Calls):
    """Part of the interpreter: see interpreter.py."""

    def evaluate(self, node: ast.AST | None) -> Value:
        if node is None:
            return NOTHING
        self.steps += 1
        if (evaluate := self.evaluators.get(type(node))) is not None:
            return evaluate(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child)
        return NOTHING

    # --- Names and attributes ---

    def evaluate_Name(self, node: ast.Name) -> Value:
        found = self.scope.get(node.id)
        if found is None:
            return Value(path=node.id)
        return self.resolve(found) if found.kind == values.NAME and found.parts is not None else found

    def evaluate_Attribute(self, node: ast.Attribute) -> Value:
        """The value of a chain, `a.b.c`, from its start, since its longest part that is a variable decides."""
        attributes: list[ast.Attribute] = []
        start: ast.expr = node
        while isinstance(start, ast.Attribute):
            attributes.append(start)
            start = start.value
        attributes.reverse()
        path = start.id if isinstance(start, ast.Name) else ""
        self.steps += len(attributes)
        value = self.evaluate(start)
        for attribute in attributes:
            if path:
                path = f"{path}.{attribute.attr}"
                if (found := self.scope.get(path)) is not None:
                    value = found
                    continue
            value = self.find_member(value, attribute, path)
        return value

    def find_member(self, base: Value, node: ast.Attribute, path: str) -> Value:
        """The attribute of a value that is no variable."""
        attribute = node.attr
        if base.kind == values.NAME:
            if isinstance(base.parts, Reference) and not base.parts.name:
                found = self.project.find_member(base.parts, attribute)
                return self.resolve(Value(values.NAME, name=f"{base.name}.{attribute}", parts=found))
            return self.make_name(f"{base.name}.{attribute}")
        if attribute == "grad" and base.kind in (values.UNKNOWN, values.TENSOR, values.PARAMETERS):
            # A gradient has the dtype of its parameter.
            return Value(values.TENSOR, facts=frozenset(["grad"]), dtype=base.dtype, origin=node, path=path)
        if attribute == "data" and base.kind == values.PARAMETERS:
            return base
        if attribute in WRAPPED and base.kind in (values.UNKNOWN, values.MODULE) and (base.parts is None or not
                isinstance(base.parts, Class) or base.parts.find_attribute(attribute) is None):
            return base if base.origin is not None else Value(path=path)
        if base.kind in (values.INSTANCE, values.MODULE) and base.parts is not None:
            stored = base.parts.find_attribute(attribute)
            if stored is not None:
                return stored
            if base.parts.find_method(attribute):
                return Value(values.METHOD, attribute, parts=base, path=path)
            return Value(path=path)
        if base.kind == values.CLASS and attribute == "apply":
            return Value(values.METHOD, attribute, parts=base, path=path, origin=node)
        if base.kind == values.MAPPING and base.has("configuration"):
            return self.find_entry(base, attribute, path)
        if base.kind == values.TENSOR:
            if base.has("table") and attribute in ("real", "imag"):
                return base
            if attribute in ("data", "T", "mT", "logits", "sample", "last_hidden_state"):
                return base
            if attribute == "loss":
                return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin, path=path)
            if attribute in ("shape", "ndim"):
                return values.NUMBER
            if attribute == "dtype":
                return Value(values.DTYPE, dtype=base.dtype, path=path)
            if base.has("forward") and base.parts is not None and attribute not in TENSOR_ATTRIBUTES:
                # An entry of what a model gives.
                return base
        if base.name == "torch.finfo" and attribute in LIMITS:
            return values.constant(LIMITS[attribute][base.dtype]) if base.dtype in LIMITS[attribute] else Value(path=path)
        if base.kind == values.UNKNOWN and attribute == "loss" and base.has("forward"):
            return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin, path=path)
        if base.kind == values.UNKNOWN and attribute in self.options and OPTIONS.search(base.path):
            return self.options[attribute]
        return Value(values.UNKNOWN, path=path)

    def make_name(self, name: str) -> Value:
        if len(name) > LONGEST_NAME:
            return NOTHING
        name = names.canonical(name)
        if dtype := library.dtype_of_name(name):
            return Value(values.DTYPE, name=name, dtype=dtype)
        return Value(values.NAME, name=name)

    # --- Literals ---

    def evaluate_Constant(self, node: ast.Constant) -> Value:
        # A function's constants are met in each of its calls, and values never change.
        known = getattr(node, "known", None)
        if known is None:
            is_odd = isinstance(node.value, (complex, type(...)))
            known = node.known = NOTHING if is_odd else values.constant(node.value)
        return known

    def evaluate_Tuple(self, node: ast.Tuple | ast.List) -> Value:
        parts = [self.evaluate(element) for element in node.elts]
        if any(isinstance(element, ast.Starred) for element in node.elts):
            return NOTHING
        return values.sequence(parts, node)

    evaluate_List = evaluate_Tuple

    def evaluate_Dict(self, node: ast.Dict) -> Value:
        parts: dict = {}
        for key, value in zip(node.keys, node.values):
            told = self.evaluate(value)
            if key is None:
                given = told.parts if told.kind == values.MAPPING else {}
            else:
                name = self.evaluate(key)
                is_plain = name.kind == values.CONSTANT and isinstance(name.parts, (str, int, float, bool))
                given = {name.parts: told} if is_plain else {}
            if len(parts) < values.MOST_ENTRIES:
                parts |= given
        made = Value(values.MAPPING, parts=parts, origin=node)
        self.program.mappings.append(made)
        self.made_under[id(parts)] = parts, self.tests
        return made

    # --- Operators ---

    def evaluate_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.USub):
            if value.kind == values.CONSTANT and isinstance(value.parts, (int, float)):
                return values.constant(-value.parts)
            return value
        if isinstance(node.op, ast.Not) and (value.kind == values.CONSTANT or value.has(values.ABSENT)):
            return Value(values.CONSTANT, parts=not value.parts, facts=value.facts & {values.ABSENT})
        return value if isinstance(node.op, ast.Invert) else NOTHING

    def evaluate_BinOp(self, node: ast.BinOp) -> Value:
        return self.apply(node, self.evaluate(node.left), self.evaluate(node.right))

    def apply(self, node: ast.BinOp | ast.AugAssign, left: Value, right: Value) -> Value:
        """The value of `left operator right`."""
        operation = self.note_operation(node, left, right)
        if operation.has(ast.Add) and (parts := list_groups(left, right)):
            return values.sequence(parts, node)
        left, right = as_tensor(left), as_tensor(right)
        if left.kind == right.kind == values.CONSTANT:
            return NOTHING if operation.assigns else self.fold(node.op, left.parts, right.parts)
        tensor = left if left.kind == values.TENSOR else right
        other = right if tensor is left else left
        if operation.has(ast.MatMult) and not operation.assigns and tensor.kind == values.UNKNOWN and (low := self.low_region()):
            return Value(values.TENSOR, dtype=low, facts=(left.facts | right.facts) & {"forward"}, origin=node)
        if tensor.kind != values.TENSOR:
            kept = (left.facts | right.facts) & {"forward"}
            if values.is_number(left) and values.is_number(right):
                kept |= {"python"}
            return Value(facts=kept | ({"divided"} if operation.has(ast.Div) else set()))
        facts = (tensor.facts | other.facts) & {"loss", "mean", "divided", "grad", "forward", "mixed-low"}
        facts |= tensor.facts & {"outside"}
        if not operation.has(ast.Pow):
            facts |= (tensor.facts | other.facts) & {"positions"}
        self.derive(node, left, right)
        # A product is one with a weight, or with one over the number of passes.
        if operation.has(ast.Mult) and tensor.has("unreduced") and self.is_mask(node):
            facts |= {"masked"}
        elif operation.has(ast.Div) and tensor is left and tensor.has("masked") and tensor.has("sum"):
            facts |= {"mean"}
        elif operation.has(ast.Div) and tensor is left or operation.has(ast.Mult):
            facts |= {"divided"}
        low = self.low_region()
        if operation.has(ast.MatMult) and not operation.assigns and low:
            return Value(values.TENSOR, dtype=low, facts=facts, origin=node)
        is_number = other.kind == values.CONSTANT
        if not operation.assigns:
            facts |= self.find_shape(node, tensor is left, other)
        if not operation.assigns and operation.has(ast.Add) and is_number and isinstance(other.parts, (int, float)) \
                and other.parts > 0:
            facts |= {"guarded"}
        elif "sum" in tensor.facts and is_number:
            facts |= {"sum"}
        dtype = self.common_dtype(tensor, other)
        facts = facts - {"mixed-low"} if dtype else facts
        if not dtype and values.F32 not in (tensor.dtype, other.dtype) and (tensor.dtype in values.LOW or other.dtype in values.LOW):
            facts |= {"mixed-low"}
        region = next((value.parts for value in (tensor, other) if value.has("forward")
                       and isinstance(value.parts, values.Region)), None)
        return Value(values.TENSOR, dtype=dtype, facts=frozenset(facts), parts=region, origin=node)

    def is_mask(self, node: ast.BinOp | ast.AugAssign) -> bool:
        """True if a factor is a mask by its name."""
        factors = [node.value] if isinstance(node, ast.AugAssign) else [node.left, node.right]
        return any("mask" in self.code(factor).lower() for factor in factors)

    def find_shape(self, node: ast.BinOp | ast.AugAssign, is_left: bool, other: Value) -> set[str]:
        """True if an operation on a tensor squares it."""
        if isinstance(node.op, ast.Pow):
            return {"squares"} if is_left and other.constant == 2 else set()
        if isinstance(node.op, ast.Mult) and self.program.script.is_same(node.left, node.right):
            return {"squares"}
        return set()

    @staticmethod
    def common_dtype(tensor: Value, other: Value) -> str:
        if {tensor.dtype, other.dtype} in ({"f16", "f32"}, {"bf16", "f32"}):
            return "f32"
        return tensor.dtype if values.is_number(other) or other.dtype == tensor.dtype else ""

    @staticmethod
    def fold(operator: ast.operator, left, right) -> Value:
        if not all(isinstance(part, (int, float)) for part in (left, right)):
            return NOTHING
        try:
            if isinstance(operator, ast.Mult):
                return values.constant(left * right)
            if isinstance(operator, ast.Div):
                return values.constant(left / right)
            if isinstance(operator, ast.Add):
                return values.constant(left + right)
            if isinstance(operator, ast.Sub):
                return values.constant(left - right)
            if isinstance(operator, ast.Pow) and abs(left) <= 1e6 and abs(right) <= 64:
                result = left ** right
                return values.constant(result) if isinstance(result, (int, float)) else NOTHING
        except (ArithmeticError, ValueError):
            pass
        return NOTHING

    def evaluate_BoolOp(self, node: ast.BoolOp) -> Value:
        value = self.evaluate(node.values[0])
        for before, operand in zip(node.values, node.values[1:]):
            right = self.evaluate(operand)
            if isinstance(node.op, ast.Or):
                value = values.join([value, right])
            elif value.kind == values.REGION:
                # A context manager is true: `a and b` is b.
                self.program.unentered.append((before, value))
                value = right
            else:
                value = NOTHING
        return value

    def evaluate_Compare(self, node: ast.Compare) -> Value:
        left = self.evaluate(node.left)
        for operand in node.comparators:
            self.evaluate(operand)
        # An absent value is None, and nothing else.
        if left.has(values.ABSENT) and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and values.is_none(node.comparators[0]):
            return Value(values.CONSTANT, parts=isinstance(node.ops[0], ast.Is), facts=left.facts)
        return NOTHING

    def evaluate_IfExp(self, node: ast.IfExp) -> Value:
        test = self.evaluate(node.test)
        chosen = [self.evaluate(node.body), self.evaluate(node.orelse)]
        for value, outcome in zip(chosen, (True, False)):
            self.note_chosen([("", value)], node.test, outcome)
        if test.kind == values.CONSTANT:
            return chosen[0 if test.parts else 1]
        if values.DTYPE in (chosen[0].kind, chosen[1].kind):
            chosen = [values.under(value, events.describe(self.program.script, node.test, outcome))
                      for value, outcome in zip(chosen, (True, False))]
        return values.join(chosen)

    def evaluate_NamedExpr(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    @staticmethod
    def list_indices(node: ast.Subscript) -> list[ast.expr]:
        return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]

    def evaluate_Subscript(self, node: ast.Subscript) -> Value:
        base = self.evaluate(node.value)
        indices = self.list_indices(node)
        keys = [self.evaluate(index) for index in indices]
        key = keys[0].constant if len(keys) == 1 and not isinstance(indices[0], ast.Slice) else None
        if base.kind == values.SEQUENCE and base.name == values.ANY_OF:
            return self.iterate(base)
        if base.kind == values.SEQUENCE and isinstance(key, int) and -len(base.parts) <= key < len(base.parts):
            return base.parts[key]
        if base.kind == values.PARAMETERS:
            return base
        if base.kind == values.MAPPING:
            if key is not None:
                return base.parts.get(key, base.parts.get(values.ANY_OF, NOTHING))
            return self.choose(node, base.parts) if base.parts else NOTHING
        if base.kind == values.TENSOR:
            if isinstance(key, str) and key == "loss":
                return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin)
            return base.replaced(facts=base.facts - {"loss"})
        return self.items.get((base.identity, key)) or Value(facts=base.facts & {"forward", "python"})

    def choose(self, node: ast.Subscript, parts: dict) -> Value:
        """An entry of a mapping whose key is not known."""
        chosen = list(parts.values())
        if any(value.kind == values.DTYPE for value in chosen):
            key = self.code(node.slice)
            chosen = [values.under(value, f"if {key} is {name!r}") for name, value in parts.items()]
        return values.join(chosen)

    # --- Functions, comprehensions and the like ---

    def evaluate_Lambda(self, node: ast.Lambda) -> Value:
        return Value(values.FUNCTION, parts=Function(node, self.scope, self.script), origin=node)

    def evaluate_Await(self, node: ast.Await) -> Value:
        return self.evaluate(node.value)

    def evaluate_Yield(self, node: ast.Yield | ast.YieldFrom) -> Value:
        self.evaluate(node.value)
        self.frame.yields.append(self.regions[self.frame.depth:])
        return NOTHING

    evaluate_YieldFrom = evaluate_Yield

    def comprehend(self, generators: list[ast.comprehension], *elements: ast.expr) -> Value:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            for clause in generators:
                self.assign(clause.target, self.iterate(self.evaluate(clause.iter)))
                for condition in clause.ifs:
                    self.evaluate(condition)
            made = [self.evaluate(element) for element in elements]
        finally:
            self.scope = outer
        return made[-1]

    def evaluate_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        made = self.comprehend(node.generators, node.elt)
        clause = node.generators[0]
        if len(node.generators) == 1 and isinstance(node.elt, ast.Name) and isinstance(clause.iter, ast.Name) and self.program.script.is_same(node.elt, clause.target):
            whole = self.evaluate(clause.iter)
            if values.find(whole, values.PARAMETERS) is not None:
                return whole  # Some of the groups.
        # A list of gradients is read as one gradient; a list of parameters is one.
        if made.kind in (values.TENSOR, values.PARAMETERS):
            return made.replaced(facts=made.facts - {"loss"})
        # One of groups of parameters has such groups.
        return values.sequence([made], node) if made.kind == values.MAPPING and values.find(made, values.PARAMETERS, 1) else NOTHING

    evaluate_GeneratorExp = evaluate_SetComp = evaluate_ListComp

    def evaluate_DictComp(self, node: ast.DictComp) -> Value:
        made = self.comprehend(node.generators, node.key, node.value)
        if made.kind == values.PARAMETERS:
            return made
        # An entry is one by whatever key.
        return Value(values.SEQUENCE, name=values.ANY_OF, parts=(made,), origin=node) if made.kind == values.TENSOR else NOTHING

    def iterate(self, value: Value) -> Value:
        """An element of what is iterated over."""
        if value.kind == values.SEQUENCE and value.parts:
            known = self.elements.get(id(value.parts))
            if known is None:
                known = self.elements[id(value.parts)] = value.parts, values.join(list(value.parts))
            return known[1]
        if value.kind == values.PARAMETERS:
            return value
        if value.kind == values.TENSOR:
            return value.replaced(facts=value.facts - {"loss"})
        return NOTHING

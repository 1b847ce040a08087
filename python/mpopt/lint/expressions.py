"""The values of expressions."""

from __future__ import annotations

import ast

import libcst as cst

from mpopt.lint import events, library, names, values
from mpopt.lint.calls import Calls
from mpopt.lint.scopes import Function, Scope
from mpopt.lint.values import NOTHING, Value

class Expressions(Calls):
    """Part of the interpreter: see interpreter.py."""

    def evaluate(self, node: cst.CSTNode | None) -> Value:
        if node is None:
            return NOTHING
        self.spend()
        method = getattr(self, f"evaluate_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        for child in node.children:
            if isinstance(child, (cst.BaseExpression, cst.CompFor, cst.CompIf)):
                self.evaluate(child)
            elif isinstance(child, (cst.Element, cst.FormattedStringExpression, cst.Arg)):
                self.evaluate(getattr(child, "value", None) or getattr(child, "expression", None))
        return NOTHING

    # --- Names and attributes ---

    def evaluate_Name(self, node: cst.Name) -> Value:
        if node.value in ("True", "False", "None"):
            return values.constant({"True": True, "False": False, "None": None}[node.value])
        found = self.scope.get(node.value)
        if found is None:
            return Value(path=node.value)
        return found

    def evaluate_Attribute(self, node: cst.Attribute) -> Value:
        path = names.dotted(node)
        if path and (found := self.scope.get(path)) is not None:
            return found
        base = self.evaluate(node.value)
        attribute = node.attr.value
        if base.kind == values.NAME:
            return self.make_name(f"{base.name}.{attribute}")
        if attribute == "grad" and base.kind in (values.UNKNOWN, values.TENSOR, values.PARAMETERS):
            return Value(values.TENSOR, facts=frozenset(["grad"]), origin=node, path=path)
        if base.kind in (values.INSTANCE, values.MODULE) and base.parts is not None:
            stored = base.parts.find_attribute(attribute)
            if stored is not None:
                return stored
            if base.parts.find_method(attribute):
                return Value(values.METHOD, attribute, parts=base, path=path)
            return Value(path=path)
        if base.kind == values.TENSOR:
            if attribute in ("data", "T", "mT", "logits", "sample", "last_hidden_state"):
                return base
            if attribute == "loss":
                return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin, path=path)
            if attribute == "dtype":
                return Value(values.DTYPE, dtype=base.dtype, path=path)
        if base.kind == values.UNKNOWN and attribute == "loss" and base.has("forward"):
            return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin, path=path)
        return Value(values.UNKNOWN, path=path)

    def make_name(self, name: str) -> Value:
        name = names.canonical(name)
        if dtype := library.dtype_of_name(name):
            return Value(values.DTYPE, name=name, dtype=dtype)
        return Value(values.NAME, name=name)

    # --- Literals ---

    def evaluate_Integer(self, node: cst.Integer) -> Value:
        return values.constant(node.evaluated_value)

    def evaluate_Float(self, node: cst.Float) -> Value:
        return values.constant(node.evaluated_value)

    def evaluate_SimpleString(self, node: cst.SimpleString) -> Value:
        try:
            return values.constant(node.evaluated_value)
        except (SyntaxError, ValueError):
            return NOTHING

    def evaluate_ConcatenatedString(self, node: cst.ConcatenatedString) -> Value:
        try:
            return values.constant(ast.literal_eval(self.code(node)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return NOTHING

    def evaluate_Tuple(self, node) -> Value:
        parts = tuple(self.evaluate(element.value) for element in node.elements)
        if any(isinstance(element, cst.StarredElement) for element in node.elements):
            return NOTHING
        return Value(values.SEQUENCE, parts=parts, origin=node)

    evaluate_List = evaluate_Tuple

    def evaluate_Dict(self, node: cst.Dict) -> Value:
        parts = {}
        for element in node.elements:
            value = self.evaluate(element.value)
            if isinstance(element, cst.DictElement):
                key = self.evaluate(element.key)
                if key.kind == values.CONSTANT and isinstance(key.parts, (str, int, float, bool)):
                    parts[key.parts] = value
            elif value.kind == values.MAPPING:
                parts |= value.parts
        made = Value(values.MAPPING, parts=parts, origin=node)
        self.program.mappings.append(made)
        return made

    # --- Operators ---

    def evaluate_UnaryOperation(self, node: cst.UnaryOperation) -> Value:
        value = self.evaluate(node.expression)
        if isinstance(node.operator, cst.Minus):
            if value.kind == values.CONSTANT and isinstance(value.parts, (int, float)):
                return values.constant(-value.parts)
            return value
        if isinstance(node.operator, cst.Not) and value.kind == values.CONSTANT:
            return values.constant(not value.parts)
        return value if isinstance(node.operator, cst.BitInvert) else NOTHING

    def evaluate_BinaryOperation(self, node: cst.BinaryOperation) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.apply(node, node.operator, left, right)

    def apply(self, node, operator, left: Value, right: Value) -> Value:
        """The value of `left operator right`."""
        self.program.operations.append((node, operator, left, right, self.place(events.CALL, node)))
        if left.kind == right.kind == values.CONSTANT:
            return self.fold(operator, left.parts, right.parts)
        tensor = left if left.kind == values.TENSOR else right
        other = right if tensor is left else left
        if tensor.kind != values.TENSOR:
            kept = (left.facts | right.facts) & {"forward"}
            return Value(facts=kept | ({"divided"} if isinstance(operator, (cst.Divide, cst.DivideAssign)) else set()))
        facts = (tensor.facts | other.facts) & {"loss", "mean", "divided", "grad", "forward"}
        if isinstance(operator, (cst.Divide, cst.DivideAssign)) and tensor is left:
            facts |= {"divided"}
        if isinstance(operator, (cst.Multiply, cst.MultiplyAssign)):
            # A weight, or one over the number of passes.
            facts |= {"divided"}
        if isinstance(operator, cst.MatrixMultiply) and self.low_region():
            return Value(values.TENSOR, dtype=self.low_region(), facts=facts, origin=node)
        is_number = other.kind == values.CONSTANT
        dtype = tensor.dtype if is_number or other.dtype == tensor.dtype else ""
        if {tensor.dtype, other.dtype} == {"f16", "f32"} or {tensor.dtype, other.dtype} == {"bf16", "f32"}:
            dtype = "f32"
        squares = isinstance(operator, cst.Power) and other.constant == 2 and tensor is left \
            or isinstance(operator, cst.Multiply) and self.code(node.left) == self.code(node.right)
        facts |= {"squares"} if squares else set()
        if isinstance(operator, cst.Add) and is_number and isinstance(other.parts, (int, float)) and other.parts > 0:
            facts |= {"guarded"}
        elif "sum" in tensor.facts and is_number:
            facts |= {"sum"}
        return Value(values.TENSOR, dtype=dtype, facts=frozenset(facts), origin=node)

    @staticmethod
    def fold(operator, left, right) -> Value:
        if not all(isinstance(part, (int, float)) for part in (left, right)):
            return NOTHING
        try:
            if isinstance(operator, cst.Multiply):
                return values.constant(left * right)
            if isinstance(operator, cst.Divide):
                return values.constant(left / right)
            if isinstance(operator, cst.Add):
                return values.constant(left + right)
            if isinstance(operator, cst.Subtract):
                return values.constant(left - right)
            if isinstance(operator, cst.Power) and abs(left) <= 1e6 and abs(right) <= 64:
                result = left ** right
                return values.constant(result) if isinstance(result, (int, float)) else NOTHING
        except (ArithmeticError, ValueError):
            pass
        return NOTHING

    def evaluate_BooleanOperation(self, node: cst.BooleanOperation) -> Value:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        if isinstance(node.operator, cst.Or):
            return values.join([left, right])
        if left.kind == values.REGION:
            # A context manager is true: `a and b` is b.
            self.program.unentered.append((node.left, left))
            return right
        return NOTHING

    def evaluate_Comparison(self, node: cst.Comparison) -> Value:
        self.evaluate(node.left)
        for target in node.comparisons:
            self.evaluate(target.comparator)
        return NOTHING

    def evaluate_IfExp(self, node: cst.IfExp) -> Value:
        test = self.evaluate(node.test)
        chosen = [self.evaluate(node.body), self.evaluate(node.orelse)]
        if test.kind == values.CONSTANT:
            return chosen[0 if test.parts else 1]
        return values.join(chosen)

    def evaluate_NamedExpr(self, node: cst.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value)
        return value

    def evaluate_Subscript(self, node: cst.Subscript) -> Value:
        base = self.evaluate(node.value)
        keys = [self.evaluate(element.slice.value) for element in node.slice if isinstance(element.slice, cst.Index)]
        for element in node.slice:
            if isinstance(element.slice, cst.Slice):
                for part in (element.slice.lower, element.slice.upper, element.slice.step):
                    self.evaluate(part)
        key = keys[0].constant if len(keys) == 1 and len(node.slice) == 1 else None
        if base.kind == values.SEQUENCE and isinstance(key, int) and -len(base.parts) <= key < len(base.parts):
            return base.parts[key]
        if base.kind == values.MAPPING:
            if key is not None and not isinstance(key, (list, dict, set)):
                return base.parts.get(key, NOTHING)
            return values.join(list(base.parts.values())) if base.parts else NOTHING
        if base.kind == values.TENSOR:
            if isinstance(key, str) and key == "loss":
                return Value(values.TENSOR, facts=frozenset(["loss", "mean"]), origin=base.origin)
            return base.replaced(facts=base.facts - {"loss"})
        return Value(facts=base.facts & {"forward"}, path="")

    # --- Functions, comprehensions and the like ---

    def evaluate_Lambda(self, node: cst.Lambda) -> Value:
        return Value(values.FUNCTION, parts=Function(node, self.scope), origin=node)

    def evaluate_Await(self, node: cst.Await) -> Value:
        return self.evaluate(node.expression)

    def evaluate_Yield(self, node: cst.Yield) -> Value:
        if node.value is not None:
            self.evaluate(node.value.item if isinstance(node.value, cst.From) else node.value)
        self.frame.yields.append(self.regions[self.frame.depth:])
        return NOTHING

    def comprehend(self, node, *elements) -> Value:
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            clause = node.for_in
            while clause is not None:
                self.assign(clause.target, self.iterate(self.evaluate(clause.iter)))
                for condition in clause.ifs:
                    self.evaluate(condition.test)
                clause = clause.inner_for_in
            made = [self.evaluate(element) for element in elements]
        finally:
            self.scope = outer
        return made[-1]

    def evaluate_ListComp(self, node) -> Value:
        made = self.comprehend(node, node.elt)
        # A list of gradients is read as one gradient; a list of parameters is one.
        if made.kind in (values.TENSOR, values.PARAMETERS):
            return made.replaced(facts=made.facts - {"loss"})
        return NOTHING

    evaluate_GeneratorExp = evaluate_SetComp = evaluate_ListComp

    def evaluate_DictComp(self, node: cst.DictComp) -> Value:
        self.comprehend(node, node.key, node.value)
        return NOTHING

    def iterate(self, value: Value) -> Value:
        """An element of what is iterated over."""
        if value.kind == values.SEQUENCE and value.parts:
            return values.join(list(value.parts))
        if value.kind == values.PARAMETERS:
            return value
        if value.kind == values.TENSOR:
            return value.replaced(facts=value.facts - {"loss"})
        return NOTHING

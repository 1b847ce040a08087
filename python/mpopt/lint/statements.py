"""What statements do: variables, and the blocks of events that branches and loops make."""

from __future__ import annotations

import libcst as cst

from mpopt.lint import events, library, names, values
from mpopt.lint.events import Block, Branch, Exit, Loop
from mpopt.lint.scopes import Class, Function
from mpopt.lint.values import NOTHING, Value


class Statements:
    """Part of the interpreter: see interpreter.py."""

    def run_suite(self, suite: cst.BaseSuite | cst.Module) -> None:
        for statement in suite.body:
            self.run(statement)

    def run(self, statement: cst.CSTNode) -> None:
        self.spend()
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                self.statement = statement
                self.run_one(small)
            return
        self.statement = statement
        self.run_one(statement)

    def run_one(self, statement: cst.CSTNode) -> None:
        method = getattr(self, f"run_{type(statement).__name__}", None)
        if method is not None:
            method(statement)

    def into(self, suite, block: Block) -> None:
        """Runs a suite whose events go to a block."""
        outer, self.block = self.block, block
        try:
            self.run_suite(suite)
        finally:
            self.block = outer

    # --- Bindings ---

    def run_Import(self, node: cst.Import) -> None:
        self.program.imports.append(node)
        for bound, full in names.list_imports(node):
            self.scope.set(bound, self.make_name(full))

    def run_ImportFrom(self, node: cst.ImportFrom) -> None:
        self.run_Import(node)

    def run_Expr(self, node: cst.Expr) -> None:
        value = self.evaluate(node.value)
        if value.kind == values.REGION and isinstance(node.value, cst.Call):
            self.program.unentered.append((node.value, value))

    def run_Assign(self, node: cst.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target.target, value, node)

    def run_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value), node)

    def run_AugAssign(self, node: cst.AugAssign) -> None:
        value = self.apply(node, node.operator, self.evaluate(node.target), self.evaluate(node.value))
        self.assign(node.target, value, node)

    def assign(self, target: cst.CSTNode, value: Value, statement=None) -> None:
        if isinstance(target, (cst.Tuple, cst.List)):
            parts = value.parts if value.kind == values.SEQUENCE else None
            for index, element in enumerate(target.elements):
                if isinstance(element, cst.StarredElement):
                    self.assign(element.value, NOTHING)
                    parts = None
                elif parts is not None and len(parts) == len(target.elements):
                    self.assign(element.value, parts[index], statement)
                elif value.kind == values.TENSOR and value.has("forward"):
                    self.assign(element.value, value.replaced(facts=value.facts & {"forward"}), statement)
                elif value.kind == values.PARAMETERS:
                    self.assign(element.value, value)
                else:
                    self.assign(element.value, NOTHING, statement)
            return
        if isinstance(target, cst.Subscript):
            self.assign_item(target, value)
            return
        path = names.dotted(target)
        if not path:
            return
        if statement is not None:
            self.program.assignments.append((path, self.full_path(path), value, statement, self.place(events.CALL, target)))
        if value.kind == values.UNKNOWN and not value.path:
            # A value is known by the name that it gets.
            value = value.replaced(path=path)
        self.assign_path(path, value)

    def full_path(self, path: str) -> str:
        """The path with what its first name is imported from."""
        first, _, rest = path.partition(".")
        found = self.scope.get(first)
        if rest and found is not None and found.kind == values.NAME:
            return f"{found.name}.{rest}"
        return path

    def assign_path(self, path: str, value: Value) -> None:
        owner, _, attribute = path.partition(".")
        if path.endswith(".grad"):
            return
        self.scope.set(path, value)
        if attribute and "." not in attribute:
            instance = self.scope.get(owner)
            if instance is not None and instance.kind in (values.INSTANCE, values.MODULE) and instance.parts is not None:
                known = instance.parts.attributes.get(attribute)
                # What a constructor says first, `None`, is no answer.
                instance.parts.attributes[attribute] = value if known is None else values.join([known, value])

    def assign_item(self, target: cst.Subscript, value: Value) -> None:
        base = self.evaluate(target.value)
        for element in target.slice:
            if isinstance(element.slice, cst.Index):
                key = self.evaluate(element.slice.value)
                if base.kind == values.MAPPING and isinstance(key.constant, (str, int)):
                    base.parts[key.constant] = value

    def run_Del(self, node: cst.Del) -> None:
        if path := names.dotted(node.target):
            self.scope.variables.pop(path, None)

    def run_Global(self, node: cst.Global) -> None:
        if self.scope.parent is not None:
            self.scope.shared |= {item.name.value for item in node.names}

    run_Nonlocal = run_Global

    # --- Ends of suites ---

    def run_Return(self, node: cst.Return) -> None:
        self.frame.returns.append(self.evaluate(node.value))
        self.block.items.append(Exit("return"))

    def run_Raise(self, node: cst.Raise) -> None:
        self.evaluate(node.exc)
        self.block.items.append(Exit("raise"))

    def run_Break(self, _node) -> None:
        self.block.items.append(Exit("break"))

    def run_Continue(self, _node) -> None:
        self.block.items.append(Exit("continue"))

    def run_Assert(self, node: cst.Assert) -> None:
        self.evaluate(node.test)

    # --- Branches and loops ---

    def run_If(self, node: cst.If) -> None:
        test = self.evaluate(node.test)
        before = self.scope.snapshot()
        then, other = Block(), Block()
        ends = []
        self.conditions.append(node)
        try:
            self.into(node.body, then)
            if not self.leaves(then):
                ends.append(self.scope.snapshot())
            self.scope.variables = dict(before)
            if isinstance(node.orelse, cst.If):
                outer, self.block = self.block, other
                try:
                    self.statement = node.orelse
                    self.run_If(node.orelse)
                finally:
                    self.block = outer
            elif node.orelse is not None:
                self.into(node.orelse.body, other)
            if not self.leaves(other):
                ends.append(self.scope.snapshot())
        finally:
            self.conditions.pop()
        if test.kind == values.CONSTANT and len(ends) == 2:
            ends = [ends[0 if test.parts else 1]]
        self.scope.merge(ends or [before])
        self.block.items.append(Branch(node.test, then, other))

    @staticmethod
    def leaves(block: Block) -> bool:
        return any(isinstance(item, Exit) for item in block.items)

    def run_loop(self, node, prepare) -> None:
        body = Block()
        before = self.scope.snapshot()
        self.loops.append(node)
        try:
            prepare()
            self.into(node.body, body)
        finally:
            self.loops.pop()
        self.scope.merge([self.scope.snapshot(), before])
        self.block.items.append(Loop(node, body))
        if node.orelse is not None:
            self.run_suite(node.orelse.body)

    def run_For(self, node: cst.For) -> None:
        iterated = self.evaluate(node.iter)
        self.run_loop(node, lambda: self.assign(node.target, self.iterate(iterated)))

    def run_While(self, node: cst.While) -> None:
        self.run_loop(node, lambda: self.evaluate(node.test))

    def run_Try(self, node) -> None:
        self.program.tries.append((node, self.place(events.CALL, node)))
        block = Block()
        self.into(node.body, block)
        self.program.try_bodies[id(node)] = block
        self.block.items.append(block)
        after = [self.scope.snapshot()]
        for handler in node.handlers:
            # What a handler does is no part of a step that goes well.
            self.into(handler.body, Block())
            after.append(self.scope.snapshot())
            self.scope.variables = dict(after[0])
        self.scope.merge(after)
        for suite in (node.orelse, node.finalbody):
            if suite is not None:
                self.run_suite(suite.body)

    run_TryStar = run_Try

    def run_Match(self, node: cst.Match) -> None:
        self.evaluate(node.subject)
        ends = [self.scope.snapshot()]
        for case in node.cases:
            self.scope.variables = dict(ends[0])
            block = Block()
            self.into(case.body, block)
            ends.append(self.scope.snapshot())
            self.block.items.append(Branch(case.pattern, block, Block()))
        self.scope.merge(ends)

    def run_With(self, node: cst.With) -> None:
        entered = len(self.regions)
        for item in node.items:
            value = self.evaluate(item.item)
            if value.kind == values.REGION:
                self.regions.append(value.parts)
                self.record(events.CONTEXT, item.item, subject=value)
            elif value.kind == values.SEQUENCE and value.name == "contexts":
                self.regions += [part.parts for part in value.parts]
            elif self.may_be_autocast(item.item, value):
                self.regions.append(values.Region(enabled=None, null=True, node=item.item))
            if item.asname is not None:
                self.assign(item.asname.name, value if value.kind != values.REGION else NOTHING)
        try:
            self.run_suite(node.body)
        finally:
            del self.regions[entered:]

    @staticmethod
    def may_be_autocast(node, value: Value) -> bool:
        """Whether a context that is not known could be an autocast region."""
        if value.kind == values.UNKNOWN and value.name:
            return not value.name.startswith(("torch.", "tqdm", "builtins", "warnings", "threading", "contextlib"))
        text = cst.Module([]).code_for_node(node)
        return not text.startswith(("open(", "torch.", "tqdm(", "suppress("))

    # --- Definitions ---

    def run_FunctionDef(self, node: cst.FunctionDef) -> None:
        function = Function(node, self.scope, self.owner)
        regions, decorators = [], []
        for decorator in node.decorators:
            value = self.evaluate(decorator.decorator)
            if value.kind == values.NAME and value.name in library.AUTOCASTS:
                value = library.make_region(value.name, [], {}, decorator)
            if value.kind == values.REGION and not value.parts.null:
                regions.append(value.parts)
                self.record(events.CONTEXT, decorator, subject=value)
            decorators.append(value.name or value.path or names.dotted(decorator.decorator))
        function.regions, function.decorators = tuple(regions), tuple(decorators)
        for parameter in self.list_parameters(node.params):
            if parameter.default is not None:
                self.evaluate(parameter.default)
        self.program.functions.append(function)
        if self.owner is not None and self.scope is self.owner_scope:
            self.owner.methods[node.name.value] = function
        self.scope.set(node.name.value, Value(values.FUNCTION, parts=function, origin=node))

    @staticmethod
    def list_parameters(params: cst.Parameters) -> list[cst.Param]:
        return [*params.posonly_params, *params.params, *params.kwonly_params]

    def run_ClassDef(self, node: cst.ClassDef) -> None:
        made = Class(node, tuple(self.evaluate(base.value) for base in node.bases))
        self.program.classes.append(made)
        outer = self.owner, self.owner_scope, self.scope
        self.owner, self.scope = made, type(self.scope)(self.scope)
        self.owner_scope = self.scope
        try:
            self.run_suite(node.body)
            for path, value in self.scope.variables.items():
                if value.kind != values.FUNCTION:
                    made.attributes.setdefault(path, value)
        finally:
            inner = self.scope
            self.owner, self.owner_scope, self.scope = outer
        # Methods do not see the class's own variables.
        for method in made.methods.values():
            if method.scope is inner:
                method.scope = self.scope
        self.scope.set(node.name.value, Value(values.CLASS, name=node.name.value, parts=made, origin=node))

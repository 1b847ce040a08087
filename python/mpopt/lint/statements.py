"""The effects of statements: variables, and the blocks of events that branches and loops make."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpopt.lint import events, library, names, values
from mpopt.lint.events import Block, Branch, Exit, Loop
from mpopt.lint.scopes import MISSING, Changes, Class, Function
from mpopt.lint.values import NOTHING, Value

# The path of a variable; the paths that begin it are kept along.
LONGEST_PATH = 200


class Statements:
    """Part of the interpreter: see interpreter.py."""

    statement: ast.AST | None
    owner: Class | None

    def run_suite(self, suite: list[ast.stmt]) -> None:
        for statement in suite:
            self.steps += 1
            self.statement = statement
            if (run := self.runners.get(type(statement))) is not None:
                run(statement)

    def into(self, suite, block: Block) -> None:
        """Runs a suite whose events go to a block."""
        outer, self.block = self.block, block
        try:
            self.run_suite(suite)
        finally:
            self.block = outer

    # --- Bindings ---

    def run_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.program.imports.append(node)
        for bound, full in names.list_imports(node):
            made = self.make_name(full)
            if self.project is not None and made.kind == values.NAME and made.name not in library.MANAGERS:
                found = self.project.find(full, self.script.path)
                made = made if found is None else Value(values.NAME, name=full, parts=found)
            self.scope.set(bound, made)

    run_ImportFrom = run_Import

    def run_Expr(self, node: ast.Expr) -> None:
        value = self.evaluate(node.value)
        if value.kind == values.REGION and isinstance(node.value, ast.Call):
            self.program.unentered.append((node.value, value))

    def run_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value, node)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value), node)

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        before = self.evaluate(node.target)
        value = self.apply(node, before, self.evaluate(node.value))
        # Parameters are changed in place, and stay what they are.
        self.assign(node.target, before if before.kind == values.PARAMETERS and value.kind == values.TENSOR else value, node)

    def assign(self, target: ast.AST, value: Value, statement=None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self.assign_elements(target.elts, value, statement)
            return
        if isinstance(target, ast.Subscript):
            self.assign_item(target, value)
            return
        path = names.dotted(target)
        if not path:
            return
        if statement is not None:
            self.program.assignments.append((path, self.full_path(path), value, statement))
        if value.kind == values.UNKNOWN and not value.path:
            # A value is known by the name that it gets, and is another one than what had the name before.
            value = value.replaced(path=path, origin=value.origin or target)
        self.assign_path(path, value)

    def assign_elements(self, targets: list[ast.expr], value: Value, statement) -> None:
        parts = value.parts if value.kind == values.SEQUENCE else None
        for index, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                self.assign(target.value, NOTHING)
                parts = None
            elif parts is not None and len(parts) == len(targets):
                self.assign(target, parts[index], statement)
            elif value.kind == values.TENSOR and value.has("forward"):
                self.assign(target, value.replaced(facts=value.facts & {"forward"}), statement)
            elif value.kind == values.PARAMETERS:
                self.assign(target, value)
            else:
                self.assign(target, NOTHING, statement)

    def full_path(self, path: str) -> str:
        """The path with what its first name is imported from."""
        first, _, rest = path.partition(".")
        found = self.scope.get(first)
        if rest and found is not None and found.kind == values.NAME:
            return f"{found.name}.{rest}"
        return path

    def assign_path(self, path: str, value: Value) -> None:
        owner, _, attribute = path.partition(".")
        self.note_parameters(owner, attribute, value)
        if path.endswith(".grad") or len(path) > LONGEST_PATH:
            return
        self.scope.set(path, value)
        if attribute and "." not in attribute:
            instance = self.scope.get(owner)
            if instance is not None and instance.kind in (values.INSTANCE, values.MODULE) and instance.parts is not None:
                known = instance.parts.attributes.get(attribute)
                # The first value in a constructor, `None`, is no answer.
                instance.parts.attributes[attribute] = value if known is None else values.join([known, value])

    def note_parameters(self, owner: str, attribute: str, value: Value) -> None:
        """`p.data = ...` and `p.requires_grad = ...` of a module's parameters change the module."""
        if attribute not in ("data", "requires_grad"):
            return
        parameters = self.scope.get(owner)
        if parameters is None or parameters.kind != values.PARAMETERS or parameters.parts is None:
            return
        if attribute == "data" and value.dtype and value.dtype != parameters.dtype:
            self.record(events.CAST, self.statement, subject=parameters.parts, dtype=value.dtype)
            if value.dtype not in values.LOW:
                # Those that are trained may be the ones that are widened.
                self.program.frozen.setdefault(parameters.parts.identity, True)
        elif attribute == "requires_grad":
            self.freeze(parameters.parts, value, False)

    def freeze(self, module: Value, trains: Value | None, is_whole: bool) -> None:
        """Notes that a module's parameters are trained or not. Some of them that are trained again do not
        make it a trained module."""
        if trains is not None and trains.constant is False:
            self.program.frozen.setdefault(module.identity, True)
        elif is_whole:
            self.program.frozen[module.identity] = False

    def assign_item(self, target: ast.Subscript, value: Value) -> None:
        base = self.evaluate(target.value)
        for index in self.list_indices(target):
            if not isinstance(index, ast.Slice):
                key = self.evaluate(index)
                if base.kind == values.MAPPING and isinstance(key.constant, (str, int)) \
                        and (len(base.parts) < values.MOST_ENTRIES or key.constant in base.parts):
                    base.parts[key.constant] = self.join_entry(base.parts, key.constant, value)
                elif base.kind == values.MAPPING and key.constant is None and value.kind == values.TENSOR:
                    base.parts[values.ANY_OF] = value
                elif base.kind == values.UNKNOWN and base.origin is not None and key.constant is not None and value.kind == values.TENSOR:
                    place = base.identity, key.constant
                    self.items[place] = values.join([self.items.get(place, value), value])
                elif base.kind == values.TENSOR and value.origin is base.origin and value.dtype != base.dtype:
                    # Outputs that a model gives by names are known as one tensor, whose entries are cast one by one.
                    self.assign(target.value, base.replaced(dtype=""))

    def join_entry(self, parts: dict, key: str | int, value: Value) -> Value:
        """The value of an entry that is set, which is not known where a branch sets it that the mapping was not made in.
        A dtype is one that the condition chooses."""
        tests = self.made_under.get(id(parts), (parts, self.tests))[1]
        if self.tests[:len(tests)] != tests or len(self.tests) == len(tests):
            return value
        value = values.as_dtype(value)
        if value.kind != values.DTYPE:
            return value if value.kind not in (values.CONSTANT, values.MAPPING) else NOTHING
        chosen = values.under(value, events.describe(self.program.script, *self.tests[-1]))
        return values.join([parts[key], chosen]) if key in parts else chosen

    def run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if path := names.dotted(target):
                self.scope.change(path, MISSING)

    def run_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        if self.scope.parent is not None:
            self.scope.shared |= set(node.names)

    run_Nonlocal = run_Global

    # --- Ends of suites ---

    def run_Return(self, node: ast.Return) -> None:
        self.frame.returns.append(self.evaluate(node.value))
        self.block.items.append(Exit("return"))

    def run_Raise(self, node: ast.Raise) -> None:
        self.evaluate(node.exc)
        self.block.items.append(Exit("raise"))

    def run_Break(self, _node) -> None:
        self.block.items.append(Exit("break"))

    def run_Continue(self, _node) -> None:
        self.block.items.append(Exit("continue"))

    def run_Assert(self, node: ast.Assert) -> None:
        self.evaluate(node.test)

    # --- Branches and loops ---

    def run_If(self, node: ast.If) -> None:
        test, asked = self.ask(node.test)
        if test.has(values.ABSENT) and test.kind != values.CONSTANT:
            test = Value(values.CONSTANT, parts=False, facts=test.facts)
        self.program.branches.append((node, self.place(events.CALL, node)))
        sides, ends, outer = [], [], self.tests
        for outcome, suite in ((True, node.body), (False, node.orelse)):
            block, returned = Block(), len(self.frame.returns)
            self.tests = (*outer, (node.test, outcome))
            changes = self.run_aside(suite, block, self.narrow(node.test, outcome, asked))
            sides.append(block)
            if test.kind == values.CONSTANT and bool(test.parts) != outcome:
                del self.frame.returns[returned:]  # Arguments of the call rule the branch out.
            if not self.leaves(block):
                ends.append(self.note_condition(changes))
        self.tests = outer
        if test.kind == values.CONSTANT and len(ends) == 2:
            ends = [ends[0 if test.parts else 1]]
        self.scope.merge(ends or [{}])
        # A call that leaves an argument out takes one path.
        self.block.items.append(Branch(ast.Constant(bool(test.parts)) if test.has(values.ABSENT) else node.test, *sides))

    def note_condition(self, changes: Changes) -> Changes:
        """The dtypes among the changes of a branch with its condition; modules are noted as chosen by it."""
        for path, value in changes.items():
            if value.kind == values.DTYPE:
                changes[path] = values.under(value, events.describe(self.program.script, *self.tests[-1]))
        self.note_chosen(changes.items(), *self.tests[-1])
        return changes

    def note_chosen(self, chosen: Iterable[tuple[str, Value]], test: ast.AST, outcome: bool) -> None:
        """Notes the modules for which a branch chooses a name, or whose parameters it chooses."""
        identities = set()
        for path, value in chosen:
            if value.kind in (values.MODULE, values.UNKNOWN) and path != value.path:
                identities.add(value.identity)
            elif value.kind in (values.SEQUENCE, values.MAPPING, values.PARAMETERS):
                identities |= {found.parts.identity for found in values.find_all(value, values.PARAMETERS) if found.parts}
        if identities:
            self.program.chosen.setdefault(events.normalize(self.program.script, test, outcome), set()).update(identities)

    @staticmethod
    def leaves(block: Block) -> bool:
        return any(isinstance(item, Exit) for item in block.items)

    def run_loop(self, node, prepare) -> None:
        body = Block()
        outer, self.loops = self.loops, (*self.loops, node)
        self.scope.begin_branch()
        try:
            prepare()
            self.into(node.body, body)
        finally:
            changes = self.scope.end_branch()
            self.loops = outer
        self.scope.merge([changes, {}])
        self.block.items.append(Loop(node, body))
        self.run_suite(node.orelse)

    def run_For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.evaluate(node.iter)
        self.run_loop(node, lambda: self.assign(node.target, self.iterate(iterated)))

    run_AsyncFor = run_For

    def run_While(self, node: ast.While) -> None:
        self.run_loop(node, lambda: self.evaluate(node.test))

    def run_Try(self, node) -> None:
        self.program.tries.append((node, self.place(events.CALL, node)))
        block = Block()
        self.into(node.body, block)
        self.program.try_bodies[id(node)] = block
        self.block.items.append(block)
        ends: list[dict] = [{}]
        for handler in node.handlers:
            # A handler is no part of a step that goes well.
            ends.append(self.run_aside(handler.body, Block()))
        self.scope.merge(ends)
        self.run_suite(node.orelse)
        self.run_suite(node.finalbody)

    run_TryStar = run_Try

    def run_aside(self, suite: list[ast.stmt], block: Block, narrowed: Changes | None = None) -> Changes:
        """Runs a suite as a branch of its own, in which some variables are known to be less."""
        self.scope.begin_branch()
        for path, value in (narrowed or {}).items():
            self.scope.change(path, value)
        try:
            self.into(suite, block)
        finally:
            changes = self.scope.end_branch()
        return {path: value for path, value in changes.items() if (narrowed or {}).get(path) is not value}

    def ask(self, test: ast.expr) -> tuple[Value, Value]:
        """The value of a condition, and the dtypes with which it compares one: `x.dtype == torch.float32`, `x.dtype in (...)`."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Attribute) \
                and test.left.attr == "dtype" and isinstance(test.ops[0], (ast.Eq, ast.In, ast.NotEq, ast.NotIn)):
            self.evaluate(test.left)
            return NOTHING, self.evaluate(test.comparators[0])
        return self.evaluate(test), NOTHING

    def narrow(self, test: ast.expr, outcome: bool, asked: Value) -> Changes:
        """A tensor of whose dtype a branch is that it is, or is not, what the condition asks for."""
        path = names.dotted(test.left.value) if asked is not NOTHING else ""
        value = self.scope.get(path) if path else None
        if value is None or value.kind != values.TENSOR or not value.dtype:
            return {}
        listed = {values.as_dtype(part).dtype for part in (asked.parts if asked.kind == values.SEQUENCE else [asked])}
        is_one = outcome == isinstance(test.ops[0], (ast.Eq, ast.In))
        if is_one == (value.dtype in listed) or "" in listed:
            return {}
        return {path: value.replaced(dtype=listed.pop() if is_one and len(listed) == 1 else "")}

    def run_Match(self, node: ast.Match) -> None:
        self.evaluate(node.subject)
        ends: list[dict] = [{}]
        for case in node.cases:
            block = Block()
            ends.append(self.run_aside(case.body, block))
            self.block.items.append(Branch(case.pattern, block, Block()))
        self.scope.merge(ends)

    def run_With(self, node: ast.With | ast.AsyncWith) -> None:
        outer, no_grad = self.regions, self.no_grad
        for item in node.items:
            value = self.evaluate(item.context_expr)
            self.no_grad = self.no_grad or value.name in library.NO_GRAD
            if value.kind == values.REGION:
                self.enter_region(item.context_expr, value)
            elif value.kind == values.SEQUENCE and value.name == "contexts":
                self.regions += tuple(part.parts for part in value.parts)
            elif self.may_be_autocast(item.context_expr, value):
                self.regions += (values.Region(enabled=None, null=True, node=item.context_expr),)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value if value.kind != values.REGION else NOTHING)
        try:
            self.run_suite(node.body)
        finally:
            self.regions, self.no_grad = outer, no_grad

    run_AsyncWith = run_With

    def enter_region(self, node: ast.AST, value: Value) -> None:
        """Enters a region, up to the end of the statement or function around it."""
        self.regions += (value.parts,)
        self.entered[id(value.parts)] = self.loops
        self.record(events.CONTEXT, node, subject=value)

    def may_be_autocast(self, node: ast.expr, value: Value) -> bool:
        """True if a context that is not known could be an autocast region. One of the program that calls nothing
        where it is entered is none."""
        if value.kind == values.INSTANCE and (method := value.parts.find_method("__enter__")):
            return any(isinstance(each, ast.Call) for each in ast.walk(method.node))
        if value.kind == values.UNKNOWN and value.name:
            return not value.name.startswith(("torch.", "tqdm", "builtins", "warnings", "threading", "contextlib"))
        return not self.code(node).startswith(("open(", "torch.", "tqdm(", "suppress("))

    # --- Definitions ---

    def run_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = Function(node, self.scope, self.script, self.owner)
        regions, decorators = [], []
        for decorator in node.decorator_list:
            value = self.evaluate(decorator)
            # The finding's place is the @.
            shown = ast.copy_location(ast.Expr(decorator), decorator)
            shown.script = self.script
            shown.col_offset -= 1
            if value.kind == values.NAME and value.name in library.AUTOCASTS:
                value = library.make_region(value.name, [], {}, shown)
            if value.kind == values.REGION and not value.parts.null:
                regions.append(value.parts)
                self.record(events.CONTEXT, shown, subject=value)
            if (found := self.find_hydra(value)).kind == values.MAPPING:
                function.configuration = found
            decorators.append(value.name or value.path or names.dotted(decorator))
        function.regions, function.decorators = tuple(regions), tuple(decorators)
        for _, default in function.parameters:
            if default is not None:
                self.evaluate(default)
        self.program.functions.append(function)
        if self.owner is not None and self.scope is self.owner_scope:
            self.owner.methods[node.name] = function
        self.scope.set(node.name, Value(values.FUNCTION, parts=function, origin=node))

    run_AsyncFunctionDef = run_FunctionDef

    def run_ClassDef(self, node: ast.ClassDef) -> None:
        bases = [base.value if isinstance(base, ast.Starred) else base for base in node.bases]
        made = Class(node, tuple(map(self.evaluate, bases)))
        self.program.classes.append(made)
        decorators = [names.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
                      for decorator in node.decorator_list]
        outer = self.owner, self.owner_scope, self.scope
        self.owner, self.scope = made, type(self.scope)(self.scope)
        self.owner_scope = self.scope
        try:
            self.run_suite(node.body)
            for path, value in self.scope.variables.items():
                if value.kind != values.FUNCTION:
                    made.attributes.setdefault(path, value)
            self.note_fields(made, decorators)
        finally:
            inner = self.scope
            self.owner, self.owner_scope, self.scope = outer
        # Methods do not see the class's own variables.
        for method in made.methods.values():
            if method.scope is inner:
                method.scope = self.scope
        self.scope.set(node.name, Value(values.CLASS, name=node.name, parts=made, origin=node))

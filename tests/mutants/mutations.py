"""Small changes to the code of a module, each of which some test should notice.

Only what a function does is changed, and what a constant of a module is. Declarations are not:
class bodies, decorators, annotations and defaults of parameters.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}  # fmt: skip
_CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list",
    "partition": "rpartition", "rpartition": "partition",
}  # fmt: skip
_IDLE = {"strip", "lower"}
"""Methods without which a text stays as it is."""

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        path: the module.
        scope: the function that is changed, or the constant; qualified as Python does.
        lines: of the statement.
        change: what it does, in source code; with the scope it is the mutant's name.
        constant: whether a constant of the module is changed and not a function.
        put: changes the tree of the module.

    """

    path: Path
    scope: str
    lines: range
    change: str
    constant: bool
    put: Callable[[], None]

    @property
    def name(self) -> str:
        """What the file of explained mutants calls it."""
        return f"{self.path.stem}.{self.scope}: {self.change}"


def mutants_of(path: Path, tree: ast.Module) -> list[Mutant]:
    """Return all mutants of a module."""
    found: list[Mutant] = []
    names: Counter[str] = Counter()
    for scope, root in _scopes(tree):
        for statement, parent, field, new, old in _changes(root):
            change = _told(old, new)
            names[f"{scope}: {change}"] += 1
            number = names[f"{scope}: {change}"]
            found.append(
                Mutant(
                    path,
                    scope,
                    _lines(statement),
                    change if number == 1 else f"{change} #{number}",
                    not isinstance(root, _FUNCTION),
                    _putter(parent, field, new),
                )
            )
    return found


def _putter(parent: ast.AST, field: tuple[str, int | None], new: ast.AST) -> Callable[[], None]:
    name, index = field

    def put() -> None:
        if index is None:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[index] = new

    return put


def _scopes(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, _FUNCTION):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, _FUNCTION):
                    yield f"{node.name}.{each.name}", each
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if node.targets[0].id != "__all__":
                yield node.targets[0].id, node
        elif (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and "TypeAlias" not in ast.unparse(node.annotation)
        ):
            yield node.target.id, node


def _told(old: ast.AST, new: ast.AST) -> str:
    if isinstance(old, ast.If | ast.While):
        return f"if {_source(old.test)} -> if {_source(new.test)}"
    if isinstance(old, ast.Call) and isinstance(new, ast.Call):
        lost = {each.arg for each in old.keywords} - {each.arg for each in new.keywords}
        if lost and old.func is new.func:
            return f"{_source(old.func)}(...) without {lost.pop()}"
    return f"{_source(old)} -> {_source(new)}"


def _source(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _lines(statement: ast.AST) -> range:
    """Return the lines of a statement without those of the statements in it."""
    end = statement.end_lineno or statement.lineno
    if isinstance(statement, ast.If | ast.For | ast.While | ast.Try | ast.With):
        end = max(statement.lineno, statement.body[0].lineno - 1)
    return range(statement.lineno, end + 1)


_Change = tuple[ast.AST, ast.AST, tuple[str, int | None], ast.AST, ast.AST]
"""The statement, the parent of what is changed and its place in it, the new and the old node."""


def _changes(root: ast.stmt) -> Iterator[_Change]:
    if isinstance(root, _FUNCTION):
        for index, statement in enumerate(root.body):
            if index or not _is_docstring(statement):
                yield from _of(statement, statement, root, ("body", index), nested=False)
    else:
        yield from _below(root, root, nested=False)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of(
    statement: ast.AST,
    node: ast.AST,
    parent: ast.AST,
    field: tuple[str, int | None],
    *,
    nested: bool,
) -> Iterator[_Change]:
    for new in _replacements(node, parent, nested=nested):
        ast.copy_location(new, node)
        ast.fix_missing_locations(new)
        yield statement, parent, field, new, node
    yield from _below(statement, node, nested=nested)


def _below(statement: ast.AST, node: ast.AST, *, nested: bool) -> Iterator[_Change]:
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "args"} and not isinstance(
            node, ast.Call
        ):
            continue
        if isinstance(value, list):
            for index, each in enumerate(value):
                if isinstance(each, ast.stmt):
                    yield from _of(each, each, node, (name, index), nested=True)
                elif isinstance(each, ast.AST):
                    yield from _of(statement, each, node, (name, index), nested=nested)
        elif isinstance(value, ast.AST):
            yield from _of(statement, value, node, (name, None), nested=nested)


def _replacements(node: ast.AST, parent: ast.AST, *, nested: bool) -> Iterator[ast.AST]:
    if isinstance(node, ast.stmt):
        yield from _statements(node, nested=nested)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        yield from _displays(node, parent)
    yield from _parts(node)
    yield from _expressions(node)


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=value):
            yield from _constants(value)
        case ast.Compare(ops=[op], left=left, comparators=comparators):
            for other in _COMPARED[type(op)]:
                yield ast.Compare(left, [other()], comparators)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.BinOp(op=op, left=left, right=right):
            if type(op) in _COMPUTED:
                yield ast.BinOp(left, _COMPUTED[type(op)](), right)
            yield left
            yield right
        case ast.IfExp(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.Call():
            yield from _calls(node)
        case ast.Subscript(slice=ast.Slice(), value=value):
            yield value


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node without one of the conditions, choices or maps that it is made of."""
    match node:
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield from (_without(node, "values", index) for index in range(len(values)))
        case ast.comprehension(ifs=ifs):
            yield from (_without(node, "ifs", index) for index in range(len(ifs)))
        case ast.Dict(keys=keys) if None in keys:
            for index in range(len(keys)):
                yield _without(_without(node, "keys", index), "values", index)
        case ast.Match(cases=cases) if len(cases) > 1:
            yield from (_without(node, "cases", index) for index in range(len(cases)))


def _displays(node: ast.Tuple | ast.List | ast.Set, parent: ast.AST) -> Iterator[ast.AST]:
    """Yield a tuple without one of its elements, where it is what things are ordered by."""
    is_key = isinstance(parent, ast.Return | ast.Lambda)
    if len(node.elts) > 1 and (is_key or any(isinstance(x, ast.Starred) for x in node.elts)):
        yield from (_without(node, "elts", index) for index in range(len(node.elts)))


def _constants(value: object) -> Iterator[ast.expr]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int() | float():
            yield ast.Constant(value + 1)
        case str():
            yield ast.Constant(value + "!")


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    match node.func:
        case ast.Name(id=name) if name in _CALLED:
            keywords = [] if name == "sorted" else node.keywords
            yield ast.Call(ast.Name(_CALLED[name], ast.Load()), node.args, keywords)
        case ast.Attribute(attr=name, value=value) if name in _CALLED:
            func = ast.Attribute(value, _CALLED[name], ast.Load())
            yield ast.Call(func, node.args, node.keywords)
        case ast.Attribute(attr=name, value=value) if name in _IDLE:
            yield value
    for index, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield _without(node, "keywords", index)


def _statements(node: ast.stmt, *, nested: bool) -> Iterator[ast.AST]:
    match node:
        case ast.If(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            for value in (True, False):
                yield type(node)(ast.Constant(value), body, orelse)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[target]) if nested or isinstance(target, ast.Subscript):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Pass()
            yield ast.Break()


def _without(node: ast.AST, name: str, index: int) -> ast.AST:
    """Return a node without one of its parts; a choice of one is that one."""
    rest = [each for number, each in enumerate(getattr(node, name)) if number != index]
    if isinstance(node, ast.BoolOp) and len(rest) == 1:
        return rest[0]
    fields = dict(ast.iter_fields(node)) | {name: rest}
    return type(node)(**fields)

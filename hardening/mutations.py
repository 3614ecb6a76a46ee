"""Mutations: small changes of a source file, each of which some test should notice.

They are those of the usual tools: comparisons, arithmetic, logic, constants, minima for maxima, loops left earlier or
later, and calls left out. What changes no result is not mutated: annotations, texts, decorators, checks of lengths
(``strict=``).
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
PAIRS = (("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"))
OTHER_NAME = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
NOT_MUTATED = {"annotation", "returns", "decorator_list", "type_comment"}  # fields of nodes


@dataclass(frozen=True)
class Mutation:
    """One change: the line it begins in, what stood there and what stands there now, and the whole source with it."""

    line: int
    before: str
    after: str
    source: str


def mutations_of(source: str) -> list[Mutation]:
    """All mutations of a module, in the order of its lines."""
    content = source.encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, replacements in _mutable(ast.parse(source)):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = content[first:last].decode()
        for after in replacements:
            changed = (content[:first] + after.encode() + content[last:]).decode()
            found.append(Mutation(node.lineno, before, after, changed))
    return sorted(found, key=lambda one: one.line)


def _mutable(tree: ast.AST) -> Iterator[tuple[ast.AST, list[str]]]:
    """Every node that can be mutated, and what may stand in its place."""
    replacements = _replacements(tree)
    if replacements:
        yield tree, replacements
    if isinstance(tree, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    for field, value in ast.iter_fields(tree):
        if field in NOT_MUTATED or (isinstance(tree, ast.keyword) and tree.arg == "strict"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _mutable(child)


def _replacements(node: ast.AST) -> list[str]:
    match node:
        case ast.Compare(ops=[operator]):
            others = COMPARISONS[type(operator)]
            return [f"({ast.unparse(ast.Compare(node.left, [other()], node.comparators))})" for other in others]
        case ast.BinOp() if type(node.op) in ARITHMETIC:
            return [f"({ast.unparse(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))})"]
        case ast.AugAssign() if type(node.op) in ARITHMETIC:
            return [ast.unparse(ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value))]
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            return [f"({ast.unparse(ast.BoolOp(other, node.values))})"]
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            return [f"({ast.unparse(node.operand)})"]
        case ast.Constant():
            return _other_constants(node.value)
        case ast.Name(ctx=ast.Load()) if node.id in OTHER_NAME:
            return [OTHER_NAME[node.id]]
        case ast.Attribute(ctx=ast.Load()) if node.attr in OTHER_NAME:
            return [ast.unparse(ast.Attribute(node.value, OTHER_NAME[node.attr], node.ctx))]
        case ast.Break():
            return ["continue"]
        case ast.Continue():
            return ["break"]
        case ast.Expr(value=ast.Call()):
            return ["pass"]
    return []


def _other_constants(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1), *(["0"] if value == 1 else [])]
    if isinstance(value, float):
        return [repr(2 * value if value else 1.0)]
    return []

"""The steps of spec/complex.md, done as they stand there, give the bits of samebits.order (CPX-3 to CPX-10)."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits import bits, order
from samebits.order._complex import FORMULAS, MOVES

TEXT = (Path(__file__).parents[2] / "spec" / "complex.md").read_text()
ELSEWHERE = {*MOVES, "eq", "ne", "is_finite", "integer_pow"}
"""Formulas of which the page has no block: CPX-2, ELT-9."""
OPERATORS: dict[type, Any] = {
    ast.Add: order.add, ast.Sub: order.sub, ast.Mult: order.mul, ast.Div: order.div, ast.USub: order.neg,
    ast.Not: order.bitwise_not, ast.And: order.bitwise_and, ast.Or: order.bitwise_or,
    ast.Eq: order.eq, ast.Lt: order.lt, ast.LtE: order.le, ast.Gt: order.gt, ast.GtE: order.ge,
}  # fmt: skip
NAMES = {"max": "maximum", "min": "minimum", "isfinite": "is_finite"}
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 95.0, -95.0, 3e38, 1e-40, 720.0, -720.0, np.inf, -np.inf, np.nan,
          -np.nan]  # fmt: skip


def parsed(line):
    tree = ast.parse(line.strip().replace("^", "**")).body[0]
    assert isinstance(tree, (ast.Assign, ast.Expr))
    return tree


def blocks(page):
    """name -> (operands, assignments, result), as trees."""
    found = {}
    for block in re.findall(r"^```steps\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for text in block.strip().split("\n\n"):
            head, *lines = text.splitlines()
            call = parsed(head.removesuffix(":")).value
            assert isinstance(call, ast.Call)
            *steps, last = lines
            result = parsed(last.strip().removeprefix("return ")).value
            found[ast.unparse(call.func)] = call.args, list(map(parsed, steps)), result
    return found


def constants():
    """name -> its value in float32 and in float64."""
    rows = re.findall(r"^\| ([A-Z0-9_]+) \| (\S+) \| (\S+) \|", TEXT, re.MULTILINE)
    return {name: tuple(map(number, values)) for name, *values in rows}


def number(text):
    if "^" in text:
        base, exponent = text.split("^")
        return float(base) ** int(exponent)
    return float.fromhex(text) if "x" in text else float(text)


BLOCKS, CONSTANTS = blocks(TEXT), constants()


@dataclass(frozen=True)
class Reader:
    """Does the steps of a block on arrays of one float dtype."""

    dtype: np.dtype

    def call(self, name: str, operands: list[Any]) -> Any:
        parameters, steps, result = BLOCKS[name]
        values: dict[str, Any] = {}
        for target, value in zip(parameters, operands, strict=True):
            self.bind(target, value, values)
        for step in steps:
            self.bind(step.targets[0], self.value(step.value, values), values)
        return self.value(result, values)

    def bind(self, target: ast.expr, value: Any, values: dict[str, Any]) -> None:
        if isinstance(target, ast.Tuple):
            for part, x in zip(target.elts, value, strict=True):
                self.bind(part, x, values)
        else:
            values[ast.unparse(target)] = value

    def constant(self, x: float) -> np.ndarray:
        rounded = self.dtype.type(x)
        assert rounded == x
        return np.asarray(rounded)

    def value(self, tree: Any, values: dict[str, Any]) -> Any:
        def of(x: ast.expr) -> Any:
            return self.value(x, values)

        match tree:
            case ast.Tuple(parts):
                return tuple(map(of, parts))
            case ast.Constant(int() | float() as x):
                return self.constant(x)
            case ast.Name("inf"):
                return self.constant(np.inf)
            case ast.Name(name) if name in CONSTANTS:
                return self.constant(CONSTANTS[name][self.dtype == np.float64])
            case ast.Name(name):
                return values[name]
            case ast.UnaryOp(operator, x):
                return OPERATORS[type(operator)](of(x))
            case ast.BinOp(a, operator, b) | ast.Compare(a, [operator], [b]) | ast.BoolOp(operator, [a, b]):
                return OPERATORS[type(operator)](of(a), of(b))
            case ast.IfExp(condition, yes, no):
                return order.select(of(condition), of(yes), of(no))
            case ast.Call(ast.Name("isinf"), [x]):
                return order.eq(order.abs(of(x)), self.constant(np.inf))
            case ast.Call(ast.Name(name), [*operands]):
                given = list(map(of, operands))
                parameters = BLOCKS[name][0] if name in BLOCKS else []
                if [isinstance(p, ast.Tuple) for p in parameters] == [isinstance(x, tuple) for x in given]:
                    return self.call(name, given)
                return getattr(order, NAMES.get(name, name))(*given)
        raise AssertionError(ast.unparse(tree))


def as_written(name, *operands):
    """An operation of the page on arrays of complex numbers."""
    reader = Reader(np.real(operands[0]).dtype)
    with np.errstate(all="ignore"):
        parts = reader.call(name, [(np.real(z), np.imag(z)) for z in operands])
    parts = [order.sub(x, np.zeros_like(x)) for x in (parts if isinstance(parts, tuple) else (parts,))]
    return parts[0] if len(parts) == 1 else order.complex(*np.broadcast_arrays(*parts))


def operands(dtype, seed, n):
    """All pairs of VALUES, and n numbers near the axes, 1, the circle, the ends of the range, where exp overflows."""
    part = np.dtype(dtype).type(0).real.dtype
    rng = np.random.default_rng(seed)
    turn = np.exp(2j * np.pi * rng.random(n))
    circle = turn * (1 + rng.choice([-1, 1], n) * np.exp2(rng.uniform(-50, -1, n)))
    reach = rng.choice([4.0, 30.0, 120.0 if part == np.float32 else 1000.0], n)
    wide = turn * np.exp2(rng.uniform(-reach, reach))
    limit = 88 if part == np.float32 else 709
    steep = limit * rng.choice([-1, 1], n) * rng.uniform(0.99, 1.01, n) + 1j * rng.uniform(-9, 9, n)
    flat = wide.real + 1j * wide.imag * np.exp2(rng.uniform(-60, 0, n))
    z = np.choose(rng.integers(0, 7, n), [circle, 1 + turn * np.exp2(rng.uniform(-30, 1, n)), wide, flat, flat * 1j,
                                          40 * (rng.random(n) - 0.5) + 1j * rng.uniform(-9, 9, n), steep])  # fmt: skip
    x, y = np.meshgrid(VALUES, VALUES)
    with np.errstate(all="ignore"):
        x, y = ([*grid.ravel(), *part_of(z)] for grid, part_of in ((x, np.real), (y, np.imag)))
        return order.complex(np.asarray(x).astype(part), np.asarray(y).astype(part))


def test_each_operation_has_a_block():
    helpers = {"unit", "scaled", "spiral", "log_abs", "hyperbolic", "distant"}
    assert FORMULAS.keys() - ELSEWHERE == BLOCKS.keys() - helpers
    assert len(CONSTANTS) > 20


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", sorted(FORMULAS.keys() - ELSEWHERE))
def test_the_steps_give_the_bits_of_the_reference(name, dtype):
    given = [operands(dtype, 0, 600)]
    if name in ("add", "sub", "mul", "div", "pow"):
        other = operands(dtype, 1, 600)
        rng = np.random.default_rng(2)
        given = [np.concatenate([x, x[rng.permutation(x.size)]]) for x in (given[0], other)]
        given[1][: other.size] = rng.permutation(other)
    with np.errstate(all="ignore"):
        assert bits.same(as_written(name, *given), getattr(order, name)(*given))


OTHER = [("div", "v * r)) / t", "r * u)) / t"), ("sqrt", "right = x >= 0", "right = x > 0"),
         ("log", "m <= 1.5", "m <= 1.25"), ("tanh", "(beta * s) * s", "beta * (s * s)")]  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), OTHER)
def test_another_text_gives_other_bits(monkeypatch, name, before, after):
    assert TEXT.count(before) == 1
    monkeypatch.setitem(globals(), "BLOCKS", blocks(TEXT.replace(before, after)))
    given = [operands(np.complex128, i, 600) for i in range(2 if name == "div" else 1)]
    with np.errstate(all="ignore"):
        assert not bits.same(as_written(name, *given), getattr(order, name)(*given))

"""How many spins a problem will need: the paper's table 2, and the compact form's count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import OptionError
from isinglearn.lowering.options import Options
from isinglearn.lowering.orders import choose_order
from isinglearn.lowering.pipeline import Problem
from isinglearn.lowering.pipeline import compile as compile_problem
from isinglearn.lowering.signs import slack_bits
from isinglearn.lowering.to_hubo import to_hubo
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import bit_count
from isinglearn.problem.variables import bits_needed


@dataclass(frozen=True)
class Shape:
    """A network and data shape in the paper's letters.

    Attributes
    ----------
    n, H, L, m
        Inputs, units per hidden layer, layers, outputs.
    B, N
        Bit width of the inputs, samples.
    """

    n: int
    H: int
    L: int = 2
    m: int = 1
    B: int = 0
    N: int = 1

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("H", 1), ("L", 2), ("m", 1), ("B", 0), ("N", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise OptionError(
                    "this is not a shape",
                    where=f"Shape({name})",
                    rule=f"a whole number of at least {least}",
                    received=value,
                    remedy="n inputs, H units, L layers, m outputs, B input bits, N samples",
                )


@dataclass(frozen=True)
class Budget:
    """Spins by kind for both formulations.

    Attributes
    ----------
    paper
        Table 2, variable by variable; its sum is the QCBO.
    paper_auxiliaries
        An estimate: only the reduction knows.
    compact
        By role; exact for given data, else the worst case.
    exact
        Whether ``compact`` is exact.
    """

    paper: dict[str, int]
    paper_auxiliaries: int
    compact: dict[str, int]
    exact: bool

    @property
    def paper_qcbo(self) -> int:
        """Binary variables of the paper's QCBO."""
        return sum(self.paper.values())

    @property
    def paper_qubo(self) -> int:
        """Spins of the paper's QUBO, estimated."""
        return self.paper_qcbo + self.paper_auxiliaries

    @property
    def compact_qubo(self) -> int:
        """Spins of the compact QUBO."""
        return sum(self.compact.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "paper": self.paper,
            "paper_qcbo": self.paper_qcbo,
            "paper_auxiliaries_estimate": self.paper_auxiliaries,
            "paper_qubo_estimate": self.paper_qubo,
            "compact": self.compact,
            "compact_qubo": self.compact_qubo,
            "compact_exact": self.exact,
        }


def spin_budget(
    what: Shape | Sequential,
    X: ArrayLike | None = None,
    *,
    order: str = "auto",
    signs: str = "auto",
    box: bool = False,
) -> Budget:
    """Turn a shape, or a network and its inputs, into the spins that both formulations need.

    For a :class:`Shape` nothing is compiled: table 2 and the compact worst case. For a network and data
    the compact figure is exact, equal to what compiling with the same options gives.
    """
    if isinstance(what, Shape):
        worst = _worst_case(what)
        return Budget(table_2(what), _auxiliaries(what), worst, exact=False)
    if X is None:
        raise OptionError(
            "a network needs data to be counted",
            where="spin_budget(net, X)",
            rule="an integer array (samples, features)",
            received="no X",
            remedy="pass X, or a Shape for the worst case",
        )
    return _exact(what, X, Options("compact", order, signs, box))


def table_2(shape: Shape) -> dict[str, int]:
    """The paper's table 2: bits of every kind of variable."""
    n, H, L, m, B, N = shape.n, shape.H, shape.L, shape.m, shape.B, shape.N
    size = n * 2**B
    middle = L - 2
    return {
        "W1": n * H,
        "b1": H * bit_count(2 * size),
        "Wk": middle * H * H,
        "WL": m * H * bit_count(2 * H),
        "bL": m * bit_count(2 * H),
        "s1": N * H * bit_count(4 * size),
        "sk": N * middle * H * bit_count(2 * H),
        "r1": N * H * bit_count(3 * size),
        "rk": N * middle * H * bit_count(2 * H),
        "t1": N * H * bit_count(6 * size),
        "a": N * (L - 1) * H,
        "y": N * m * bit_count(4 * H),
    }


def complexity(shape: Shape) -> float:
    """The sum inside the O of the paper's eq. (9)."""
    n, H, L, m, B, N = shape.n, shape.H, shape.L, shape.m, shape.B, shape.N
    return (
        n * H
        + m * N * log2(H)
        + H * N * log2(n)
        + H * H * L
        + B * H * N
        + m * H * log2(H)
        + H * L * N * log2(H)
    )


def growth(shape: Shape) -> dict[str, dict[str, list[tuple[int, int]]]]:
    """Turn a shape into curves of spins over N, H and L, the others fixed; eq. (10) as a picture."""
    sweeps: dict[str, list[int]] = {
        "N": [10, 30, 100, 300, 1000, 3000, 10000],
        "H": [1, 2, 4, 8, 16, 32, 64],
        "L": [2, 3, 4, 6, 8, 12, 16],
    }
    curves: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for letter, values in sweeps.items():
        budgets = [(value, spin_budget(replace(shape, **{letter: value}))) for value in values]
        curves[letter] = {
            "paper (estimate)": [(value, budget.paper_qubo) for value, budget in budgets],
            "compact (worst case)": [(value, budget.compact_qubo) for value, budget in budgets],
        }
    return curves


def _auxiliaries(shape: Shape) -> int:
    """Activation times every bit of its sum, every weight bit times its activation."""
    n, H, L, m, B, N = shape.n, shape.H, shape.L, shape.m, shape.B, shape.N
    first = H * bit_count(4 * n * 2**B)
    middle = (L - 2) * (H * bit_count(2 * H) + H * H)
    return N * (first + middle + m * H * bit_count(2 * H))


def _worst_case(shape: Shape) -> dict[str, int]:
    """The compact form for the worst data of this shape, whichever way of writing signs is smaller."""
    n, H, L, m, B, N = shape.n, shape.H, shape.L, shape.m, shape.B, shape.N
    size = n * 2**B
    weight_bits = bit_count(2 * H)
    slack = _slack(-size, 2 * size)
    pairs = H * (H - 1) // 2
    # Each sample switches exactly one of w and -w, at one of at most `size` biases.
    levels = min(2**n * size, 2 ** (n - 1) * N)
    by_slack = {"weight": n * H, "bias": H * bit_count(size), "slack": N * H * slack}
    by_level = {"choice": H * (2**n - 1), "threshold": H * levels}
    first = min(by_slack, by_level, key=lambda way: sum(way.values()))
    middle_slack = _slack(-1, H - 1)
    result = dict(first)
    result["weight"] = result.get("weight", 0) + (L - 2) * H * H + m * H * weight_bits
    result["bias"] = result.get("bias", 0) + m * weight_bits
    result["activation"] = N * (L - 1) * H
    result["slack"] = result.get("slack", 0) + N * (L - 2) * H * middle_slack
    # The output: products first, or pairs of activations and of weight bits after squaring.
    outputs = min(N * m * H * weight_bits, N * pairs + m * weight_bits**2 * (pairs + H))
    result["product"] = N * (L - 2) * H * H + outputs
    return {role: count for role, count in result.items() if count}


def _slack(lo: int, hi: int) -> int:
    return int(slack_bits(np.array([lo]), np.array([hi]))[0])


def _exact(net: Sequential, X: ArrayLike, options: Options) -> Budget:
    from isinglearn.lowering.to_qubo import to_qubo

    # Labels do not change any count, but compiling wants some; all checks of the data are compile's.
    rows = np.shape(X)[0] if np.ndim(X) else 0
    labels = np.zeros((rows, getattr(net, "out_features", 1)))
    checked = compile_problem(net, X, labels)
    compact = Problem(checked.network, checked.data, checked.loss, options)
    hubo = to_hubo(compact.qcbo, options, None)
    qubo = to_qubo(hubo, choose_order(hubo, options), options, None)
    paper = Problem(checked.network, checked.data, checked.loss, Options("paper"))
    counts: dict[str, int] = {}
    for block in paper.qcbo.variables.blocks:
        name = f"{block.origin}.{block.label}"
        counts[name] = counts.get(name, 0) + int(bits_needed(block).sum())
    return Budget(counts, _paper_products(paper), qubo.variables.count_by_role(), exact=True)


def _paper_products(paper: Problem) -> int:
    """Estimate: products of bits inside the constraints, one auxiliary each."""
    bits = np.concatenate([bits_needed(block) for block in paper.qcbo.variables.blocks])
    total = 0
    for constraint in paper.qcbo.constraints:
        rows = constraint.rows
        quadratic = rows.monomials[rows.degrees == 2]
        if len(quadratic):
            pairs = np.unique(quadratic[:, -2:], axis=0)
            total += int((bits[pairs[:, 0]] * bits[pairs[:, 1]]).sum())
    return total

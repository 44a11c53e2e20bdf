"""QCBO to HUBO: integers become bits, constraints become penalties, defined variables are substituted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from isinglearn.lowering.options import Options
from isinglearn.lowering.penalties import Certificate, user_weights
from isinglearn.lowering.signs import SignPlan, plan_signs, slack_reach
from isinglearn.lowering.thresholds import lower_units
from isinglearn.problem.coding import BitCode, Definition, bits_of, encode_integers, written_blocks
from isinglearn.problem.encodings import IntArray, encoding_named
from isinglearn.problem.forms import HUBO, QCBO, Constraint, Energy, Proofs
from isinglearn.problem.rows import PolynomialRows, Shape, stack_rows
from isinglearn.problem.variables import Block, Positions, VariableTable, bits_needed

Weigh = Callable[[IntArray], tuple[IntArray, Proofs]]
_Rule = tuple[Positions, PolynomialRows, Shape]


def to_hubo(qcbo: QCBO, options: Options, certificate: Certificate | None) -> HUBO:
    """Turn the constrained form into the unconstrained one of any degree.

    Without a certificate all weights are 1: enough to count spins, not to solve.
    """
    by_hand = options.penalty
    if certificate is None or by_hand is not None:
        weigh: Weigh = partial(user_weights, weight=by_hand or 1)
    else:
        weigh = certificate.weigh
    return _Lowering(qcbo, plan_signs(qcbo, options)).run(weigh)


class _Lowering:
    """The passes of one lowering, in the order in which they run."""

    def __init__(self, qcbo: QCBO, plans: list[SignPlan]) -> None:
        self.qcbo = qcbo
        self.plans = plans
        self.blocks = list(qcbo.variables.blocks)
        self.definitions: list[Definition] = []
        self.substitutions: list[tuple[IntArray, PolynomialRows]] = []
        # Activations that keep a bit, with the expression they are tied to.
        self.ties: list[tuple[Constraint, IntArray, PolynomialRows]] = []
        # Penalties over integers, translated to bits at the end, and penalties over bits.
        self.integer_rules: list[_Rule] = []
        self.bit_rules: list[_Rule] = []

    def run(self, weigh: Weigh) -> HUBO:
        """All passes."""
        self.write_thresholds()
        self.settle_constants()
        self.collect_equalities()
        self.encode()
        self.substitute()
        self.write_slacks()
        self.add_validity()
        return self.assemble(weigh)

    # -- on integers -------------------------------------------------------------------------------

    def write_thresholds(self) -> None:
        """Units with few settings: parameters and activations become expressions in level bits."""
        for plan in self.plans:
            if plan.way == "slack":
                continue
            origin, first = plan.constraints[0].positions.origin, sum(map(len, self.blocks))
            lowered = lower_units(origin, plan.rows, plan.units, self.qcbo.variables, first)
            self.blocks += lowered.blocks
            self.definitions += lowered.definitions
            self.substitutions.append((lowered.targets, lowered.expressions))
            self.integer_rules += lowered.rules
            at = 0
            for constraint in plan.constraints:
                mine = lowered.activations.take(np.arange(at, at + constraint.rows.num_rows))
                self._place_activations(constraint, mine, inline=plan.way == "inline")
                at += constraint.rows.num_rows

    def _place_activations(
        self, constraint: Constraint, active: PolynomialRows, *, inline: bool
    ) -> None:
        """Substitute ``a = 2 A - 1`` (a sign) or ``A``, or keep a bit for each ``A`` and tie it by a penalty.

        Samples with equal ``A`` keep a bit each: a shared one would belong to several samples, and the
        repair bound of its tie would be their sum.
        """
        assert constraint.target is not None
        target = constraint.target
        varies = np.bincount(active.rows[active.degrees > 0], minlength=len(target)) > 0
        gone = np.arange(len(target)) if inline else np.flatnonzero(~varies)
        shown = active
        if constraint.kind == "sign":
            shown = active.scaled(2) + PolynomialRows.constants(np.full(active.num_rows, -1))
        self.substitutions.append((target[gone], shown.take(gone)))
        if not inline:
            kept = np.flatnonzero(varies)
            self.ties.append((constraint, kept, active.take(kept)))

    def settle_constants(self) -> None:
        """Switches that no parameter can change are constants, not bits."""
        for constraint in self._by_slack():
            assert constraint.target is not None
            lo, hi = self._bounds(constraint.rows)
            settled = np.flatnonzero((lo >= 0) | (hi < 0))
            value = PolynomialRows.constants(np.where(lo[settled] >= 0, 1, constraint.off))
            self.substitutions.append((constraint.target[settled], value))

    def _by_slack(self) -> list[Constraint]:
        """Switches that are written with slack bits."""
        return [c for plan in self.plans if plan.way == "slack" for c in plan.constraints]

    def _bounds(self, rows: PolynomialRows) -> tuple[IntArray, IntArray]:
        return rows.bounds(self.qcbo.variables.lo, self.qcbo.variables.hi)

    def collect_equalities(self) -> None:
        """Equalities: a definition where the target has no bits, a penalty where it has."""
        for constraint in self.qcbo.constraints:
            if constraint.kind != "equal":
                continue
            rows, target = constraint.rows, constraint.target
            if target is None:
                self.integer_rules.append((constraint.positions, rows, "square"))
            elif self._has_bits(int(target[0])):
                tied = rows - PolynomialRows.variables(target)
                self.integer_rules.append((constraint.positions, tied, "square"))
            else:
                self.substitutions.append((target, rows))

    def _has_bits(self, variable: int) -> bool:
        table = self.qcbo.variables
        which = int(np.searchsorted(table.starts, variable, side="right")) - 1
        return table.blocks[which].encoding is not None

    # -- on bits -----------------------------------------------------------------------------------

    def encode(self) -> None:
        """Number the bits of all integers that are not substituted."""
        self.integers = VariableTable(self.blocks)
        self.written = np.concatenate(
            [np.full(len(block), block.encoding is not None) for block in self.integers.blocks]
        )
        for target, _ in self.substitutions:
            self.written[target] = False
        self.bits, self.values = encode_integers(self.integers, self.written)

    def substitute(self) -> None:
        """Give every substituted integer its polynomial over bits, in order of dependence."""
        for target, rows in self.substitutions:
            value = rows.substitute(self.values)
            self.values = _with_rows(self.values, target, value)

    def write_slacks(self) -> None:
        """Signs and inequalities: ``t = z - 2 slack`` in {0, 1}, penalised by ``t (t - 1) / 2``."""
        for constraint, kept, active in self.ties:
            tied = active.substitute(self.values) - self._active(constraint).take(kept)
            self.bit_rules.append((constraint.positions.take(kept), tied, "square"))
        for constraint in self._by_slack():
            self._write_sign(constraint)
        for constraint in self.qcbo.constraints:
            if constraint.kind == "at_least":
                lo, hi = self._bounds(constraint.rows)
                open_rows = np.flatnonzero(lo < 0)
                rows = constraint.rows.take(open_rows)
                self._write_range(
                    constraint.positions.take(open_rows),
                    rows.substitute(self.values),
                    rows,
                    np.maximum(hi[open_rows], 0),
                    np.ones(len(open_rows), dtype=np.int64),
                )

    def _active(self, constraint: Constraint) -> PolynomialRows:
        """The 0/1 of each switch, over bits."""
        assert constraint.target is not None
        values = self.values.take(constraint.target)
        return _halved(values) if constraint.kind == "sign" else values

    def _write_sign(self, constraint: Constraint) -> None:
        assert constraint.target is not None
        rows, target = constraint.rows, constraint.target
        lo, hi = self._bounds(rows)
        open_rows = np.flatnonzero((lo < 0) & (hi >= 0))
        rows, target, lo, hi = rows.take(open_rows), target[open_rows], lo[open_rows], hi[open_rows]
        # All coefficients share a factor where weights are +-1 and the bias is frozen (parity):
        # s >= 0 exactly when floor(s / g) >= 0.
        sums = rows.substitute(self.values)
        divisor = _common_divisor(sums)
        reach = slack_reach(lo // divisor, hi // divisor)
        one = PolynomialRows.constants(np.ones(len(target)))
        off = one - self._active(constraint).take(open_rows)
        z = _divided(sums, divisor) + off.scaled(reach + 1)
        # slack = floor(z / 2) = floor((2 s + g (R + 1) (1 - a)) / (4 g)), over integers; twice 1 - a for
        # a step.
        lift = (one - PolynomialRows.variables(target)).scaled(
            1 if constraint.kind == "sign" else 2
        )
        numerator = rows.scaled(2) + lift.scaled(divisor * (reach + 1))
        self._write_range(constraint.positions.take(open_rows), z, numerator, reach, 2 * divisor)

    def _write_range(
        self,
        positions: Positions,
        z: PolynomialRows,
        numerator: PolynomialRows,
        reach: IntArray,
        divisor: IntArray,
    ) -> None:
        """Force ``0 <= z <= reach``; the slack is ``numerator // (2 divisor)``."""
        need = np.flatnonzero(reach // 2 > 0)
        if len(need):
            own = "slack" if positions.label == "sign" else f"{positions.label} slack"
            block = Block(
                positions.origin,
                own,
                positions.axes,
                positions.entries[need],
                "slack",
                np.zeros(len(need), dtype=np.int64),
                reach[need] // 2,
                "bounded",
            )
            bits, slack = bits_of(block, len(self.bits))
            first = len(self.integers)
            self.integers = self.integers.extended(block)
            self.written = np.concatenate([self.written, np.ones(len(block), dtype=bool)])
            self.bits = self.bits.extended(bits)
            self.values = stack_rows([self.values, slack])
            self.definitions.append(
                Definition(
                    first + np.arange(len(block)),
                    "divide",
                    numerator.take(need),
                    2 * divisor[need],
                )
            )
            spread = PolynomialRows.of(
                z.num_rows, need[slack.rows], slack.monomials, slack.coefficients
            )
            z = z - spread.scaled(2)
        self.bit_rules.append((positions, z, "pairs"))

    def add_validity(self) -> None:
        """Encodings whose codes are not all values: exactly one bit, or ordered bits."""
        first = 0
        for _, integers in written_blocks(self.integers, self.written):
            counts = bits_needed(integers)
            rule = encoding_named(integers.encoding or "bounded").validity
            if rule != "any" and counts.sum():
                self.bit_rules += _validity(integers, counts, first, rule)
            first += int(counts.sum())

    def assemble(self, weigh: Weigh) -> HUBO:
        """Translate what is left, weigh every penalty, put all together."""
        rules = [
            simple
            for positions, rows, shape in self.integer_rules
            for simple in _simplified(positions, rows.substitute(self.values), shape)
        ] + self.bit_rules
        penalties = []
        for positions, rows, shape in rules:
            weights, proofs = weigh(positions.samples)
            penalties.append(Energy(positions, rows, shape, weights, proofs))
        objective = tuple(
            Energy(part.positions, part.rows.substitute(self.values), part.shape, part.weights)
            for part in self.qcbo.objective
        )
        code = BitCode(
            self.integers,
            self.values,
            tuple(self.definitions),
            len(self.qcbo.variables),
            self.written,
        )
        return HUBO(self.bits, objective, tuple(penalties), code, self.qcbo.scale, source=self.qcbo)


def _simplified(positions: Positions, rows: PolynomialRows, shape: Shape) -> list[_Rule]:
    """Rows that are sums of non-negative terms need no square: each term must be 0, at a cost of 1."""
    if shape != "square":
        return [(positions, rows, shape)]
    least = np.zeros(rows.num_rows, dtype=np.int64)
    np.minimum.at(least, rows.rows, np.where(rows.degrees > 0, rows.coefficients, -1))
    # A row of linear terms is left as it is: its square is as simple.
    plain = (least >= 0) & (np.bincount(rows.rows, rows.degrees == 2, rows.num_rows) > 0)
    if not plain.any():
        return [(positions, rows, shape)]
    chosen, others = np.flatnonzero(plain), np.flatnonzero(~plain)
    sums = rows.take(chosen)
    ones = PolynomialRows.of(
        len(chosen), sums.rows, sums.monomials, np.ones_like(sums.coefficients), binary=True
    )
    left: list[_Rule] = [(positions.take(others), rows.take(others), shape)] if len(others) else []
    return [*left, (positions.take(chosen), ones, "linear")]


def _with_rows(values: PolynomialRows, target: IntArray, rows: PolynomialRows) -> PolynomialRows:
    """Fill the empty rows ``target`` of ``values``."""
    width = max(values.degree, rows.degree)
    return PolynomialRows.of(
        values.num_rows,
        np.concatenate([values.rows, target[rows.rows]]),
        np.concatenate([values.padded(width), rows.padded(width)]),
        np.concatenate([values.coefficients, rows.coefficients]),
    )


def _halved(signs: PolynomialRows) -> PolynomialRows:
    """Turn rows with values -1/+1 into rows with values 0/1."""
    one = PolynomialRows.constants(np.ones(signs.num_rows))
    return _exactly_divided(signs + one, 2)


def _exactly_divided(rows: PolynomialRows, divisor: int) -> PolynomialRows:
    return PolynomialRows.of(
        rows.num_rows, rows.rows, rows.monomials, rows.coefficients // divisor, binary=True
    )


def _common_divisor(rows: PolynomialRows) -> IntArray:
    """Greatest common divisor of each row's coefficients, the constant left out."""
    result = np.zeros(rows.num_rows, dtype=np.int64)
    varying = rows.degrees > 0
    np.gcd.at(result, rows.rows[varying], rows.coefficients[varying])
    return np.maximum(result, 1)


def _divided(rows: PolynomialRows, divisor: IntArray) -> PolynomialRows:
    """``floor(row / divisor)``: exact in every term but the constant, which is rounded down."""
    return PolynomialRows.of(
        rows.num_rows, rows.rows, rows.monomials, rows.coefficients // divisor[rows.rows]
    )


def _validity(block: Block, counts: IntArray, first: int, rule: str) -> list[_Rule]:
    owner = np.repeat(np.arange(len(block)), counts)
    bit = first + np.arange(len(owner))
    if rule == "exactly_one":
        rows = PolynomialRows.of(
            len(block),
            np.concatenate([owner, np.arange(len(block))]),
            np.concatenate([bit, np.full(len(block), -1)]),
            np.concatenate([np.ones(len(owner)), -np.ones(len(block))]),
        )
        places = Positions(block.origin, f"{block.label} one-hot", block.axes, block.entries)
        return [(places, rows, "square")]
    # Ordered: bit k + 1 only where bit k is set, t_(k+1) (1 - t_k).
    later = np.flatnonzero(np.diff(owner, prepend=-1) == 0)
    every = np.arange(len(later))
    rows = PolynomialRows.of(
        len(later),
        np.concatenate([every, every]),
        np.concatenate(
            [
                np.stack([np.full(len(later), -1), bit[later]], axis=1),
                np.stack([bit[later] - 1, bit[later]], axis=1),
            ]
        ),
        np.concatenate([np.ones(len(later)), -np.ones(len(later))]),
    )
    place = bit[later] - first - (np.cumsum(counts) - counts)[owner[later]]
    entries = np.column_stack([block.entries[owner[later]], place])
    places = Positions(block.origin, f"{block.label} order", (*block.axes, "bit"), entries)
    return [(places, rows, "linear")]

"""The central check: for a module the lowered constraints are exactly ``forward``.

For all parameters and all inputs of a small domain, the feasible set of the constraints, projected on
parameters, inputs and outputs, must be the graph of ``forward``; in the paper form restricted to outputs
that its encoding can express.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isinglearn.data import Dataset
from isinglearn.lowering.builder import Builder
from isinglearn.lowering.options import Options
from isinglearn.lowering.orders import choose_order
from isinglearn.lowering.to_hubo import to_hubo
from isinglearn.lowering.to_qubo import to_qubo
from isinglearn.nn.domains import Int
from isinglearn.nn.expression import Expression
from isinglearn.nn.losses import Loss
from isinglearn.nn.module import Example, Module, ParameterSpec
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO, Constraint

Graph = set[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Conformance:
    """Points (parameters, inputs, outputs) from three sides.

    Attributes
    ----------
    allowed
        What the constraints allow.
    defined
        What the definitions of dependent variables lead to, where that keeps all constraints.
    computed
        What ``forward`` gives.
    """

    allowed: Graph
    defined: Graph
    computed: Graph

    @property
    def holds(self) -> bool:
        """Whether the three are the same, and not empty."""
        return bool(self.computed) and self.allowed == self.defined == self.computed


def enumerate_example(example: Example, *, paper: bool) -> Conformance:
    """Turn an example into all that its constraints allow and all that its forward pass gives."""
    module = example.module.resolved(example.context)
    qcbo, outputs = _lowered(module, example, paper=paper)
    specs = module.parameters
    free = [spec.domain.values[:, None] for spec in specs for _ in range(int(spec.free.sum()))]
    given = _combined(np.zeros((1, 0), dtype=np.int64), *free, example.inputs)
    every = feasible(qcbo, given)
    results = outputs.rows.evaluate(every)
    allowed = _points(every[:, : given.shape[1]], results)

    at, named = 0, {}
    for spec in specs:
        count = int(spec.free.sum())
        array = np.broadcast_to(spec.frozen, (len(given), *spec.shape)).copy()
        array[:, spec.free] = given[:, at : at + count]
        named[spec.name] = array
        at += count
    forward = module.forward(named, given[:, None, at:], example.input_scale)[:, 0]
    # The paper gives predictions half the step of the sums.
    forward = forward * (outputs.scale // module.scale(example.input_scale))
    # A range that leaves out what forward gives is a fault of the compact form.
    inside = ((forward >= outputs.lo) & (forward <= outputs.hi)).all(axis=1)
    encodable = np.flatnonzero(inside) if paper else np.arange(len(given))
    return Conformance(
        allowed, _defined(qcbo, outputs, given), _points(given[encodable], forward[encodable])
    )


def _defined(qcbo: QCBO, outputs: Expression, given: IntArray) -> Graph:
    """What follows from parameters and inputs by the definitions, if nothing is violated."""
    blank = np.zeros((len(given), len(qcbo.variables) - given.shape[1]), dtype=np.int64)
    values = qcbo.complete(np.hstack([given, blank]))
    table = qcbo.variables
    kept = ((values >= table.lo) & (values <= table.hi)).all(axis=1)
    for constraint in qcbo.constraints:
        kept &= ~constraint.violated(values).any(axis=1)
    return _points(given[kept], outputs.rows.evaluate(values[kept]))


def added_spins(example: Example, *, paper: bool) -> float:
    """Turn an example into the spins that the module adds for one unit and sample, products included."""
    module = example.module.resolved(example.context)
    qcbo, outputs = _lowered(module, example, paper=paper)
    options = Options("paper") if paper else Options(signs="slack")
    hubo = to_hubo(qcbo, options, None)
    qubo = to_qubo(hubo, choose_order(hubo, options), options, None)
    # Inputs and parameters are there anyway; products with them are not.
    given = qubo.variables.indices("weight", "bias")
    return (qubo.num_variables - len(given)) / len(outputs)


def enumerate_loss(loss: Loss, *, paper: bool) -> Conformance:
    """Turn a loss into (output, least value that the constraints allow), and what it is by definition.

    Outputs are small fractions, labels are -1 and +1, with weights of their own.
    """
    outputs = np.arange(-4, 6)[:, None]
    points: list[Graph] = [set(), set(), set()]
    for label, weight in ((1, 1), (-1, 3)):
        data = Dataset.of(np.zeros((1, 1), dtype=np.int64), [label])
        data = replace(data, weights=np.array([weight]))
        builder = Builder(paper=paper, samples=np.array([0]))
        spec = ParameterSpec.trainable("x", "weight", (1,), Int(-4, 5))
        values = builder.parameter(spec).with_scale(2)
        scale = loss.lower(builder, values, data, np.array([0]))
        qcbo = builder.build(scale)
        unit = qcbo.scale // loss.scale(data, 2)
        every = feasible(qcbo, outputs)
        blank = np.zeros((len(outputs), len(qcbo.variables) - 1), dtype=np.int64)
        defined = qcbo.complete(np.hstack([outputs, blank]))
        exact = unit * loss.evaluate(data, outputs[:, None], 2)
        energy = qcbo.energy(every)
        least = [[energy[every[:, 0] == x].min(initial=2**40)] for x in outputs[:, 0]]
        marked = np.hstack([np.full_like(outputs, label), outputs])
        points[0] |= _points(marked, np.array(least))
        points[1] |= _points(marked, qcbo.energy(defined)[:, None])
        points[2] |= _points(marked, exact[:, None])
    return Conformance(*points)


def _lowered(module: Module, example: Example, *, paper: bool) -> tuple[QCBO, Expression]:
    """The module alone, its inputs as free variables, for one sample."""
    builder = Builder(paper=paper, samples=np.array([0]))
    builder.origin = "layer1"
    parameters = {spec.name: builder.parameter(spec) for spec in module.parameters}
    width = example.inputs.shape[1]
    lo, hi = int(example.inputs.min()), int(example.inputs.max())
    values = builder.parameter(ParameterSpec.trainable("x", "weight", (width,), Int(lo, hi)))
    spins = set(np.unique(example.inputs)) == {-1, 1}
    inputs = replace(values, scale=example.input_scale, is_spin=spins)
    outputs = module.lower(builder, parameters, inputs)
    return builder.build(1), outputs


def feasible(qcbo: QCBO, given: IntArray) -> IntArray:
    """Turn values of the first variables (cases, first) into all feasible assignments that extend them.

    One variable after the other takes all its values; a constraint is checked as soon as it can be.
    """
    table = qcbo.variables
    spins = [block.encoding == "spin" for block in table.blocks for _ in range(len(block))]
    checks = list(_checks(qcbo))
    used = {index for last, _ in checks for index in last}
    every = given
    for index in range(given.shape[1], len(table)):
        if index not in used:
            # Only definitions need it.
            every = np.column_stack([every, np.zeros(len(every), dtype=np.int64)])
            continue
        step = 2 if spins[index] else 1
        values = np.arange(table.lo[index], table.hi[index] + 1, step)
        every = _combined(every, values[:, None])
        for variables, constraint in checks:
            if variables[-1] == index:
                every = every[~constraint.violated(every).any(axis=1)]
    return every


def _checks(qcbo: QCBO) -> Iterator[tuple[list[int], Constraint]]:
    """Every single constraint with its variables, ascending."""
    for constraint in qcbo.constraints:
        for row in range(constraint.rows.num_rows):
            chosen = np.array([row])
            target = None if constraint.target is None else constraint.target[chosen]
            single = replace(
                constraint,
                positions=constraint.positions.take(chosen),
                rows=constraint.rows.take(chosen),
                target=target,
            )
            terms = single.rows.monomials
            aims = [] if target is None else target.tolist()
            yield sorted({*terms[terms >= 0].tolist(), *aims}), single


def _combined(*axes: IntArray) -> IntArray:
    """Every combination of rows of the given arrays, side by side."""
    rows = axes[0]
    for axis in axes[1:]:
        rows = np.concatenate(
            [np.repeat(rows, len(axis), axis=0), np.tile(axis, (len(rows), 1))], axis=1
        )
    return rows


def _points(*columns: IntArray) -> Graph:
    return {tuple(row) for row in np.hstack(columns).tolist()}

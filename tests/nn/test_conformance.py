"""The central test: for every registered module the lowered constraints are exactly ``forward``.

For all parameters and all inputs of a small domain, the feasible set of the constraints, projected on
parameters, inputs and outputs, must be the graph of ``forward``; in the paper form restricted to outputs
that its encoding can express.
"""

from dataclasses import replace

import numpy as np
import pytest

from isinglearn import nn
from isinglearn.lowering.builder import Builder
from isinglearn.nn.module import MODULES, ParameterSpec

CASES = [
    pytest.param(module, number, paper, id=f"{name}-{number}-{'paper' if paper else 'compact'}")
    for name, module in MODULES.items()
    for number in range(len(module.examples()))
    for paper in (False, True)
]


def lowered(module, example, paper):
    """The module alone, its inputs as free variables, for one sample."""
    builder = Builder(paper=paper, samples=np.array([0]))
    builder.origin = "layer1"
    parameters = {spec.name: builder.parameter(spec) for spec in module.parameters}
    width = example.inputs.shape[1]
    lo, hi = int(example.inputs.min()), int(example.inputs.max())
    values = builder.parameter(ParameterSpec.trainable("x", "weight", (width,), nn.Int(lo, hi)))
    spins = set(np.unique(example.inputs)) == {-1, 1}
    inputs = replace(values, scale=example.input_scale, is_spin=spins)
    outputs = module.lower(builder, parameters, inputs)
    return builder.build(1), outputs


def all_rows(*axes):
    """Every combination of rows of the given arrays, side by side."""
    rows = axes[0]
    for axis in axes[1:]:
        rows = np.concatenate(
            [np.repeat(rows, len(axis), axis=0), np.tile(axis, (len(rows), 1))], axis=1
        )
    return rows


@pytest.mark.parametrize(("module", "number", "paper"), CASES)
def test_feasible_set_is_the_graph_of_forward(module, number, paper):
    example = module.examples()[number]
    resolved = example.module.resolved(example.context)
    qcbo, outputs = lowered(resolved, example, paper)
    specs = resolved.parameters
    free = [s.domain.values[:, None] for s in specs for _ in range(int(s.free.sum()))]
    given = all_rows(np.zeros((1, 0), int), *free, example.inputs)
    table = qcbo.variables
    others = [
        np.arange(table.lo[i], table.hi[i] + 1, 2 if (table.lo[i], table.hi[i]) == (-1, 1) else 1)
        for i in range(given.shape[1], len(table))
    ]
    every = all_rows(given, *(values[:, None] for values in others))
    feasible = np.ones(len(every), dtype=bool)
    for constraint in qcbo.constraints:
        feasible &= ~constraint.violated(every).any(axis=1)
    results = outputs.rows.evaluate(every[feasible])
    found = {tuple(row) for row in np.hstack([every[feasible][:, : given.shape[1]], results])}

    at, named = 0, {}
    for spec in specs:
        count = int(spec.free.sum())
        array = np.broadcast_to(spec.frozen, (len(given), *spec.shape)).copy()
        array[:, spec.free] = given[:, at : at + count]
        named[spec.name] = array
        at += count
    forward = resolved.forward(named, given[:, None, at:], example.input_scale)[:, 0]
    # The paper gives predictions half the step of the sums.
    forward = forward * (outputs.scale // resolved.scale(example.input_scale))
    encodable = ((forward >= outputs.lo) & (forward <= outputs.hi)).all(axis=1)
    assert paper or encodable.all()
    expected = {tuple(row) for row in np.hstack([given, forward])[encodable]}
    assert expected
    assert found == expected


def test_every_module_has_examples():
    assert set(MODULES) >= {"Linear", "Sign"}
    assert all(module.examples() for module in MODULES.values())

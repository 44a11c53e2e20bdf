"""The paper form: printed figures, constraints of appendix C, encodings of appendix D."""

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.paper.instances import instances


@pytest.mark.parametrize("instance", instances(), ids=lambda i: i.name)
def test_printed_figures(instance):
    problem = il.compile(instance.network, instance.X, instance.y, formulation="paper")
    assert problem.qcbo.num_bits == instance.paper_qcbo
    # The paper prints no QUBO figure for two moons; 5543 is what its algorithm gives.
    assert problem.qubo.num_variables == (instance.paper_qubo or 5543)


def test_variables_and_constraints_of_appendix_c_and_d():
    net = nn.paper_network(n=2, H=2, L=3, m=1, B=2)
    problem = il.compile(net, [[4, -4], [0, 1]], [1, -1], formulation="paper")
    blocks = {(b.origin, b.label): b for b in problem.qcbo.variables.blocks}
    ranges = {key: (int(b.lo[0]), int(b.hi[0]), len(b)) for key, b in blocks.items()}
    assert ranges == {
        ("layer1", "weight"): (-1, 1, 4),
        ("layer1", "bias"): (0, 31, 2),
        ("layer2", "weight"): (-1, 1, 4),
        ("layer3", "weight"): (-2, 5, 2),
        ("layer3", "bias"): (-2, 5, 1),
        ("layer1", "s"): (-8, 55, 4),
        ("layer1", "a"): (-1, 1, 4),
        ("layer1", "r"): (0, 31, 4),
        ("layer1", "t"): (0, 63, 4),
        ("layer2", "s"): (-1, 6, 4),
        ("layer2", "a"): (-1, 1, 4),
        ("layer2", "r"): (0, 7, 4),
        ("layer3", "y"): (-4, 11, 2),
    }
    kinds = [(c.positions.origin, c.positions.label) for c in problem.qcbo.constraints]
    assert kinds == [
        ("layer1", "s="),
        ("layer1", "r="),
        ("layer1", "t="),
        ("layer2", "s="),
        ("layer2", "r="),
        ("layer3", "y="),
    ]


def test_biases_beyond_the_range_of_r_are_infeasible():
    # b reaches 31 and s 39, but r only 31: the paper's ranges cut corners.
    net = nn.paper_network(n=2, H=1, L=2, m=1, B=2)
    problem = il.compile(net, [[4, 4]], [1], formulation="paper")
    vector = np.array([1, 1, 31, 1, 0])
    assert any("out of range" in v for v in problem.qcbo.violations(problem.complete(vector)))
    vector[2] = 20
    assert not problem.qcbo.violations(problem.complete(vector))


def test_penalties_are_named_by_their_origin():
    instance = instances()[0]
    problem = il.compile(instance.network, instance.X, instance.y, formulation="paper")
    bits = problem.qubo.complete(problem.complete(problem.incumbent[0]))[0]
    assert problem.qubo.violations(bits) == []
    place = list(problem.qubo.variables).index("layer1/unit0/sample3/a")
    bits[place] ^= 1
    assert "layer1/unit0/sample3/t=" in problem.qubo.violations(bits)

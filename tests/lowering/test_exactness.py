"""The whole chain is exact: feasible bits are networks, minima are optima, weights are proved."""

import numpy as np
import pytest
from exact_minimum import minimum
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.decode import decode_vectors, true_losses
from isinglearn.errors import NetworkError
from isinglearn.paper.instances import MNIST, TASKS

WAYS = [
    {"signs": signs, "order": order}
    for signs in ("slack", "threshold")
    for order in ("mixed", "square", "product")
]
TINY = [
    nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)),
    nn.Sequential(nn.Linear(2, 1, bias=nn.Int(-2, 2)), nn.Sign(), nn.Linear(1, 1, use_bias=False)),
    nn.Sequential(nn.Linear(1, 2, use_bias=False), nn.Sign(), nn.Linear(2, 1, use_bias=False)),
    nn.Sequential(nn.Linear(1, 1, weight=nn.Int(-2, 2), bias=nn.Int(-1, 1)), nn.Sign()),
    nn.Sequential(nn.Linear(1, 1, weight=nn.Int(0, 3, encoding="unary")), nn.Sign()),
    nn.Sequential(nn.Linear(1, 1, weight=nn.Int(-1, 2, encoding="one_hot"))),
    nn.Sequential(nn.Linear(1, 1, weight=nn.Int(-2, 1, encoding="twos_complement"))),
]
TINY_X, TINY_Y = np.array([[1, -1], [0, 1], [-1, -1]]), np.array([1, -1, -1])


def all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


def every_vector(problem):
    mesh = np.meshgrid(*problem.free_domains, indexing="ij")
    return np.stack([axis.ravel() for axis in mesh], axis=1)


@pytest.mark.parametrize("net", TINY, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda w: "-".join(w.values()))
def test_zero_penalty_bits_are_exactly_the_networks(net, way):
    X = TINY_X[:, : net.in_features]
    problem = il.compile(net, X, TINY_Y, **way)
    hubo = problem.hubo
    bits = all_bits(hubo.num_variables)
    penalty = sum(part.values(bits).sum(axis=1) for part in hubo.penalties)
    assert np.min(penalty) == 0
    valid = bits[penalty == 0] if len(hubo.penalties) else bits
    # Each valid assignment has the loss of the network it decodes to.
    vectors = decode_vectors(problem, hubo, valid)
    losses, scale = true_losses(problem, vectors)
    assert scale == hubo.scale
    assert (hubo.energy(valid) == losses).all()
    # Every network's behaviour is reached, through its own completion.
    everything = every_vector(problem)
    table = problem.qcbo.variables
    free = everything.shape[1]
    kept = everything[
        ((everything >= table.lo[:free]) & (everything <= table.hi[:free])).all(axis=1)
    ]
    completed = hubo.complete(problem.complete(kept))
    assert all((part.values(completed) == 0).all() for part in hubo.penalties)
    assert (hubo.energy(completed) == true_losses(problem, kept)[0]).all()
    # Values that were cut off cannot matter.
    outputs = {o.tobytes() for o in problem.network.forward(problem.parameters(everything), X)}
    reached = {o.tobytes() for o in problem.network.forward(problem.parameters(vectors), X)}
    assert outputs == reached


@pytest.mark.parametrize("net", TINY, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda w: "-".join(w.values()))
def test_every_ground_state_is_an_optimal_network(net, way):
    problem = il.compile(net, TINY_X[:, : net.in_features], TINY_Y, **way)
    qubo = problem.qubo
    if qubo.num_variables > 20:
        pytest.skip("too many bits to enumerate")
    bits = all_bits(qubo.num_variables)
    energy = qubo.energy(bits)
    best = il.solve(problem, "brute").best.loss * qubo.scale
    assert energy.min() == best
    for ground in bits[energy == energy.min()][:50]:
        assert not qubo.violations(ground)
        assert true_losses(problem, decode_vectors(problem, qubo, ground))[0] == best


@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda i: i.name)
@pytest.mark.parametrize(
    "options",
    [{}, {"box": True}, {"order": "product"}, {"formulation": "paper"}],
    ids=["compact", "box", "product", "paper"],
)
def test_qubo_minimum_equals_brute_force_on_the_papers_tasks(instance, options):
    problem = il.compile(instance.network, instance.X, instance.y, **options)
    # One knows only the network, the other only the QUBO.
    best = il.solve(problem, "brute").best.loss
    least = il.solve(problem, "treewidth", start=None).result
    assert least.bound == least.energies[0] == best * problem.qubo.scale


SMALL_NETS = st.sampled_from(
    [
        nn.paper_network(2, 1, 2, 1, 1),
        nn.paper_network(1, 2, 2, 1, 1),
        nn.paper_network(1, 2, 3, 1, 0),
        nn.paper_network(2, 1, 3, 2, 0),
        nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1)),
        nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1)).freeze(
            {"layer1.weight": [[1, -1]], "layer1.bias": 0}
        ),
        nn.Sequential(nn.Linear(2, 2, bias=nn.Int(-3, 3)), nn.Sign(), nn.Linear(2, 1)),
    ]
)


@given(
    SMALL_NETS,
    st.lists(st.tuples(*[st.integers(-1, 1)] * 4), min_size=1, max_size=3),
    st.sampled_from(WAYS),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_random_problems_have_the_right_minimum(net, rows, way, box):
    data = np.array(rows)
    X, y = data[:, : net.in_features], data[:, 2 : 2 + net.out_features]
    # A box belongs to the paper's last layer behind a Sign.
    box = box and len(net.modules) > 2
    problem = il.compile(net, X, y, box=box, sample_weight=1 + np.arange(len(X)), **way)
    best = il.solve(problem, "brute").best.loss
    assert minimum(problem.qubo.to_bqm()) == best * problem.qubo.scale


def test_weights_by_hand_are_not_certified():
    task = TASKS[0]
    problem = il.compile(task.network, task.X, task.y, penalty=3, product_weight=1)
    assert not problem.summary().certified
    assert "not certified" in str(problem.summary())
    certified = il.compile(task.network, task.X, task.y)
    assert certified.summary().certified
    assert certified.qubo.with_weights(penalty=1).polynomial != certified.qubo.polynomial


def test_weights_can_be_changed_without_compiling_again():
    task = TASKS[0]
    by_hand = il.compile(task.network, task.X, task.y, penalty=9, product_weight=50).qubo
    changed = il.compile(task.network, task.X, task.y).qubo.with_weights(penalty=9, product=50)
    assert changed.polynomial == by_hand.polynomial


def test_a_better_incumbent_gives_smaller_weights():
    task = TASKS[1]
    worse = {
        "layer1.weight": np.ones((2, 2), int),
        "layer1.bias": np.zeros(2, int),
        "layer2.weight": np.zeros((1, 2), int),
        "layer2.bias": np.zeros(1, int),
    }
    found = il.compile(task.network, task.X, task.y)
    assert found.certificate.upper == 0
    assert found.vector(worse).shape == (11,) or found.vector(worse).size == len(found.free_domains)
    given_one = il.compile(task.network, task.X, task.y, incumbent=worse)
    assert given_one.certificate.upper <= 28


@pytest.mark.parametrize("way", WAYS, ids=lambda w: "-".join(w.values()))
def test_the_repair_bound_suffices_where_it_is_the_smaller_one(way):
    # Labels that no threshold fits: the best loss of all samples exceeds the worst of a single one.
    X = np.arange(-16, 17)[:, None]
    y = np.where(X % 2, 1, -1)
    problem = il.compile(nn.paper_network(1, 1, 2, 1, 4), X, y, **way)
    proofs = {(entry.gadgets, entry.proof) for entry in problem.summary().weights}
    # Products first, level bits alone are smaller: no gadget belongs to a single sample then.
    inline = way == {"signs": "threshold", "order": "product"}
    assert inline or ("penalties", "repair") in proofs
    best = il.solve(problem, "brute").best.loss
    assert minimum(problem.qubo.to_bqm()) == best * problem.qubo.scale


def test_the_paper_form_is_exact_for_layers_that_are_not_the_papers():
    # A middle layer without a Sign before it can have sums of 0; a scaled one has another grid.
    thirds = nn.Fixed(-1, 2, 3)
    nets = [
        nn.Sequential(
            nn.Linear(1, 1, bias=nn.Int(0, 0)), nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)
        ),
        nn.Sequential(nn.Linear(1, 1, weight=thirds, bias=thirds), nn.Linear(1, 1), nn.Sign()),
        nn.Sequential(nn.Linear(1, 1, weight=thirds, bias=thirds), nn.Linear(1, 1)),
    ]
    for net in nets:
        problem = il.compile(net, [[0], [1]], [1, -1], formulation="paper")
        best = il.solve(problem, "brute").best.loss
        assert minimum(problem.qubo.to_bqm()) == best * problem.qubo.scale


def test_an_incumbent_outside_its_domain_is_refused():
    net = nn.Sequential(nn.Linear(1, 1, weight=nn.Spin(), use_bias=False), nn.Sign())
    with pytest.raises(NetworkError, match="its domain does not"):
        il.compile(net, [[1]], [1], incumbent={"layer1.weight": np.array([[0]])})
    with pytest.raises(NetworkError, match="its domain does not"):
        il.compile(net, [[1]], [1], incumbent={"layer1.weight": np.array([[0.5]])})


def test_samples_that_switch_alike_are_weighed_apart():
    # Every input is a multiple of one vector, so that all of them switch together.
    line = np.array([[2, 1], [4, 2], [6, 3], [8, 4]])
    X = np.concatenate([line, -line])
    weight = nn.Fixed(16, 31, 16)
    net = nn.Sequential(
        nn.Linear(2, 1, use_bias=False), nn.Sign(), nn.Linear(1, 1, weight=weight, use_bias=False)
    )
    for way in WAYS:
        problem = il.compile(net, X, np.ones(len(X)), **way)
        best = il.solve(problem, "brute").best.loss
        assert minimum(problem.qubo.to_bqm()) == best * problem.qubo.scale


@pytest.mark.parametrize("encoding", ["binary", "twos_complement"])
def test_encodings_with_values_outside_the_domain_are_refused(encoding):
    with pytest.raises(NetworkError, match="values outside the domain"):
        nn.Int(0, 2, encoding=encoding)


def test_samples_of_weight_0_need_no_spins():
    X, y = [[1, 0], [-1, 1], [0, 1]], [1, -1, 1]
    net = nn.paper_network(2, 1, 2, 1, 0)
    weighed = il.compile(net, X, y, sample_weight=[1, 1, 0])
    left_out = il.compile(net, X[:2], y[:2])
    assert weighed.qubo.num_variables == left_out.qubo.num_variables
    assert il.solve(weighed, "brute").best.loss == il.solve(left_out, "brute").best.loss

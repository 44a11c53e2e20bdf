"""Data for the paper's verification tasks I, II and III, found by a seeded search.

The paper shows the data of its three tasks only as a picture, but states facts about them: task I
is under-parameterised (best loss 0.67, accuracy 83.3 %), tasks II and III are well-parameterised
(loss 0, accuracy 100 %), and the optimal parameters are unique up to an exchange of hidden
neurons. This module draws data sets (spread points, balanced labels) in a fixed random order and
keeps the first that has exactly these facts. The data are random; the facts are not: every
parameter vector is accounted for.

All parameters are covered because a hidden unit of layer 1 acts only through its activation
pattern on the samples. A few patterns exist, each is made by a known list of ``(W, b)``; a tuple
of patterns puts each sample into one of ``2^H`` cells, and whatever follows layer 1 (the "head")
is a function of the cell: ``loss = count[patterns, cell] @ cost[cell, head]``, exact integers.

The facts must hold in two parameter spaces: the paper's (appendix D, every auxiliary must fit its
bits) and the compact one (no auxiliaries, biases up to the largest ``|x|_1``).

For task III a unique optimum cannot exist. A middle unit with frozen bias ``H - 1`` is -1 on
exactly one cell; units on cells ``{c, d}`` and units on the other two cells, with the output
negated, are the same function. Two optima is therefore the least possible, and is what we ask for.

This is an oracle for the tests of the compiler, so it is independent on purpose: forward pass, sign,
bit counts and enumeration are its own, and nothing of isinglearn is imported. Do not replace them by the
library's.

Run ``python -m isinglearn.paper.task_search`` to print the data and their facts.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, permutations, product
from math import factorial, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Pattern = tuple[bool, ...]
Unit = tuple[IntArray, int]

INPUT_BITS = 2  # the paper's B: features are integers in [-2^B, 2^B]
SEED = 0
BLOCK = 4096  # data sets drawn at once; like the seed, it fixes the order of the draws
MIN_DISTANCE = 3  # between any two points, so that the data are easy to read in a plot


class Task(NamedTuple):
    """Shape of a verification task and the facts its data must have."""

    name: str
    hidden: int
    layers: int
    samples: int
    loss: Fraction
    correct: int
    optima: int


TASKS = (
    Task("I", hidden=1, layers=2, samples=6, loss=Fraction(4, 6), correct=5, optima=1),
    Task("II", hidden=2, layers=2, samples=7, loss=Fraction(0), correct=7, optima=1),
    Task("III", hidden=2, layers=3, samples=6, loss=Fraction(0), correct=6, optima=2),
)


class Parameters(NamedTuple):
    """Trainable parameters of one network, all integers.

    Attributes
    ----------
    weights
        One matrix ``(outputs, inputs)`` per layer. The last one holds ``H * W``, not ``W``.
    first_bias
        Biases of layer 1, shape ``(H,)``.
    last_bias
        ``H * b`` of the last layer, shape ``(1,)``.
    """

    weights: tuple[IntArray, ...]
    first_bias: IntArray
    last_bias: IntArray


class Optima(NamedTuple):
    """The best mean squared error, ``loss / scale``, and all networks that reach it."""

    loss: int
    scale: int
    networks: list[Parameters]


class _Minimisers(NamedTuple):
    """The optimal set before expansion: per entry the candidates for each unit and the head."""

    loss: int
    entries: list[tuple[tuple[list[Unit], ...], list[int]]]


class _Heads(NamedTuple):
    """All that can follow layer 1: head ``h`` is ``middles[h // K]``, ``outputs[h % K]``.

    Attributes
    ----------
    middles
        All choices of the middle weight matrices.
    outputs
        All K choices of the output parameters, a row ``(H * W, H * b)`` each.
    functions
        The distinct functions of heads: ``H * y_hat`` per cell (row) and function (column).
    members
        The heads of each function.
    """

    middles: list[tuple[IntArray, ...]]
    outputs: IntArray
    functions: IntArray
    members: list[list[int]]


def optima(X: IntArray, y: IntArray, hidden: int, layers: int, *, box: bool) -> Optima:
    """Turn data into the global minimum of ``mean((y_hat - y)^2)`` and all its minimisers.

    Parameters
    ----------
    X
        Integer features, shape ``(N, n)``.
    y
        Labels -1 or +1, shape ``(N,)``.
    hidden, layers
        The paper's H and L.
    box
        True for the paper's space: 5-bit biases (for n = B = 2), and ``s, r, t`` of layer 1 and
        ``y_hat`` must be encodable for every sample. False for the compact space: biases in
        ``[0, max |x_i|_1]``, no further restriction.

    Returns
    -------
    Optima
        Exact loss (numerator and scale) and one representative per class of networks that
        differ only by an exchange of hidden neurons, in a deterministic order.
    """
    found = _minimisers(X, y, hidden, layers, box=box)
    heads = _heads(hidden, layers)
    classes = {}
    for candidates, members in found.entries:
        for units, head in product(product(*candidates), members):
            network = _canonical(_assemble(units, heads, head))
            classes[_key(network)] = network
    networks = [classes[key] for key in sorted(classes)]
    return Optima(found.loss, len(y) * hidden**2, networks)


def forward(X: IntArray, network: Parameters) -> IntArray:
    """Return ``H * y_hat`` of each sample, by a plain forward pass."""
    hidden = len(network.first_bias)
    activations = _sign(X @ network.weights[0].T + network.first_bias)
    for weights in network.weights[1:-1]:
        activations = _sign(activations @ weights.T + (hidden - 1))
    return (activations @ network.weights[-1].T + network.last_bias)[:, 0]


def correct(X: IntArray, y: IntArray, network: Parameters) -> int:
    """Count the samples whose label is the sign of ``y_hat``; ``y_hat = 0`` counts as +1."""
    return int(np.count_nonzero(_sign(forward(X, network)) == y))


def search(task: Task, seed: int = SEED) -> tuple[IntArray, IntArray]:
    """Turn a task into the first data set, in a fixed random order, that has all its facts."""
    for X, y in _draws(task.samples, seed):
        if has_facts(task, X, y):
            return X, y
    raise AssertionError("the stream of draws is endless")


def has_facts(task: Task, X: IntArray, y: IntArray) -> bool:
    """Tell whether loss, accuracy and number of optima are as stated, in both spaces.

    The optima must be the same networks in both spaces, with no bias of 0 in layer 1.
    """
    # A class holds at most this many orderings; many more minimisers cannot be few classes, and
    # expanding them all is what would make the search slow.
    most = task.optima * factorial(task.hidden) ** (task.layers - 1)
    for box in (False, True):
        found = _minimisers(X, y, task.hidden, task.layers, box=box)
        if Fraction(found.loss, task.samples * task.hidden**2) != task.loss:
            return False
        if sum(prod(map(len, units)) * len(heads) for units, heads in found.entries) > most:
            return False
    compact = optima(X, y, task.hidden, task.layers, box=False).networks
    paper = optima(X, y, task.hidden, task.layers, box=True).networks
    return (
        len(compact) == task.optima
        # A bias of 0 would leave all bias bits at 0, a weak test of their encoding.
        and all(network.first_bias.all() for network in compact)
        and [_key(network) for network in compact] == [_key(network) for network in paper]
        and all(correct(X, y, network) == task.correct for network in compact)
    )


def _draws(samples: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield spread points with labels as balanced as the number of samples allows."""
    rng = np.random.default_rng(seed)
    reach = 2**INPUT_BITS
    first, second = np.triu_indices(samples, k=1)
    while True:
        X = rng.integers(-reach, reach + 1, size=(BLOCK, samples, 2), dtype=np.int64)
        y = 2 * rng.integers(0, 2, size=(BLOCK, samples), dtype=np.int64) - 1
        squared_distances = ((X[:, first] - X[:, second]) ** 2).sum(axis=2)
        spread = (squared_distances >= MIN_DISTANCE**2).all(axis=1)
        balanced = np.abs(y.sum(axis=1)) <= samples % 2
        for index in np.flatnonzero(spread & balanced):
            yield X[index], y[index]


def _minimisers(X: IntArray, y: IntArray, hidden: int, layers: int, *, box: bool) -> _Minimisers:
    """Score every multiset of first-layer patterns with every function; keep the best pairs."""
    units = _units_by_pattern(X, box=box)
    choices = list(combinations_with_replacement(units, hidden))
    loss = _cell_counts(choices, y) @ _costs(hidden, layers, len(y), box)
    best = int(loss.min())
    members = _heads(hidden, layers).members
    entries = [
        (tuple(units[pattern] for pattern in choices[choice]), members[function])
        for choice, function in np.argwhere(loss == best)
    ]
    return _Minimisers(best, entries)


def _units_by_pattern(X: IntArray, *, box: bool) -> dict[Pattern, list[Unit]]:
    """Group all first-layer units ``(W, b)`` by ``W x_i + b >= 0`` over the samples i."""
    features = X.shape[1]
    weights = _spins(features)
    largest = _largest(features * 2 ** (INPUT_BITS + 1)) if box else int(abs(X).sum(axis=1).max())
    s = (X @ weights.T)[:, :, None] + np.arange(largest + 1)
    allowed = _encodable(s, features).all(axis=0) if box else np.ones(s.shape[1:], dtype=np.bool_)
    groups: dict[Pattern, list[Unit]] = {}
    for row, bias in np.argwhere(allowed):
        pattern = tuple((s[:, row, bias] >= 0).tolist())
        groups.setdefault(pattern, []).append((weights[row], int(bias)))
    return groups


def _encodable(s: IntArray, features: int) -> NDArray[np.bool_]:
    """Tell which pre-activations fit the bits of ``s``, ``r = |s|`` and ``t = a + 2r - 1``."""
    reach = features << INPUT_BITS
    r = np.abs(s)
    t = _sign(s) + 2 * r - 1
    fits: NDArray[np.bool_] = (
        (s >= -reach)
        & (s + reach <= _largest(4 * reach))
        & (r <= _largest(3 * reach))
        & (t <= _largest(6 * reach))
    )
    return fits


def _cell_counts(choices: list[tuple[Pattern, ...]], y: IntArray) -> IntArray:
    """Count samples per label and cell, one row per choice of H patterns."""
    patterns = np.array(choices, dtype=np.int64)
    hidden = patterns.shape[1]
    cells = np.tensordot(patterns, 1 << np.arange(hidden), axes=(1, 0))
    member = cells[:, None, :] == np.arange(2**hidden)[:, None]
    per_label = [(member & (y == label)).sum(axis=2) for label in (-1, 1)]
    return np.concatenate(per_label, axis=1).astype(np.int64)


@lru_cache
def _costs(hidden: int, layers: int, samples: int, box: bool) -> IntArray:
    """Tabulate ``(H y_hat - H y)^2`` with a row per label and cell, a column per function."""
    values = _heads(hidden, layers).functions
    costs = np.stack([(values - hidden * label) ** 2 for label in (-1, 1)])
    if box:
        # y_hat = (k - 2H) / 2H. One sample outside costs more than the network that is 0
        # everywhere (feasible, loss N H^2), so an infeasible network is never a minimiser.
        k = 2 * values + 2 * hidden
        costs += (samples * hidden**2 + 1) * ((k < 0) | (k > _largest(4 * hidden)))
    return costs.reshape(-1, values.shape[1]).astype(np.int64)


@lru_cache
def _heads(hidden: int, layers: int) -> _Heads:
    """Enumerate all heads, grouped by their function of the cell.

    Auxiliaries of middle layers always fit the paper's bits, so heads are the same in both spaces.
    """
    matrices = _spins(hidden**2).reshape(-1, hidden, hidden)
    middles = list(product(matrices, repeat=layers - 2))
    levels = np.arange(_largest(2 * hidden) + 1) - hidden
    outputs = np.array(list(product(levels, repeat=hidden + 1)), dtype=np.int64)
    values = []
    for stack in middles:
        activations = _spins(hidden)
        for weights in stack:
            activations = _sign(activations @ weights.T + (hidden - 1))
        values.append(activations @ outputs[:, :-1].T + outputs[:, -1])
    functions, index = np.unique(np.concatenate(values, axis=1), axis=1, return_inverse=True)
    members: list[list[int]] = [[] for _ in range(functions.shape[1])]
    for head, function in enumerate(index.ravel()):
        members[function].append(head)
    return _Heads(middles, outputs, functions, members)


def _assemble(units: tuple[Unit, ...], heads: _Heads, head: int) -> Parameters:
    """Join first-layer units and a head into a network."""
    middle, output = divmod(head, len(heads.outputs))
    first = np.array([weights for weights, _ in units], dtype=np.int64)
    bias = np.array([bias for _, bias in units], dtype=np.int64)
    last = heads.outputs[output]
    return Parameters((first, *heads.middles[middle], last[None, :-1]), bias, last[-1:])


def _canonical(network: Parameters) -> Parameters:
    """Return the representative of a network under exchange of neurons in each hidden layer."""
    orders = permutations(range(len(network.first_bias)))
    exchanges = product(list(orders), repeat=len(network.weights) - 1)
    return min((_exchange(network, exchange) for exchange in exchanges), key=_key)


def _exchange(network: Parameters, orders: tuple[tuple[int, ...], ...]) -> Parameters:
    """Reorder the neurons of each hidden layer: rows into it, columns out of it."""
    weights = list(network.weights)
    for layer, order in enumerate(orders):
        weights[layer] = weights[layer][list(order)]
        weights[layer + 1] = weights[layer + 1][:, list(order)]
    return Parameters(tuple(weights), network.first_bias[list(orders[0])], network.last_bias)


def _key(network: Parameters) -> tuple[int, ...]:
    """Flatten a network of a known shape, for comparison."""
    arrays = (*network.weights, network.first_bias, network.last_bias)
    return tuple(int(value) for array in arrays for value in array.flat)


def _spins(count: int) -> IntArray:
    """List all vectors in {-1, +1}^count; bit h of the row's number says whether entry h is +1."""
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return (2 * bits - 1).astype(np.int64)


def _sign(values: IntArray) -> IntArray:
    """Return the sign with ``sign(0) = +1``."""
    return np.where(values >= 0, 1, -1).astype(np.int64)


def _largest(bound: int) -> int:
    """Return the largest number of ``floor(log2 bound) + 1`` bits, the paper's bit count."""
    return (1 << bound.bit_length()) - 1


def _report(task: Task) -> str:
    """Write the data of a task as Python literals, followed by its facts."""
    X, y = search(task)
    found = optima(X, y, task.hidden, task.layers, box=True)
    lines = [
        f"# Task {task.name}: H = {task.hidden}, L = {task.layers}, N = {task.samples}",
        f"X_{task.name} = {X.tolist()}",
        f"y_{task.name} = {y.tolist()}",
        f"# loss {found.loss}/{found.scale}, accuracy {correct(X, y, found.networks[0])}/{len(y)},"
        f" optima up to neuron exchange: {len(found.networks)}",
    ]
    for network in found.networks:
        first, *middle, last = (weights.tolist() for weights in network.weights)
        lines.append(f"#   W1 = {first}, b1 = {network.first_bias.tolist()}")
        lines.extend(f"#   W{layer} = {weights}" for layer, weights in enumerate(middle, start=2))
        lines.append(
            f"#   {task.hidden} W{task.layers} = {last},"
            f" {task.hidden} b{task.layers} = {network.last_bias.tolist()}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the data and facts of all tasks."""
    print(f"# seed {SEED}")
    for task in TASKS:
        print(_report(task))


if __name__ == "__main__":
    main()

"""Neuron exchange: parameters of one network that differ only in the names of its hidden units.

A hidden unit is its incoming weights, its bias and its outgoing weights; exchanging two units of a layer
moves all three and changes no output. A sign unit can also be turned over: ``(w, b) -> (-w, -b - 1)``
turns ``s`` into ``-s - 1``, on whole numbers the other sign, and the outgoing weights change theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.nn.activations import Sign
from isinglearn.nn.layers import Linear
from isinglearn.nn.module import Module, Parameters
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import IntArray

# Forms that are compared where units can be told apart by nothing but their place in the whole.
MOST_FORMS = 10_000

Relation = Literal["equal", "exchange", "flip"]


def canonical(
    network: Sequential, parameters: Mapping[str, IntArray], *, flips: bool = False
) -> Parameters:
    """Turn parameters into those of the same network with its hidden units in a canonical order.

    Two parameter sets have equal canonical forms if and only if exchanges of units within hidden layers
    turn one into the other; the canonical form is one of these sets itself. Frozen entries move along
    with their unit.

    Parameters
    ----------
    network
        A resolved network: linear layers with activations between them.
    parameters
        Numerators by name, as ``Problem.parameters`` gives them.
    flips
        Also turn sign units over, all to biases of 0 or more, where that is exact: the unit has a bias,
        and its sums have the bias's denominator, so that they take whole steps. The values may then lie
        outside the parameters' domains; it is a form to compare, not a network to train further.
    """
    layers = _layers(network, parameters)
    if flips:
        _turn_over(network, layers)
    alike = [[0] * len(layer.bias) for layer in layers[:-1]]
    orders = _Orders(layers).least(alike)[1]
    return _named(network, [_exchanged(layers, orders, at) for at in range(len(layers))])


def relation(
    network: Sequential, first: Mapping[str, IntArray], second: Mapping[str, IntArray]
) -> Relation | None:
    """Turn two parameter sets of a network into how they are related, the closest relation that holds.

    ``"equal"``: the same numbers; ``"exchange"``: the same up to an exchange of hidden units; ``"flip"``:
    the same up to exchanges and sign units turned over; ``None``: none of these.
    """
    left, right = (_named(network, _layers(network, given)) for given in (first, second))
    if _same(left, right):
        return "equal"
    if _same(canonical(network, left), canonical(network, right)):
        return "exchange"
    if _same(canonical(network, left, flips=True), canonical(network, right, flips=True)):
        return "flip"
    return None


def _same(first: Parameters, second: Parameters) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first)


# -- layers ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Layer:
    """Numerators of a linear layer: weights (units, inputs), biases (units,), all 0 if it has none."""

    origin: str
    weight: IntArray
    bias: IntArray


def _layers(network: Sequential, parameters: Mapping[str, IntArray]) -> list[_Layer]:
    """Turn a network and its parameters into its linear layers, copied."""
    layers = []
    for origin, module in network:
        if type(module) is Linear:
            weight = _numerators(network, parameters, f"{origin}.weight")
            bias = np.zeros(module.out_features, dtype=np.int64)
            if module.use_bias:
                bias = _numerators(network, parameters, f"{origin}.bias")
            layers.append(_Layer(origin, weight, bias))
        elif module.kind != "activation" or module.parameters:
            raise NetworkError(
                "the units of this network cannot be exchanged",
                where=origin,
                rule="linear layers with activations of one value between them",
                received=str(module),
                remedy="compare the parameters themselves",
            )
    return layers


def _numerators(network: Sequential, parameters: Mapping[str, IntArray], name: str) -> IntArray:
    shape = network.parameters[name].shape
    given = np.asarray(parameters[name]) if name in parameters else None
    if given is None or given.shape != shape or given.dtype.kind not in "iu":
        raise NetworkError(
            "the parameters do not fit the network",
            where=name,
            rule=f"an integer array of shape {shape}",
            received="nothing" if given is None else f"{given.dtype} of shape {given.shape}",
            remedy="use the names and shapes of network.parameters",
        )
    return given.astype(np.int64)


def _named(network: Sequential, layers: list[_Layer]) -> Parameters:
    arrays = {f"{layer.origin}.weight": layer.weight for layer in layers}
    arrays |= {f"{layer.origin}.bias": layer.bias for layer in layers}
    return {name: arrays[name] for name in network.parameters}


def _exchanged(layers: list[_Layer], orders: list[IntArray], at: int) -> _Layer:
    """A layer after exchanges: ``orders[at]`` names the units of layer ``at``, the last keeps its own."""
    layer = layers[at]
    weight, bias = layer.weight, layer.bias
    if at > 0:
        weight = weight[:, orders[at - 1]]
    if at < len(orders):
        weight, bias = weight[orders[at]], bias[orders[at]]
    return _Layer(layer.origin, weight, bias)


def _turn_over(network: Sequential, layers: list[_Layer]) -> None:
    """Turn sign units of negative bias over, in place; of ``b`` and ``-b - 1`` exactly one is negative."""
    exact = _can_be_turned(network)
    for at, (layer, following) in enumerate(pairwise(layers)):
        if exact[at]:
            turned = layer.bias < 0
            layer.weight[turned] *= -1
            layer.bias[turned] = -layer.bias[turned] - 1
            following.weight[:, turned] *= -1


def _can_be_turned(network: Sequential) -> list[bool]:
    """For each linear layer: whether its sums take whole steps of the bias and only signs follow."""
    exact: list[bool] = []
    scale = 1
    follows: list[list[Module]] = []
    for _, module in network:
        if isinstance(module, Linear):
            assert module.bias is not None
            exact.append(module.use_bias and module.scale(scale) == module.bias.denominator)
            follows.append([])
        else:
            follows[-1].append(module)
        scale = module.scale(scale)
    # A sign of a sign is that sign again, and turns over with it.
    signs = [bool(own) and all(type(module) is Sign for module in own) for own in follows]
    return [a and b for a, b in zip(exact, signs, strict=True)]


# -- the canonical order ---------------------------------------------------------------------------

# For each hidden layer the number of every unit's class; classes are numbered by what they are.
_Classes = list[list[int]]
# All parameters of a form in a row, to compare it with others, and the order of the units that gives it.
_Form = tuple[tuple[int, ...], list[IntArray]]


class _Orders:
    """Search of the order of all hidden units that gives the canonical form.

    Units are told apart by their weights to units that are told apart already, beginning with the inputs
    and the outputs, until nothing changes. What is left together then are nearly always twins, equal in
    all their weights, whose order does not matter. Where not, each unit of a class is tried as its first
    one, and the least of the forms is taken; a unit that leads to a form seen before is the image of an
    earlier one under a symmetry of the whole network, and so is all that follows from it.
    """

    def __init__(self, layers: list[_Layer]) -> None:
        self.layers = layers
        # Plain lists: most networks are small. Of hidden unit u: its weights, its bias, its readers.
        self.incoming = [layer.weight.tolist() for layer in layers[:-1]]
        self.biases = [layer.bias.tolist() for layer in layers[:-1]]
        self.outgoing = [layer.weight.T.tolist() for layer in layers[1:]]
        self.compared = 0

    def least(self, classes: _Classes) -> _Form:
        """The least form that splitting these classes can give."""
        classes = self._refined(classes)
        found: dict[tuple[int, ...], _Form] = {}
        for split in self._splits(classes):
            key = self._any(split)[0]
            if key not in found:
                found[key] = self.least(split)
        return min(found.values(), key=lambda form: form[0]) if found else self._form(classes)

    def _any(self, classes: _Classes) -> _Form:
        """Some form that splitting these classes can give."""
        splits = [classes]
        while splits:
            classes = self._refined(splits[0])
            splits = self._splits(classes)
        return self._form(classes)

    def _splits(self, classes: _Classes) -> list[_Classes]:
        """Split the first class that is not of twins only, each distinct unit before the others."""
        for at, own in enumerate(classes):
            for number in sorted(set(own)):
                distinct = {
                    (*self.incoming[at][unit], *self.outgoing[at][unit]): unit
                    for unit, mine in enumerate(own)
                    if mine == number
                }
                if len(distinct) > 1:
                    return [_split_off(classes, at, unit) for unit in distinct.values()]
        return []

    def _refined(self, classes: _Classes) -> _Classes:
        """Split classes by weights from and to classes, forwards and backwards, until nothing changes."""
        classes, hidden = list(classes), range(len(classes))
        count = -1
        while count < _count(classes):
            count = _count(classes)
            for at in hidden:
                before = classes[at - 1] if at > 0 else None
                rows = [_by_class(row, before) for row in self.incoming[at]]
                classes[at] = _numbered(classes[at], rows, self.biases[at])
            for at in reversed(hidden):
                after = classes[at + 1] if at + 1 < len(classes) else None
                rows = [_by_class(row, after) for row in self.outgoing[at]]
                classes[at] = _numbered(classes[at], rows)
        return classes

    def _form(self, classes: _Classes) -> _Form:
        self.compared += 1
        if self.compared > MOST_FORMS:
            raise NetworkError(
                "the units of this network are too alike to be put in order",
                where="canonical",
                rule=f"at most {MOST_FORMS} forms to compare",
                received=f"hidden layers of {[len(own) for own in classes]} units",
                remedy="compare what the networks compute instead",
            )
        orders = [np.argsort(own, kind="stable") for own in classes]
        layers = [_exchanged(self.layers, orders, at) for at in range(len(self.layers))]
        arrays = (array for layer in layers for array in (layer.weight, layer.bias))
        return tuple(np.concatenate([array.ravel() for array in arrays]).tolist()), orders


def _count(classes: _Classes) -> int:
    return sum(len(set(own)) for own in classes)


def _split_off(classes: _Classes, at: int, unit: int) -> _Classes:
    """Put a unit before the rest of its class."""
    # Doubled numbers leave room between classes.
    split = [[2 * number for number in own] for own in classes]
    split[at][unit] -= 1
    return split


def _by_class(weights: list[int], classes: list[int] | None) -> tuple[Any, ...]:
    """Weights in the order of what is at their other end; inputs and outputs have theirs already."""
    return tuple(weights if classes is None else sorted(zip(classes, weights, strict=True)))


def _numbered(classes: list[int], *properties: list[Any]) -> list[int]:
    """Number units by their class, then by their properties."""
    keys = list(zip(classes, *properties, strict=True))
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    return [numbers[key] for key in keys]

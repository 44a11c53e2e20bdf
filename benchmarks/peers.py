"""The paper's penalty polynomial written with other means: dimod, a dictionary, qubovert.

Each `Peer` is a library's own arithmetic; `write_penalties` writes the same expressions with any of them.
"""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Protocol

Terms = dict[Any, Any]  # frozen sets of names to coefficients


class Peer(Protocol):
    """Arithmetic of a library: expressions have ``+``, ``-``, ``*`` among themselves and with integers."""

    name: str

    def bit(self, name: str) -> Any:
        """A new 0/1 variable."""

    def total(self, parts: Iterable[Any]) -> Any:
        """The sum of expressions, in the library's best way."""

    def add_square(self, weight: int, value: Any) -> None:
        """Add ``weight * value^2`` to the polynomial."""

    def terms(self) -> Terms:
        """The polynomial so far, without zeros."""


def write_penalties(peer: Peer, instance: Any, weight: int) -> Terms:
    """Turn data into the paper's eq. (8) for one hidden layer and one output, times ``(2H)^2 N``."""
    n, H, B = instance.X.shape[1], instance.hidden, instance.input_bits

    def integer(name: str, largest: int, lo: int = 0) -> Any:
        count = largest.bit_length()
        return peer.total(2**j * peer.bit(f"{name}[{j}]") for j in range(count)) + lo

    def spin(name: str) -> Any:
        return 2 * peer.bit(name) - 1

    W1 = [[spin(f"layer1/unit{u}/input{k}/weight") for k in range(n)] for u in range(H)]
    b1 = [integer(f"layer1/unit{u}/bias", n * 2 ** (B + 1)) for u in range(H)]
    W2 = [integer(f"layer2/unit0/input{u}/weight", 2 * H, -H) for u in range(H)]
    b2 = integer("layer2/unit0/bias", 2 * H, -H)
    for i, (x, label) in enumerate(zip(instance.X.tolist(), instance.y.tolist(), strict=True)):
        activations = []
        for u in range(H):
            place = f"layer1/unit{u}/sample{i}"
            s = integer(f"{place}/s", n * 2 ** (B + 2), -n * 2**B)
            a = spin(f"{place}/a")
            r = integer(f"{place}/r", 3 * n * 2**B)
            t = integer(f"{place}/t", 3 * n * 2 ** (B + 1))
            products = (w * value for w, value in zip(W1[u], x, strict=True))
            peer.add_square(weight, peer.total(products) + b1[u] - s)
            peer.add_square(weight, a * s - r)
            peer.add_square(weight, a + 2 * r - t - 1)
            activations.append(a)
        y = integer(f"layer2/unit0/sample{i}/y", 4 * H, -2 * H)
        outputs = (w * a for w, a in zip(W2, activations, strict=True))
        peer.add_square(weight, 2 * (peer.total(outputs) + b2) - y)
        peer.add_square(1, y - 2 * H * label)
    return peer.terms()


def add_squared_terms(result: defaultdict[Any, Any], weight: int, terms: Terms) -> None:
    """Add ``weight * terms^2`` over bits to ``result``, each pair of terms once."""
    items = list(terms.items())
    for place, (left, a) in enumerate(items):
        result[left] += weight * a * a
        double = 2 * weight * a
        for right, b in items[place + 1 :]:
            result[left | right] += double * b


class DimodSymbols:
    """``dimod.Binary`` and model arithmetic as far as it goes; squares above degree two by dictionary."""

    name = "dimod symbols"

    def __init__(self) -> None:
        import dimod

        self.dimod = dimod
        self.low = dimod.BinaryQuadraticModel("BINARY")
        self.high: defaultdict[Any, Any] = defaultdict(int)

    def bit(self, name: str) -> Any:
        """A model of one variable."""
        return self.dimod.Binary(name)

    def total(self, parts: Iterable[Any]) -> Any:
        """The sum that dimod offers for this, in place."""
        return self.dimod.quicksum(parts)

    def add_square(self, weight: int, value: Any) -> None:
        """A model's square where it is linear."""
        if value.is_linear():
            self.low.update(weight * value**2)
        else:
            add_squared_terms(self.high, weight, self._terms(value))

    @staticmethod
    def _terms(model: Any) -> Terms:
        terms: Terms = {frozenset((v,)): bias for v, bias in model.linear.items()}
        terms |= {frozenset(pair): bias for pair, bias in model.quadratic.items()}
        terms[frozenset()] = model.offset
        return {term: bias for term, bias in terms.items() if bias}

    def terms(self) -> Terms:
        """Both parts together."""
        result = self.high.copy()
        for term, bias in self._terms(self.low).items():
            result[term] += bias
        return {term: bias for term, bias in result.items() if bias}


class Expression(dict[frozenset[str], int]):
    """A polynomial as a dictionary, what one writes who wants no library."""

    def __add__(self, other: Expression | int) -> Expression:
        result = Expression(self)
        for term, value in _items(other):
            result[term] = result.get(term, 0) + value
        return result

    def __sub__(self, other: Expression | int) -> Expression:
        return self + other * -1

    def __mul__(self, other: Expression | int) -> Expression:
        if isinstance(other, int):
            return Expression({term: value * other for term, value in self.items()})
        result = Expression()
        for left, a in self.items():
            for right, b in other.items():
                result[left | right] = result.get(left | right, 0) + a * b
        return result

    __rmul__ = __mul__


def _items(other: Expression | int) -> Iterable[tuple[frozenset[str], int]]:
    return [(frozenset(), other)] if isinstance(other, int) else other.items()


class Dictionary:
    """No library but for the reduction: terms in a dictionary keyed by frozen sets."""

    name = "hand-written dictionary"

    def __init__(self) -> None:
        self.result: defaultdict[Any, Any] = defaultdict(int)

    def bit(self, name: str) -> Any:
        """One term."""
        return Expression({frozenset((name,)): 1})

    def total(self, parts: Iterable[Any]) -> Any:
        """In place."""
        result = Expression()
        for part in parts:
            for term, value in part.items():
                result[term] = result.get(term, 0) + value
        return result

    def add_square(self, weight: int, value: Any) -> None:
        """Pairs of terms."""
        add_squared_terms(self.result, weight, value)

    def terms(self) -> Terms:
        """Without zeros."""
        return {term: value for term, value in self.result.items() if value}


class Qubovert:
    """qubovert's PUBO arithmetic, of any degree."""

    name = "qubovert PUBO"

    def __init__(self) -> None:
        import qubovert  # type: ignore[import-not-found]

        self.qubovert = qubovert
        self.result = qubovert.PUBO()

    def bit(self, name: str) -> Any:
        """A PUBO of one variable."""
        return self.qubovert.PUBO({(name,): 1})

    def total(self, parts: Iterable[Any]) -> Any:
        """In place."""
        result = self.qubovert.PUBO()
        for part in parts:
            result += part
        return result

    def add_square(self, weight: int, value: Any) -> None:
        """The library's power."""
        self.result += weight * value**2

    def terms(self) -> Terms:
        """Keyed as the others."""
        return {frozenset(term): value for term, value in self.result.items()}


def available_peers() -> list[type[Peer]]:
    """All peers whose library is importable."""
    peers: list[type[Peer]] = [DimodSymbols, Dictionary]
    if importlib.util.find_spec("qubovert") is not None:
        peers.append(Qubovert)
    return peers

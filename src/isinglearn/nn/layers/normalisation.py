"""Normalisation: values moved by a mean and divided by a deviation, then scaled and shifted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError, check_choice, check_count
from isinglearn.nn import gadgets, trials
from isinglearn.nn.domains import Domain, Int, check_domain
from isinglearn.nn.module import Context, Example, Module, ParameterSpec, Shape, Trial
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

# Values of a deviation that are told apart; each needs a quotient of its own while parameters are changed.
MOST_DEVIATIONS = 256


class _Norm(Module):
    """A learned whole-number scale and shift for every group of units: ``y = gamma n + beta``."""

    kind: ClassVar[str] = "layer"
    parameter_names: ClassVar[tuple[str, ...]] = ("scale", "shift")

    def __init__(self, gain: Domain | None, shift: Domain | None, affine: bool) -> None:
        self.gain = Int(1, 2) if gain is None else gain
        self.shift = Int(-2, 1) if shift is None else shift
        self.affine = affine
        for name, domain in (("gain", self.gain), ("shift", self.shift)):
            check_domain(domain, f"{type(self).__name__}({name})")
            if domain.denominator > 1:
                raise NetworkError(
                    "scale and shift are whole numbers",
                    where=f"{type(self).__name__}({name})",
                    rule="nn.Int(lo, hi) or nn.Spin()",
                    received=str(domain),
                    remedy="the layer behind can have finer weights",
                )

    def _groups(self) -> IntArray:
        """Group of each unit: a channel of an image, or the unit itself."""
        shape = self.in_shape
        return np.repeat(np.arange(shape[0]), math.prod(shape[1:]))

    @property
    def count(self) -> int:
        """Number of groups."""
        return self.in_shape[0]

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """``scale`` and ``shift``, one for each group."""
        if not self.affine:
            return ()
        return (
            ParameterSpec.trainable("scale", "weight", (self.count,), self.gain),
            ParameterSpec.trainable("shift", "bias", (self.count,), self.shift),
        )

    def _largest(self) -> tuple[float, float]:
        """Largest gain and shift."""
        specs = {spec.name: spec.largest for spec in self.parameters}
        return specs.get("scale", 1.0), specs.get("shift", 0.0)

    def _of_units(self, values: IntArray) -> IntArray:
        """Turn numbers of the groups (..., groups) into those of units (..., 1, units)."""
        return values[..., None, self._groups()]

    def _apply_affine(
        self, parameters: Mapping[str, IntArray], values: IntArray, scale: int
    ) -> IntArray:
        if not self.affine:
            return values
        gain, shift = self._of_units(parameters["scale"]), self._of_units(parameters["shift"])
        return gain * values + scale * shift

    def _spread_constant(self, graph: Graph, values: IntArray) -> Value:
        """Turn numbers of the groups into a constant that meets all their units."""
        return graph.constant(values.reshape(-1, *[1] * (len(self.in_shape) - 1)))

    def _affine_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        if not self.affine:
            return values
        gain = self._spread_constant(graph, parameters["scale"])
        shift = self._spread_constant(graph, scale * parameters["shift"])
        return graph.add(graph.multiply(gain, values), shift)

    def _lower_affine(
        self, builder: Builder, parameters: Mapping[str, Expression], values: Expression
    ) -> Expression:
        if not self.affine:
            return values
        values = builder.named("n", values)
        gain = _spread(parameters["scale"], self._groups(), values.shape)
        shift = _spread(parameters["shift"], self._groups(), values.shape)
        result = builder.product(gain, values) + shift.scaled(values.scale)
        return result.with_scale(values.scale)


def _spread(shared: Expression, groups: IntArray, shape: tuple[int, int]) -> Expression:
    """Turn one expression per group into one per sample and unit."""
    return shared.take(np.tile(groups, shape[0]), shape)


class BatchNorm(_Norm):
    """``y = gamma (s - mu) / sigma + beta`` for every unit, or every channel of an image.

    ``statistics="data"``: ``mu`` (whole numerators) and ``sigma`` (a power of two, as in shift-based batch
    normalisation) are constants taken from the training data, where nothing in front is trained, or given as
    ``mean`` and ``deviation``. Nothing is rounded then: the division goes into the denominator. No spins.

    ``statistics="variables"``: ``mu`` and ``sigma`` are decision variables, as in the paper's appendix E,
    chosen with all else. Its constraint ``s - mu = n sigma`` has a solution only where ``sigma`` divides,
    a slip; here ``s - mu = n sigma + e`` with ``0 <= e < sigma``, that is ``n = floor((s - mu) /
    sigma)``. Spins per unit and sample: the bits of ``n`` and of two slacks up to ``sigma - 1``.

    Parameters
    ----------
    gain, shift
        Domains of ``gamma`` and ``beta``; by default 1..2 and -2..1.
    statistics
        ``"data"`` or ``"variables"``.
    mean, deviation
        For ``"data"`` numbers, one or one per group, instead of taking them from the data; for
        ``"variables"`` domains, by default -2..1 and 1..2.
    affine
        Without it there is no ``gamma`` and no ``beta``.
    """

    def __init__(
        self,
        *,
        gain: Domain | None = None,
        shift: Domain | None = None,
        statistics: str = "data",
        mean: Domain | ArrayLike | None = None,
        deviation: Domain | ArrayLike | None = None,
        affine: bool = True,
    ) -> None:
        super().__init__(gain, shift, affine)
        self.statistics = check_choice(statistics, ("data", "variables"), "BatchNorm(statistics)")
        self.mu: IntArray | None = None
        self.sigma: IntArray | None = None
        self.given = (mean, deviation)
        if self.variable:
            self.mean_domain = Int(-2, 1) if mean is None else mean
            self.deviation_domain = Int(1, 2) if deviation is None else deviation
            check_domain(self.mean_domain, "BatchNorm(mean)")
            check_domain(self.deviation_domain, "BatchNorm(deviation)")
            self._check_deviations(self.deviation_domain)
        elif mean is not None or deviation is not None:
            self._check_given()

    def _check_deviations(self, domain: object) -> None:
        assert isinstance(domain, Domain)
        if domain.lo < 1 or domain.hi > MOST_DEVIATIONS or domain.denominator > 1:
            raise NetworkError(
                "this is no range of deviations",
                where="BatchNorm(deviation)",
                rule=f"whole numbers from 1 to {MOST_DEVIATIONS}",
                received=str(domain),
                remedy="for example nn.Int(1, 4)",
            )

    def _check_given(self) -> None:
        mean, deviation = self.given
        known = mean is not None and deviation is not None
        sizes = np.atleast_1d(np.asarray(deviation if known else 0, dtype=np.float64))
        centres = np.atleast_1d(np.asarray(mean if known else 0, dtype=np.float64))
        powers = (sizes > 0) & (np.exp2(np.rint(np.log2(np.maximum(sizes, 1)))) == sizes)
        if not known or not powers.all() or (centres != np.rint(centres)).any():
            raise NetworkError(
                "these are no statistics",
                where="BatchNorm(mean, deviation)",
                rule="both or none: whole means, and deviations that are powers of two (1, 2, 4, ...)",
                received=f"mean={mean!r}, deviation={deviation!r}",
                remedy="round them, or leave both out to take them from the data",
            )

    def __repr__(self) -> str:
        return f"BatchNorm(statistics={self.statistics!r})"

    @property
    def variable(self) -> bool:
        """Whether mean and deviation are decision variables."""
        return self.statistics == "variables"

    @property
    def parameter_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Scale and shift, and the statistics where they are variables."""
        return ("scale", "shift", *(("mean", "deviation") if self.variable else ()))

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """Scale and shift, then mean and deviation where they are variables."""
        if not self.variable:
            return super().parameter_specs()
        assert isinstance(self.mean_domain, Domain)
        assert isinstance(self.deviation_domain, Domain)
        return (
            *super().parameter_specs(),
            ParameterSpec.trainable("mean", "bias", (self.count,), self.mean_domain),
            ParameterSpec.trainable("deviation", "weight", (self.count,), self.deviation_domain),
        )

    def observe(self, values: Callable[[], IntArray], weights: IntArray, scale: int) -> Self:
        """Mean and deviation of the training data, the latter as the nearest power of two."""
        if self.variable:
            return self
        chosen = copy.copy(self)
        mean, deviation = self.given
        if mean is not None and deviation is not None:
            centres = np.asarray(mean, dtype=np.int64) * scale
            chosen.mu = np.broadcast_to(centres, (self.count,))
            chosen.sigma = np.broadcast_to(np.asarray(deviation, dtype=np.int64), (self.count,))
            return chosen
        seen = values().reshape(len(weights), self.count, -1).astype(np.float64)
        share = weights / (weights.sum() * seen.shape[2])
        centre = np.einsum("ncp,n->c", seen, share)
        spread = np.sqrt(np.einsum("ncp,n->c", (seen - centre[:, None]) ** 2, share)) / scale
        chosen.mu = np.rint(centre).astype(np.int64)
        chosen.sigma = np.exp2(np.rint(np.log2(np.maximum(spread, 1.0)))).astype(np.int64)
        return chosen

    def _constants(self) -> tuple[IntArray, IntArray, int]:
        """Mean, factor of each group to the common denominator, and the largest deviation."""
        assert self.mu is not None and self.sigma is not None, "statistics come with the data"
        largest = int(self.sigma.max())
        return self.mu, largest // self.sigma, largest

    def scale(self, incoming: int) -> int:
        """Whole numbers for variables; else finer by the largest deviation."""
        return 1 if self.variable else incoming * self._constants()[2]

    def reach(self, incoming: float, scale: int) -> float:
        """Largest normalised value times the gain, plus the shift."""
        gain, shift = self._largest()
        if self.variable:
            mean, deviation = (spec for spec in self.parameters[-2:])
            assert deviation.domain.lo >= 1
            largest = incoming / scale + mean.largest / mean.domain.denominator + 1
            return gain * largest + shift
        mu, factors, _ = self._constants()
        largest = float(np.abs(mu).max()) + incoming
        return gain * largest * float(factors.max()) + shift * self.scale(scale)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Centred and divided, by constants in the denominator or by variables with rounding down."""
        if self.variable:
            assert isinstance(self.mean_domain, Domain)
            fine = self.mean_domain.denominator
            centred = fine * values - scale * self._of_units(parameters["mean"])
            normal = centred // (fine * scale * self._of_units(parameters["deviation"]))
        else:
            mu, factors, _ = self._constants()
            normal = (values - self._of_units(mu)) * self._of_units(factors)
        return self._apply_affine(parameters, normal, self.scale(scale))

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """As ``forward``, with exact rounding down."""
        if self.variable:
            assert isinstance(self.mean_domain, Domain)
            fine = self.mean_domain.denominator
            means = self._spread_constant(graph, scale * parameters["mean"])
            sizes = self._spread_constant(graph, fine * scale * parameters["deviation"])
            centred = graph.subtract(graph.scaled(values, fine), means)
            largest = centred.largest // (fine * scale * int(parameters["deviation"].min())) + 1
            normal = graph.floor_divide(centred, sizes, largest)
        else:
            mu, factors, _ = self._constants()
            centred = graph.subtract(values, self._spread_constant(graph, mu))
            normal = graph.multiply(centred, self._spread_constant(graph, factors))
        return self._affine_onnx(graph, parameters, normal, self.scale(scale))

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Constants: an expression. Variables: a quotient with its remainder."""
        scale = self.scale(inputs.scale)
        if self.variable:
            assert isinstance(self.mean_domain, Domain)
            fine = self.mean_domain.denominator
            means = _spread(parameters["mean"], self._groups(), inputs.shape)
            centred = inputs.scaled(fine) + means.scaled(-inputs.scale)
            sizes = _spread(parameters["deviation"], self._groups(), inputs.shape)
            normal = gadgets.quotient(builder, "n", centred, sizes, fine * inputs.scale)
        else:
            mu, factors, _ = self._constants()
            every = np.broadcast_to(mu[self._groups()], inputs.shape)
            centred = inputs + builder.constants(-every)
            normal = centred.scaled(np.tile(factors[self._groups()], inputs.shape[0]))
        return self._lower_affine(builder, parameters, normal.with_scale(scale))

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix E: a variable for the normalised value; scale and shift, which it has not, behind it."""
        result = self.lower_compact(builder, parameters, inputs)
        return builder.written("normal", "normal", result)

    @classmethod
    def examples(cls) -> list[Example]:
        """Given statistics, and variables with and without scale and shift."""
        data, context = np.arange(-3, 4)[:, None], Context("middle", 1, (1,))
        given = cls(mean=1, deviation=2).resolved(context)
        free = cls(statistics="variables", affine=False, deviation=Int(1, 3))
        whole = cls(statistics="variables", mean=Int(0, 1), shift=Int(0, 1))
        known = given.observe(lambda: data, np.ones(len(data), dtype=np.int64), 1)
        return [
            Example(known, context, data),
            Example(free, context, data),
            Example(whole, context, data[2:6], 2),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Statistics as variables in front of signs, and from the data as the first module."""
        return [
            trials.on_points(
                trials.hidden(),
                cls(statistics="variables", shift=Int(-1, 0), mean=Int(0, 1)),
                trials.make("Sign"),
                trials.readout(),
            ),
            trials.on_points(cls(), trials.readout()),
        ]


class LayerNorm(_Norm):
    """``y = gamma n + beta`` with ``n = (s - mean) / deviation`` over the units of one sample.

    In whole numbers: with ``U`` units, ``d = U s - sum s`` and ``V = U sum s^2 - (sum s)^2``, the
    deviation is ``sigma = 1 + floor(sqrt V)`` in units of ``1/U`` (the 1 keeps it from 0, in place of the
    usual epsilon), and ``n = floor(denominator d / sigma) / denominator``. ``sigma`` and ``n`` are
    variables, ``(sigma - 1)^2 <= V < sigma^2`` and ``denominator d = n sigma + e`` with ``0 <= e <
    sigma`` their constraints, in both formulations: the paper says only that layer normalisation goes "in
    the same way" as its batch normalisation.

    Spins per unit and sample: the bits of ``n`` and two slacks up to ``sigma - 1``; per sample ``sigma``
    and two slacks up to ``2 sigma``.

    Parameters
    ----------
    gain, shift
        Domains of ``gamma`` and ``beta``, one of each for every unit or channel; by default 1..2 and -2..1.
    denominator
        Grid of the normalised values.
    affine
        Without it there is no ``gamma`` and no ``beta``.
    """

    def __init__(
        self,
        *,
        gain: Domain | None = None,
        shift: Domain | None = None,
        denominator: int = 2,
        affine: bool = True,
    ) -> None:
        super().__init__(gain, shift, affine)
        self.denominator = check_count(denominator, "LayerNorm(denominator)", error=NetworkError)

    def out_shape(self, incoming: Shape) -> Shape:
        """The shape that comes in."""
        return incoming

    def scale(self, incoming: int) -> int:
        """The grid of the normalised values."""
        return self.denominator

    def reach(self, incoming: float, scale: int) -> float:
        """No normalised value is larger than the root of the number of units."""
        gain, shift = self._largest()
        units = math.prod(self.in_shape)
        # On the way sums of squares occur, which must fit as well.
        squares = 2 * units * units * incoming * incoming
        normal = self.denominator * (math.sqrt(units) + 1)
        return max(gain * normal + shift * self.denominator, 0 if squares < 2**61 else squares)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Centred, divided by the deviation, rounded down to the grid."""
        units = values.shape[-1]
        total = values.sum(axis=-1, keepdims=True)
        squares = units * (values * values).sum(axis=-1, keepdims=True) - total * total
        centred = self.denominator * (units * values - total)
        normal = centred // (1 + _root(squares))
        return self._apply_affine(parameters, normal, self.denominator)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """As ``forward``, with exact roots and exact rounding down."""
        units, axes = math.prod(self.in_shape), list(range(1, 1 + len(self.in_shape)))
        total = graph.total(values, axes, units, keep=True)
        squares = graph.total(graph.multiply(values, values), axes, units, keep=True)
        squares = graph.scaled(squares, units)
        # Never negative: no larger than what it is taken from.
        square = graph.multiply(total, total)
        spread = graph.node("Sub", squares, square, largest=squares.largest)
        sigma = graph.add(graph.root(spread), graph.constant(1))
        centred = graph.subtract(graph.scaled(values, units), total)
        # No value is further from the mean than sqrt(U) deviations.
        limit = self.denominator * (math.isqrt(units) + 1)
        normal = graph.floor_divide(graph.scaled(centred, self.denominator), sigma, limit)
        return self._affine_onnx(graph, parameters, normal, self.denominator)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """One deviation per sample, one quotient per unit."""
        inputs = builder.named("h", inputs)
        samples, units = inputs.shape
        of_sample = np.arange(samples) * units
        members = [inputs.take(of_sample + unit, (samples, 1)) for unit in range(units)]
        total = reduce(lambda a, b: a + b, members)
        squares = reduce(lambda a, b: a + b, [builder.product(m, m) for m in members])
        spread = squares.scaled(units) + builder.product(total, total).scaled(-1)
        largest = _largest_spread(inputs.lo.reshape(samples, -1), inputs.hi.reshape(samples, -1))
        sigma = gadgets.root(builder, "sigma", spread.clipped(0, largest), MOST_DEVIATIONS)
        sample = grid(samples, units)[:, 0]
        centred = inputs.scaled(units) + total.take(sample, inputs.shape).scaled(-1)
        sizes = sigma.take(sample, inputs.shape)
        # No value is further from the mean than sqrt(U) deviations.
        limit = self.denominator * (math.isqrt(units) + 1)
        normal = gadgets.quotient(
            builder, "n", centred.scaled(self.denominator), sizes, limit=limit
        )
        return self._lower_affine(builder, parameters, normal.with_scale(self.denominator))

    @classmethod
    def examples(cls) -> list[Example]:
        """Two units, all small numbers, with and without scale and shift."""
        context, data = Context("middle", 1, (2,)), grid(3, 3) - 1
        whole = cls(denominator=1, gain=Int(1, 2), shift=Int(0, 1))
        return [Example(cls(affine=False), context, data), Example(whole, context, data[1:5])]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers."""
        return [trials.on_points(trials.hidden(), cls(affine=False), trials.readout())]


def _root(values: IntArray) -> IntArray:
    """Whole square roots, rounded down, exactly."""
    root = np.sqrt(values.astype(np.float64)).astype(np.int64)
    root -= root * root > values
    return root + ((root + 1) * (root + 1) <= values)


def _largest_spread(lo: IntArray, hi: IntArray) -> IntArray:
    """Largest ``U sum s^2 - (sum s)^2`` for values in these ranges: half at each end, as far as it goes."""
    units = lo.shape[1]
    width = hi.max(axis=1) - lo.min(axis=1)
    return (units // 2) * ((units + 1) // 2) * width * width

"""BatchNorm: mean and deviation of every unit, from the data or as decision variables."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError, check_choice
from isinglearn.nn import gadgets, trials
from isinglearn.nn.domains import Domain, Int, check_domain
from isinglearn.nn.layers.norm import MOST_DEVIATIONS, _Norm, spread
from isinglearn.nn.module import Context, Example, ParameterSpec, Trial
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


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
    def mean(self) -> Domain | ArrayLike | None:
        """As given."""
        return self.given[0]

    @property
    def deviation(self) -> Domain | ArrayLike | None:
        """As given."""
        return self.given[1]

    def seen(self) -> dict[str, IntArray]:
        """Mean and deviation of every group, where they are constants and known."""
        if self.mu is None or self.sigma is None:
            return {}
        return {"mean": self.mu, "deviation": self.sigma}

    def with_seen(self, values: Mapping[str, IntArray]) -> Self:
        """The same statistics, checked."""
        if self.variable or not values:
            return super().with_seen(values)
        chosen = copy.copy(self)
        nothing = np.zeros(0, dtype=np.int64)
        mean, deviation = values.get("mean", nothing), values.get("deviation", nothing)
        powers = bool((deviation > 0).all() and not (deviation & (deviation - 1)).any())
        if (
            not powers
            or not mean.size
            or mean.shape != deviation.shape
            or mean.ndim != 1
            or len(values) != 2
        ):
            raise NetworkError(
                "these are no statistics",
                where="BatchNorm.with_seen",
                rule="whole mean and deviation of every group, deviations powers of two",
                received=", ".join(f"{name}={value}" for name, value in values.items()),
                remedy="pass what seen() of such a module gives",
            )
        chosen.mu, chosen.sigma = mean, deviation
        return chosen

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

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """As ``forward``; the quotient of such floats rounds down exactly."""
        mean, deviation = self._spread_tensor(layer.mean), self._spread_tensor(layer.deviation)
        if self.variable:
            assert isinstance(self.mean_domain, Domain)
            fine = self.mean_domain.denominator
            normal = ((fine * values - scale * mean) / (fine * scale * deviation)).floor()
        else:
            # Powers of two, of which the largest goes into the denominator.
            normal = (values - mean) * (deviation.max() / deviation)
        return self._affine_torch(layer, normal, self.scale(scale))

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Constants: an expression. Variables: a quotient with its remainder."""
        scale = self.scale(inputs.scale)
        if self.variable:
            assert isinstance(self.mean_domain, Domain)
            fine = self.mean_domain.denominator
            means = spread(parameters["mean"], self._groups(), inputs.shape)
            centred = inputs.scaled(fine) + means.scaled(-inputs.scale)
            sizes = spread(parameters["deviation"], self._groups(), inputs.shape)
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

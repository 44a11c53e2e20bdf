"""The compiler on one page: ``compile`` checks the input, ``Problem`` lowers on demand, pass after pass."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.data import Dataset
from isinglearn.errors import DataError, NetworkError, OptionError, check_count
from isinglearn.lowering.incumbent import candidates, find_incumbent
from isinglearn.lowering.memory import check_memory
from isinglearn.lowering.options import Options
from isinglearn.lowering.orders import Order, choose_order
from isinglearn.lowering.penalties import Certificate
from isinglearn.lowering.tighten import tighten
from isinglearn.lowering.to_hubo import to_hubo
from isinglearn.lowering.to_qcbo import Training, to_qcbo
from isinglearn.nn.losses import MSE, Loss
from isinglearn.nn.module import Parameters
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, QCBO, QUBO

if TYPE_CHECKING:
    from isinglearn.lowering.fixing import Fixing, ReducedQUBO
    from isinglearn.lowering.rounding import Rounded
    from isinglearn.lowering.summary import Summary

# Score of a network that the form cannot express; above every loss, below overflow.
INFEASIBLE = np.iinfo(np.int64).max
# Numbers of forward passes that are held at once, a quarter of a gigabyte.
MOST_NUMBERS = 1 << 25


def compile(
    net: Sequential,
    X: ArrayLike,
    y: ArrayLike,
    loss: Loss | None = None,
    formulation: str = "compact",
    *,
    order: str = "auto",
    signs: str = "auto",
    box: bool = False,
    sample_weight: ArrayLike | None = None,
    label_scale: int = 1,
    input_bits: int | None = None,
    penalty: int | None = None,
    product_weight: int | None = None,
    incumbent: Parameters | None = None,
) -> Problem:
    """Turn a network and data into a problem whose QCBO, HUBO and QUBO are lowered on demand.

    Parameters
    ----------
    net
        The network; unset domains follow the paper.
    X, y
        Integer inputs (samples, features), or images (samples, channels, rows, columns), and labels in
        [-1, 1].
    loss
        ``nn.MSE()`` by default, or ``nn.Hinge()``.
    formulation
        ``"compact"`` (fewest spins) or ``"paper"`` (appendices C and D to the letter).
    order
        ``"square"``: square first, then reduce; ``"product"``: products first, smaller weights;
        ``"mixed"``: products first in penalties, square first in the objective; ``"auto"``: ``mixed`` or
        ``product``, whichever needs fewer spins.
    signs
        ``"auto"``, ``"slack"`` or ``"threshold"``: how sign units of the compact form are written.
    box
        Confine predictions to the paper's range (always so in the paper form).
    sample_weight
        Non-negative weights, entering the loss exactly; 0 is as if the sample had not been given.
    label_scale
        Labels are multiples of ``1 / label_scale``.
    input_bits
        The paper's ``B``; taken from the network or the data if not given.
    penalty, product_weight
        Penalty weights by hand, in integer energy units; not certified then.
    incumbent
        A known good network: the better it is, the smaller the certified weights.
    """
    options = Options(formulation, order, signs, box, penalty, product_weight)
    _check_types(net, loss)
    if input_bits is not None:
        check_count(input_bits, "input_bits", 0, 61, DataError)
    data = Dataset.of(
        X, y, sample_weight=sample_weight, label_scale=label_scale, shape=net.input_shape
    )
    bits = next(b for b in (input_bits, net.input_bits, data.input_bits) if b is not None)
    _check_fit(net, data, bits)
    data = data.weighted()
    chosen = loss or MSE()
    chosen.check_labels(data)
    network = net.resolved(bits).observed(data.X, data.weights)
    if not any(spec.free.any() for spec in network.parameters.values()):
        raise NetworkError(
            "there is nothing to train",
            where="net",
            rule="at least one parameter that is not frozen",
            received=f"{network} with every parameter frozen",
            remedy="call net.forward to evaluate it, or free a parameter",
        )
    # The paper's form halves the grid of the outputs.
    chosen.check_reach(data, 2 * network.reach(float(2**bits)), 2 * network.output_scale)
    check_memory(network, data, options)
    problem = Problem(network, data, chosen, options, incumbent)
    if incumbent is not None:
        problem.vector(incumbent)
    return problem


def _check_types(net: object, loss: object) -> None:
    for name, value, kind, remedy in (
        ("net", net, Sequential, "build one with nn.Sequential(...)"),
        ("loss", loss or MSE(), Loss, "pass nn.MSE() or nn.Hinge()"),
    ):
        if not isinstance(value, kind):
            raise OptionError(
                "this is of the wrong kind",
                where=name,
                rule=f"an nn.{kind.__name__}",
                received=repr(value),
                remedy=remedy,
            )


def _check_fit(net: Sequential, data: Dataset, bits: int) -> None:
    if net.out_features != data.y.shape[1]:
        raise DataError(
            "the data does not fit the network",
            where="y",
            rule=f"{net.out_features} columns, as {net} has",
            received=f"{data.y.shape[1]} columns",
            remedy="change the network's last layer or the data",
        )
    outside = np.abs(data.X) > 2**bits
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise DataError(
            "an input lies outside the declared range",
            where=f"X[{row}, {column}]",
            rule=f"[-2^B, 2^B] = [{-(2**bits)}, {2**bits}] with B = {bits}",
            received=int(data.X[row, column]),
            remedy="quantise to the range, or give the network more input_bits",
        )


class Problem:
    """Network, data and the forms lowered so far.

    Attributes
    ----------
    network
        Resolved: every parameter has its domain.
    data, loss, options
        As given, checked.
    """

    def __init__(
        self,
        network: Sequential,
        data: Dataset,
        loss: Loss,
        options: Options,
        incumbent: Parameters | None = None,
    ) -> None:
        self.network = network
        self.data = data
        self.loss = loss
        self.options = options
        self._given_incumbent = incumbent

    def __repr__(self) -> str:
        return f"Problem({self.network}, {len(self.data)} samples, {self.options.formulation!r})"

    # -- the passes, in order ----------------------------------------------------------------------

    @cached_property
    def training(self) -> Training:
        """Pass 1: constraints over integers."""
        paper = self.options.paper
        data = self.data if paper else self.data.merged()
        return to_qcbo(self.network, data, self.loss, paper=paper, box=self.options.box)

    @cached_property
    def qcbo(self) -> QCBO:
        """Pass 2: ranges cut to values that matter (not in the paper form)."""
        return self.training.qcbo if self.options.paper else tighten(self.training.qcbo)

    @cached_property
    def certificate(self) -> Certificate | None:
        """Pass 3: the bounds that the penalty weights rest on, unless all weights are set by hand."""
        if self.options.penalty is not None and self.options.product_weight is not None:
            return None
        worst = {}
        if self.options.repairable:
            samples, costs = self.training.samples, self.training.worst
            worst = dict(zip(samples.tolist(), costs.tolist(), strict=True))
        return Certificate(self.incumbent[1], self.training.lowest, worst)

    @cached_property
    def hubo(self) -> HUBO:
        """Pass 4: bits and penalties."""
        return to_hubo(self.qcbo, self.options, self.certificate)

    @cached_property
    def qubo(self) -> QUBO:
        """Pass 5: degree two, in the order ``self.order``."""
        from isinglearn.lowering.to_qubo import to_qubo

        return to_qubo(self.hubo, self.order, self.options, self.certificate)

    @cached_property
    def order(self) -> Order:
        """Which products get their bits before squaring: the option, or the smaller of two."""
        return choose_order(self.hubo, self.options)

    def rounded(self, bits: int, convention: str = "qubo") -> Rounded:
        """The QUBO with coefficients as a machine of so many bits resolves them, and how far off it is."""
        from isinglearn.lowering.rounding import round_coefficients

        return round_coefficients(self.qubo, bits, convention)

    def fixed(self, *, strict: bool = True) -> tuple[ReducedQUBO, Fixing]:
        """The QUBO without the bits that roof duality decides, and how to put them back."""
        from isinglearn.lowering.fixing import fix_variables

        return fix_variables(self.qubo, strict=strict)

    def summary(self) -> Summary:
        """Spins by role, couplers, coefficient range, weights and their proofs; prints as a table."""
        from isinglearn.lowering.summary import summarise

        return summarise(self)

    # -- parameters --------------------------------------------------------------------------------

    @cached_property
    def free_domains(self) -> list[range]:
        """Value set of every free parameter, in the order of the QCBO's first variables."""
        return [
            spec.domain.numerators
            for spec in self.network.parameters.values()
            for _ in range(int(spec.free.sum()))
        ]

    def parameters(self, vectors: ArrayLike) -> Parameters:
        """Turn vectors of free parameters (..., free) into named arrays, frozen entries filled in."""
        given = np.asarray(vectors, dtype=np.int64)
        named: Parameters = {}
        at = 0
        for name, spec in self.network.parameters.items():
            count = int(spec.free.sum())
            own, shape = given[..., at : at + count], given.shape[:-1] + spec.shape
            if count == spec.free.size:
                named[name] = own.reshape(shape)
            else:
                named[name] = np.broadcast_to(spec.frozen, shape).copy()
                named[name][..., spec.free] = own
            at += count
        return named

    def vector_batch(self, values: IntArray) -> IntArray:
        """Turn any integers (reads, free) into the nearest vectors of free parameters."""
        columns = []
        at = 0
        for spec in self.network.parameters.values():
            count = int(spec.free.sum())
            columns.append(spec.domain.snap(values[:, at : at + count]))
            at += count
        return np.concatenate(columns, axis=1)

    def vector(self, parameters: Parameters) -> IntArray:
        """Turn named arrays into the vector of free parameters."""
        parts = []
        for name, spec in self.network.parameters.items():
            if name not in parameters or np.shape(parameters[name]) != spec.shape:
                raise NetworkError(
                    "the parameters do not fit the network",
                    where=name,
                    rule=f"an integer array of shape {spec.shape}",
                    received=np.shape(parameters[name]) if name in parameters else "nothing",
                    remedy="use the names and shapes of problem.network.parameters",
                )
            given = np.asarray(parameters[name])
            whole = given.astype(np.int64)
            fits = np.array_equal(whole, given) and spec.domain.contains(whole[spec.free])
            if not fits or (whole[~spec.free] != spec.frozen[~spec.free]).any():
                raise NetworkError(
                    "a parameter has values that its domain does not",
                    where=name,
                    rule=f"numerators of {spec.domain}, frozen entries as frozen",
                    received=given.tolist(),
                    remedy="give integer numerators over the denominator",
                )
            parts.append(whole[spec.free])
        return np.concatenate(parts)

    def complete(self, vectors: ArrayLike) -> IntArray:
        """Turn vectors of free parameters into full assignments of the QCBO's integers."""
        given = np.atleast_2d(np.asarray(vectors, dtype=np.int64))
        values = np.zeros((len(given), len(self.qcbo.variables)), dtype=np.int64)
        values[:, : given.shape[1]] = given
        return self.qcbo.complete(values)

    def scores(self, vectors: ArrayLike) -> IntArray:
        """Turn vectors of free parameters into integer losses in the QCBO's units, by forward passes.

        A network whose predictions leave the form's box gets a score above every loss.
        """
        given = np.atleast_2d(np.asarray(vectors, dtype=np.int64))
        step = max(1, MOST_NUMBERS // (self.network.work * len(self._merged)))
        parts = [self._scores(given[at : at + step]) for at in range(0, len(given), step)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _scores(self, vectors: IntArray) -> IntArray:
        data = self._merged
        outputs = self.network.forward(self.parameters(vectors), data.X)
        losses = self.loss.evaluate(data, outputs, self.network.output_scale)
        losses = losses * (self.qcbo.scale // self.loss.scale(data, self.network.output_scale))
        if self.box is None:
            return losses
        inside = ((outputs >= self.box[0]) & (outputs <= self.box[1])).all(axis=(-1, -2))
        return np.where(inside, losses, INFEASIBLE)

    @cached_property
    def _merged(self) -> Dataset:
        return self.data.merged()

    @cached_property
    def box(self) -> tuple[int, int] | None:
        """Range of output numerators that the form can express, if it confines them."""
        if self.options.repairable:
            return None
        lo, hi = self.training.output_range
        step = self.training.output_scale // self.network.output_scale
        return -(-lo // step), hi // step

    @cached_property
    def incumbent(self) -> tuple[IntArray, int]:
        """A good feasible network (free parameters) and its integer loss."""
        if self.options.paper:
            # Biases cut to what matters also keep the paper's other ranges.
            options = Options("compact", box=self.training.has_box)
            twin = Problem(self.network, self.data, self.loss, options, self._given_incumbent)
            vector = twin.incumbent[0]
        else:
            vector = self._search()
        values = self.complete(vector)
        table = self.qcbo.variables
        if ((values < table.lo) | (values > table.hi)).any():
            raise NetworkError(
                "no network was found that this form can express",
                where="incumbent",
                rule="one feasible network, as upper bound for the penalty weights",
                received=self.qcbo.violations(values)[0],
                remedy="pass a feasible incumbent=, or use formulation='compact' without box",
            )
        return vector, int(self.qcbo.energy(values)[0])

    @cached_property
    def used_domains(self) -> list[range]:
        """Value set of every free parameter, cut to the values that can matter."""
        lo, hi = self.qcbo.variables.lo.tolist(), self.qcbo.variables.hi.tolist()
        return [range(lo[i], hi[i] + 1, values.step) for i, values in enumerate(self.free_domains)]

    def _search(self) -> IntArray:
        domains = self.used_domains
        # Smallest magnitudes: every form can express sums near 0.
        start = np.array([min(values, key=abs, default=0) for values in map(candidates, domains)])
        if self._given_incumbent is not None:
            # A bias beyond the range that matters behaves like the end of that range.
            table, count = self.qcbo.variables, len(domains)
            given = self.vector(self._given_incumbent)
            start = np.clip(given, table.lo[:count], table.hi[:count])
        work = len(self._merged), self.network.work
        return find_incumbent(domains, self.scores, work, start)

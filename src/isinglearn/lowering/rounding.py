"""A QUBO as a machine of few bits sees it: coefficients rounded to integers of a common scale.

What that does to the ground states is bounded here, and computed where a solver for the rounded forms is
given; this module knows none itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from isinglearn.errors import OverflowRefused, SolverError, check_choice, check_count
from isinglearn.lowering.pipeline import INFEASIBLE, Problem
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import index_pairs
from isinglearn.problem.forms import QUBO, Energy
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.terms import check_overflow
from isinglearn.problem.variables import Positions

# Which coefficients are rounded: those over bits, or fields and couplings over spins.
CONVENTIONS = ("qubo", "ising")
# Turns a QUBO into an assignment of least energy, proved, or into None where that is too much work.
Minimise = Callable[[QUBO], IntArray | None]


@dataclass(frozen=True, eq=False)
class Rounded:
    """A rounded QUBO and how far its energies are from the original's.

    Attributes
    ----------
    original, form
        The QUBO, and the one that a machine solves: same bits, same decoding, other energies.
    bits, convention
        Resolution, sign included, and whether it is that of a ``"qubo"`` or of an ``"ising"`` machine.
    unit
        What an energy of 1 in ``form`` is worth in the original: ``unit * form.energy`` is close to
        ``original.energy``.
    largest_error
        Of any coefficient of the convention, in units of the original energy.
    worst_change
        By how much the difference of two energies can change at most: the sum of all errors, for spins
        (which swing by 2) twice that.
    """

    original: QUBO
    form: QUBO
    bits: int
    convention: str
    unit: Fraction
    largest_error: Fraction
    worst_change: Fraction

    @property
    def gap(self) -> int:
        """Different energies of the original differ by this at least: all are multiples of it."""
        polynomial = self.original.polynomial
        varying = polynomial.coefficients[polynomial.degrees > 0]
        return int(np.gcd.reduce(varying)) if len(varying) else 1

    @property
    def keeps_gap(self) -> bool:
        """Whether the errors are too small to make any ground state of one that was none."""
        return self.worst_change < self.gap

    def tie_broken(self, *, highest: bool) -> QUBO:
        """The rounded form with ties of its energy broken by the original's, lowest or highest first.

        Its ground states are those of the rounded form whose original energy is the lowest, or the highest:
        two minimisations say what all of them, however many, have in common.
        """
        energies = self.original.polynomial
        lo, hi = energies.bounds()
        # Rounded energies are whole: one step outweighs whatever the original energies differ by.
        first = self.form.polynomial * (hi - lo + 1)
        return with_polynomial(self.form, first - energies if highest else first + energies, 1)


def round_coefficients(qubo: QUBO, bits: int, convention: str = "qubo") -> Rounded:
    """Turn a QUBO into one whose coefficients are signed integers of ``bits`` bits, at a common scale.

    Parameters
    ----------
    qubo
        With its final weights: those of the rounded form cannot be changed any more.
    bits
        Resolution, sign included: integers up to ``2^(bits - 1) - 1`` in magnitude.
    convention
        ``"qubo"``: linear and quadratic coefficients over bits are rounded; ``"ising"``: fields and couplings
        over spins are. The constant is never sent to a machine and is not limited.
    """
    check_count(bits, "bits", 2, 62)
    check_choice(convention, CONVENTIONS, "convention")
    pairs = index_pairs(qubo.polynomial)
    varying = (pairs >= 0).any(axis=1)
    pairs, values = pairs[varying], qubo.polynomial.coefficients[varying]
    ising = convention == "ising"
    exact = _fields_and_couplings(qubo.num_variables, pairs, values) if ising else values
    step = _finest_step(exact, 2 ** (bits - 1) - 1)
    whole = _nearest(exact, step)
    errors = np.abs(whole * step.numerator - exact * step.denominator)
    check_overflow(float(errors.astype(np.float64).sum()), "rounding errors")
    # Fields and couplings are counted in quarters, and a spin's term varies between -1 and 1.
    part, swing = (4, 2) if ising else (1, 1)
    unit = step / 2 if ising else step
    terms = _from_spins(qubo.num_variables, pairs, whole) if ising else (pairs, whole)
    rounded = Polynomial.of(*terms) + round(qubo.offset / unit)
    return Rounded(
        qubo,
        with_polynomial(qubo, rounded, max(1, round(qubo.scale / unit))),
        bits,
        convention,
        unit,
        Fraction(int(errors.max(initial=0)), part * step.denominator),
        Fraction(swing * int(errors.sum()), part * step.denominator),
    )


def with_polynomial(qubo: QUBO, polynomial: Polynomial, scale: int) -> QUBO:
    """Turn a QUBO into one of the same bits and decoding whose energy is ``polynomial``.

    Penalties and products stay, at weight 0: what an assignment breaks can still be said by name. Nothing is
    said of what follows from what, since a solver that uses it would not look at the polynomial.
    """
    place = Positions("", "energy", (), np.zeros((1, 0), dtype=np.int64))
    energy = Energy(place, polynomial.as_rows(), "linear", np.ones(1, dtype=np.int64))
    weightless = replace(qubo.with_weights(penalty=0, product=0), source=None)
    return replace(weightless, objective=(energy,), scale=scale)


def _finest_step(values: IntArray, most: int) -> Fraction:
    """The smallest step that takes all values within ``most`` steps; an exact one if there is such."""
    largest = int(np.abs(values).max(initial=0))
    divisor = int(np.gcd.reduce(values)) if largest else 1
    return Fraction(divisor) if largest <= most * divisor else Fraction(largest, most)


def _nearest(values: IntArray, step: Fraction) -> IntArray:
    """Turn values into whole numbers of steps, halves away from 0."""
    over, under = step.denominator, step.numerator
    magnitudes = np.abs(values)
    check_overflow(2.0 * float(magnitudes.max(initial=0)) * over + under, "rounding")
    return np.sign(values) * ((2 * over * magnitudes + under) // (2 * under))


def _fields_and_couplings(count: int, pairs: IntArray, values: IntArray) -> IntArray:
    """Quarters of the fields of all spins, then of the couplings: ``x = (1 + s) / 2`` in the polynomial."""
    check_overflow(4 * float(np.abs(values.astype(np.float64)).sum()), "fields")
    coupled = pairs[:, 0] >= 0
    fields = np.zeros(count, dtype=np.int64)
    np.add.at(fields, pairs[~coupled, 1], 2 * values[~coupled])
    for side in pairs[coupled].T:
        np.add.at(fields, side, values[coupled])
    return np.concatenate([fields, values[coupled]])


def _from_spins(count: int, pairs: IntArray, machine: IntArray) -> tuple[IntArray, IntArray]:
    """Half the terms over bits of fields and couplings: ``s = 2 x - 1``, the constant left out."""
    fields, couplings = machine[:count].copy(), machine[count:]
    check_overflow(2 * float(np.abs(machine.astype(np.float64)).sum()), "fields")
    coupled = pairs[pairs[:, 0] >= 0]
    for side in coupled.T:
        np.subtract.at(fields, side, couplings)
    single = np.column_stack([np.full(count, -1), np.arange(count)])
    return np.concatenate([single, coupled]), np.concatenate([fields, 2 * couplings])


# -- what it does to the networks ------------------------------------------------------------------


@dataclass(frozen=True)
class RoundingEffect:
    """What rounding does to the optimum of a problem.

    Attributes
    ----------
    bits, convention, unit, largest_error, worst_change
        See :class:`Rounded`.
    optimum
        The least loss of any network.
    optimum_kept
        True: every ground state of the rounded QUBO is an optimal network. False: one of them is none.
        None: neither was shown.
    loss_after, best_loss_after
        The larger and the smaller loss, after repair, of two rounded ground states: those of highest and of
        lowest original energy. None where they were not computed, or the form has no such network.
    how
        ``"exact"`` if the ground states were computed, ``"bound"`` if the errors decided, else ``"none"``.
    """

    bits: int
    convention: str
    unit: Fraction
    largest_error: Fraction
    worst_change: Fraction
    optimum: Fraction
    optimum_kept: bool | None
    loss_after: Fraction | None
    best_loss_after: Fraction | None
    how: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, fractions as text."""
        return {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in vars(self).items()
        }


def effect_of_rounding(
    problem: Problem, bits: int, convention: str, optimum: Fraction, minimise: Minimise
) -> RoundingEffect:
    """Turn a problem and a resolution into what is left of the optimum.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    bits, convention
        See :func:`round_coefficients`.
    optimum
        The least loss of any network, proved.
    minimise
        An exact solver of QUBOs, or None from it where a QUBO is too much for it: then only the bound on the
        errors is left.
    """
    rounded = round_coefficients(problem.qubo, bits, convention)
    # Weights by hand prove nothing about ground states.
    certified = problem.options.penalty is None and problem.options.product_weight is None
    kept: bool | None = None
    largest = smallest = None
    how = "none"
    if certified and rounded.keeps_gap:
        kept, how = True, "bound"
    found = _extreme_ground_states(rounded, minimise)
    if found is not None:
        least, how = optimum * problem.qubo.scale, "exact"
        energy = int(problem.qubo.energy(found)[0])
        vectors = problem.vector_batch(problem.qubo.decode(found)[:, : len(problem.free_domains)])
        scores = problem.scores(vectors).tolist()
        _check_optimum(min(*scores, energy) if certified else min(scores), least)
        if certified and energy == least:
            kept = True
        elif max(scores) > least:
            kept = False
        largest, smallest = _loss(problem, max(scores)), _loss(problem, min(scores))
    return RoundingEffect(
        bits,
        convention,
        rounded.unit,
        rounded.largest_error,
        rounded.worst_change,
        optimum,
        kept,
        largest,
        smallest,
        how,
    )


def _loss(problem: Problem, score: int) -> Fraction | None:
    return None if score == INFEASIBLE else Fraction(score, problem.qubo.scale)


def _extreme_ground_states(rounded: Rounded, minimise: Minimise) -> IntArray | None:
    """Ground states of the rounded form with the highest and the lowest original energy."""
    found = []
    for highest in (True, False):
        try:
            bits = minimise(rounded.tie_broken(highest=highest))
        except OverflowRefused:
            # Two energies in one do not always fit into 64 bits.
            return None
        if bits is None:
            return None
        found.append(bits)
    return np.stack(found)


def _check_optimum(least: int, claimed: Fraction) -> None:
    if least < claimed:
        raise SolverError(
            "there is something better than the optimum given",
            where="effect_of_rounding(optimum=...)",
            rule=f"no energy below {claimed}",
            received=least,
            remedy="pass the proved optimum, for instance run.best.loss of a run that is OPTIMAL",
        )

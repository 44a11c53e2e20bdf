"""QAOA on the QUBO: a short circuit on a simulated quantum computer (qiskit, qiskit-aer), angles optimised.

``layers`` times the phase ``exp(-i gamma E / S)`` and the mixing ``exp(i beta sum X)`` turn the uniform
superposition into one that favours low energies ``E``; the angles are optimised for its mean energy, and
assignments are drawn from it. ``S`` is the standard deviation of ``E``, so that angles are of order one.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import ProblemRefused, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.session import Session

# The simulation takes time and memory for 2^spins amplitudes, hundreds of times.
MOST_SPINS = 14
# Phase and mixing angle per layer at the end and the start of the first guess, an annealing in steps.
_PHASE, _MIXING = 2.0, 0.7

Angles = NDArray[np.float64]


class QAOA(Solver):
    """QAOA on a simulated quantum computer, for QUBOs of a few spins."""

    name = "qaoa"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("qiskit", "qiskit_aer")
    install: ClassVar[str] = "pip install 'isinglearn[qaoa]'"

    @dataclass(frozen=True)
    class Options:
        """Circuit and effort.

        Attributes
        ----------
        layers
            Repetitions of phase and mixing, with two angles each.
        evaluations
            Circuits run while the angles are optimised.
        shots
            Assignments drawn from every circuit that is better than those before.
        """

        layers: int = 3
        evaluations: int = 100
        shots: int = 200

        def __post_init__(self) -> None:
            check_count(self.layers, "layers")
            check_count(self.evaluations, "evaluations")
            check_count(self.shots, "shots")

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Optimise the angles and draw assignments, until it has converged or is stopped."""
        _check_size(form)
        search = _Search(form, options, session)
        if not session.stopped:
            search.run()
        return Answer(search.rows, note=search.note)


def _check_size(qubo: QUBO) -> None:
    if qubo.num_variables > MOST_SPINS:
        raise ProblemRefused(
            "this problem has too many spins to simulate a quantum computer",
            where="solver='qaoa'",
            rule=f"at most {MOST_SPINS} spins",
            received=f"{qubo.num_variables} spins",
            remedy="use another solver, such as 'dwave-sa', or a smaller network and fewer samples",
        )


class _Stopped(Exception):
    """Leads out of the optimiser, which cannot be told to end."""


class _Search:
    """Optimises the angles; what was drawn on the way is kept."""

    def __init__(self, qubo: QUBO, options: QAOA.Options, session: Session) -> None:
        self.qubo, self.options, self.session = qubo, options, session
        # Assignment number k has bit i of k as its variable i, as the simulator counts its states.
        number = np.arange(1 << qubo.num_variables)[:, None]
        self.states: IntArray = number >> np.arange(qubo.num_variables) & 1
        self.energies = qubo.energy(self.states)
        self.rng = np.random.default_rng(session.seed)
        self.drawn: list[IntArray] = []
        self.best = np.inf

    @property
    def rows(self) -> IntArray:
        """The assignments drawn so far, one per shot."""
        return self.states[np.concatenate([np.zeros(0, dtype=np.int64), *self.drawn])]

    @property
    def note(self) -> str:
        """How far the circuit has come from mere guessing."""
        if not self.drawn:
            return ""
        return f"mean energy {self.best:.3g} of the circuit, {self.energies.mean():.3g} of guessing"

    def run(self) -> None:
        """Optimise until there is nothing to gain, all evaluations are used or it is stopped."""
        from scipy.optimize import minimize

        self.simulate = _Circuit(self.qubo, self.options.layers)
        with suppress(_Stopped):
            minimize(
                self.mean_energy,
                _ramp(self.options.layers),
                method="Nelder-Mead",
                options={"maxfev": self.options.evaluations, "xatol": 1e-3, "fatol": 1e-6},
            )

    def mean_energy(self, angles: Angles) -> float:
        """Turn angles into the mean energy of the circuit; from a better one assignments are drawn."""
        if self.session.stopped:
            raise _Stopped
        probabilities = self.simulate(angles)
        mean = float(probabilities @ self.energies)
        if mean < self.best:
            self.best = mean
            drawn = self.rng.choice(len(self.states), size=self.options.shots, p=probabilities)
            self.drawn.append(drawn)
            self.session.tell(energy=int(self.energies[drawn].min()))
        return mean


def _ramp(layers: int) -> Angles:
    """The first guess: phases rise while mixing falls, as in an annealing."""
    middle = (np.arange(layers) + 0.5) / layers
    return np.concatenate([_PHASE * middle, _MIXING * (1 - middle)])


class _Circuit:
    """A QUBO's circuit: from angles, first all phases and then all mixings, to probabilities of states."""

    def __init__(self, qubo: QUBO, layers: int) -> None:
        from qiskit.circuit import ParameterVector, QuantumCircuit
        from qiskit_aer import AerSimulator

        fields, couplings, _ = qubo.to_ising()
        pairs = couplings.tocoo()
        # Spins are independent under guessing, so the squares of all coefficients add up.
        scale = float(np.sqrt((fields**2).sum() + (pairs.data**2).sum())) or 1.0
        phases, mixings = ParameterVector("gamma", layers), ParameterVector("beta", layers)
        circuit: Any = QuantumCircuit(qubo.num_variables)
        circuit.h(range(qubo.num_variables))
        for phase, mixing in zip(phases, mixings, strict=True):
            # A spin is -Z: bit 1 is spin +1 here and Z = -1 there.
            for i, field in enumerate(fields.tolist()):
                circuit.rz(-2 * field / scale * phase, i)
            for i, j, coupling in zip(*pairs.coords, pairs.data.tolist(), strict=True):
                circuit.rzz(2 * coupling / scale * phase, int(i), int(j))
            # The superposition is the ground state of -X, and ground states lead to ground states.
            circuit.rx(-2 * mixing, range(qubo.num_variables))
        circuit.save_probabilities()
        self.circuit, self.angles = circuit, [*phases, *mixings]
        self.simulator = AerSimulator(method="statevector")

    def __call__(self, angles: Angles) -> NDArray[np.float64]:
        bound = self.circuit.assign_parameters(dict(zip(self.angles, angles.tolist(), strict=True)))
        found = np.asarray(self.simulator.run(bound).result().data()["probabilities"])
        # The simulator's rounding would make them sum to one only nearly.
        return found / found.sum()

"""The annealer as a dimod sampler, for any binary quadratic model from anywhere."""

from __future__ import annotations

from typing import Any

import dimod
import numpy as np

from isinglearn.errors import OptionError, check_choice, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.annealer import Annealer
from isinglearn.solvers.annealer.models import LARGEST_TOTAL, Dense, Kind, Sparse, pair_model
from isinglearn.solvers.annealer.reads import thread_count
from isinglearn.solvers.annealer.search import Effort, flip_spins
from isinglearn.solvers.annealer.warming import prepare_flips
from isinglearn.solvers.session import Session, check_seconds

# Biases that are no integers are scaled up by powers of two until they are, or by as much as this allows.
_LARGEST = 2.0**40
_MOST_BITS = 40


class AnnealingSampler(dimod.Sampler):  # type: ignore[name-defined, misc]
    """Simulated annealing and parallel tempering of any BQM, on integers, over all cores.

    Biases that are no whole numbers (nor become such when scaled by a power of two) are rounded to 40 bits;
    the energies of the samples returned are those of the model itself.
    """

    @property
    def properties(self) -> dict[str, Any]:
        """What dimod asks of every sampler."""
        return {"description": "isinglearn's annealer"}

    @property
    def parameters(self) -> dict[str, list[str]]:
        """Keyword arguments of :meth:`sample`."""
        names = ("num_reads", "num_sweeps", "method", "replicas", "hot", "cold", "threads")
        return {name: [] for name in (*names, "seed", "time_limit", "initial_state")}

    def sample(
        self,
        bqm: dimod.BinaryQuadraticModel,
        *,
        num_reads: int = 100,
        num_sweeps: int = 1000,
        seed: int = 0,
        time_limit: float | None = None,
        initial_state: dict[Any, int] | None = None,
        **options: Any,
    ) -> dimod.SampleSet:
        """Turn a model into samples, one per read.

        Parameters
        ----------
        bqm
            Spins or bits, any labels.
        num_reads, num_sweeps
            Independent reads, and proposals per variable in each.
        seed
            Same seed, same samples, on any number of threads.
        time_limit
            Seconds; reads that have not begun by then are left out.
        initial_state
            A value for every variable, in the model's own vartype, to start all reads from.
        **options
            ``method``, ``replicas``, ``hot``, ``cold``, ``threads`` as for ``solver="annealer"``.
        """
        given = Annealer().read_options(
            {"num_reads": num_reads, "num_sweeps": num_sweeps, **_known(options), "moves": "single"}
        )
        check_count(seed, "seed", 0)
        seconds = None if time_limit is None else check_seconds(time_limit)
        labels = list(bqm.variables)
        if not labels:
            return dimod.SampleSet.from_samples_bqm([], bqm)
        model, factor = _model(bqm.change_vartype(dimod.BINARY, inplace=False), labels)
        effort = Effort(
            num_reads,
            num_sweeps,
            thread_count(given.threads),
            None if given.hot is None else given.hot * factor,
            None if given.cold is None else given.cold * factor,
            replicas=given.replicas if given.method == "temper" else 0,
        )
        start = None if initial_state is None else _bits(bqm, labels, initial_state)
        prepare_flips(
            Kind(type(model), model.linear.dtype.type), tempering=given.method == "temper"
        )
        session = Session(1, seed=seed, seconds=seconds)
        rows = flip_spins(model, effort, session, start).rows
        if bqm.vartype is dimod.SPIN:
            rows = 2 * rows - 1
        return dimod.SampleSet.from_samples_bqm((rows.astype(np.int8), labels), bqm)


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Refuse what has no meaning here, by name."""
    names = ("method", "replicas", "hot", "cold", "threads")
    for name in options:
        check_choice(name, names, "AnnealingSampler.sample")
    return options


def _bits(bqm: dimod.BinaryQuadraticModel, labels: list[Any], state: dict[Any, int]) -> IntArray:
    allowed = (-1, 1) if bqm.vartype is dimod.SPIN else (0, 1)
    wrong = [label for label in labels if state.get(label) not in allowed]
    if wrong:
        raise OptionError(
            "the initial state does not fit the model",
            where=f"initial_state[{wrong[0]!r}]",
            rule=f"{allowed[0]} or {allowed[1]} for every variable",
            received=repr(state.get(wrong[0], "nothing")),
            remedy="give every variable a value of the model's vartype",
        )
    values = np.array([state[label] for label in labels], dtype=np.int64)
    return (values + 1) // 2 if bqm.vartype is dimod.SPIN else values


def _model(bqm: dimod.BinaryQuadraticModel, labels: list[Any]) -> tuple[Dense | Sparse, float]:
    """Turn a binary model into integers, and what its energies were multiplied with."""
    vectors = bqm.to_numpy_vectors(variable_order=labels)
    factor = _factor(np.concatenate([vectors.linear_biases, vectors.quadratic.biases]))

    def whole(values: Any) -> IntArray:
        return np.rint(values * factor).astype(np.int64)

    return pair_model(
        whole(vectors.linear_biases),
        vectors.quadratic.row_indices.astype(np.int64),
        vectors.quadratic.col_indices.astype(np.int64),
        whole(vectors.quadratic.biases),
        0,
    ), factor


def _factor(biases: Any) -> float:
    """The least power of two that makes all biases whole, or the largest that keeps them small."""
    largest = float(np.abs(biases).max(initial=0.0)) or 1.0
    # Energies must fit as well; half of what is allowed leaves room for rounding.
    most = min(_LARGEST / largest, LARGEST_TOTAL / 2 / (float(np.abs(biases).sum()) or 1.0))
    for bits in range(_MOST_BITS):
        scaled = biases * 2.0**bits
        if 2.0**bits > most:
            break
        if (scaled == np.rint(scaled)).all():
            return 2.0**bits
    return most

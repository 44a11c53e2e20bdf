"""Time to solution of the annealer and its peers, side by side, on networks and on neutral problems.

TTS(99 %) = t ln(0.01) / ln(1 - p): t is the wall clock of one read (all reads over their number, on as many
cores as the solver uses), p the share of reads that reach the optimum. On compiled problems a read counts if
its repaired network has the least loss; on neutral ones if it has the least energy known. Every solver is
run on the same small grid of sweeps (or what comes closest to sweeps), its best point counts.

    python benchmarks/tts.py                   # about a quarter of an hour with all peers installed
    python benchmarks/tts.py --quick --json
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dimod
import numpy as np

import isinglearn as il
from isinglearn.metrics import Proportion, time_to_solution
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.problem.polynomial import Polynomial
from isinglearn.solvers.annealer import METHODS
from isinglearn.solvers.base import SOLVERS
from isinglearn.solvers.session import Session

# Options by solver: the same effort, as far as one can say, from a few sweeps to many.
SWEEPS = (30, 100, 300, 1000, 3000)
GRID: dict[str, list[dict[str, Any]]] = {
    "annealer": [
        {"num_sweeps": sweeps, "method": method} for method in METHODS for sweeps in SWEEPS
    ],
    "annealer, single flips": [{"num_sweeps": sweeps, "moves": "single"} for sweeps in SWEEPS],
    "annealer, tempering": [
        {"num_sweeps": sweeps, "moves": "single", "method": "temper"} for sweeps in SWEEPS
    ],
    "annealer, HUBO": [{"num_sweeps": sweeps, "moves": "single"} for sweeps in SWEEPS],
    "dwave-sa": [{"num_sweeps": sweeps} for sweeps in SWEEPS],
    "openjij": [{"num_sweeps": sweeps} for sweeps in SWEEPS],
    "tabu": [{"num_restarts": restarts} for restarts in (0, 3, 10, 30, 100)],
    "simulated-bifurcation": [{"max_steps": steps} for steps in (100, 300, 1000, 3000)],
}
PEERS = ("dwave-sa", "openjij", "tabu", "simulated-bifurcation")


@dataclass(eq=False)
class Plain:
    """A QUBO from elsewhere: what a solver asks of a form, and nothing that a compiler would know."""

    polynomial: Polynomial
    num_variables: int
    source: None = None

    @property
    def variables(self) -> list[str]:
        """Names, in order."""
        return [str(i) for i in range(self.num_variables)]

    def energy(self, bits: Any) -> Any:
        """Energies of assignments."""
        return self.polynomial.evaluate(bits)

    def to_bqm(self) -> dimod.BinaryQuadraticModel:
        """As a dimod model."""
        terms = self.polynomial.as_rows()
        bqm = dimod.BinaryQuadraticModel("BINARY")
        bqm.add_variables_from(dict.fromkeys(self.variables, 0))
        for term, value in zip(terms.padded(2).tolist(), terms.coefficients.tolist(), strict=True):
            members = [str(i) for i in term if i >= 0]
            if len(members) == 2:
                bqm.add_quadratic(*members, value)
            elif members:
                bqm.add_linear(members[0], value)
            else:
                bqm.offset += value
        return bqm

    def to_ising(self) -> tuple[Any, Any, float]:
        """Fields, couplings (upper triangle) and offset for spins."""
        import scipy.sparse

        h, J, offset = self.to_bqm().to_ising()
        fields = np.array([h[name] for name in self.variables])
        rows, columns = (
            np.array([int(pair[side]) for pair in J], dtype=np.int64) for side in (0, 1)
        )
        low, high = np.minimum(rows, columns), np.maximum(rows, columns)
        size = self.num_variables
        values = np.array(list(J.values()), dtype=np.float64)
        return fields, scipy.sparse.csr_array((values, (low, high)), shape=(size, size)), offset


@dataclass(eq=False)
class Case:
    """A problem: ``values(form, bits)`` is what counts of each read, ``least`` the best there is if known."""

    name: str
    kind: str
    form: Any
    hubo: Any
    values: Callable[[Any, Any], Any]
    least: int | None


def compiled_cases(quick: bool) -> Iterator[Case]:
    """Tasks I to III, MNIST and two moons, in both formulations."""
    moons = (10,) if quick else (10, 20, 50)
    for instance in [*TASKS, MNIST, *map(two_moons, moons)]:
        for formulation in ("compact", "paper"):
            problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
            exact = "patterns" if instance.name == "moons" else "brute"
            run = il.solve(problem, exact)
            assert run.status is run.status.OPTIMAL
            name = f"{instance.name}{len(instance.y) if exact == 'patterns' else ''} {formulation}"
            least = int(run.best.loss * problem.qcbo.scale)
            yield Case(name, formulation, problem.qubo, problem.hubo, _losses(problem), least)


def _losses(problem: il.Problem) -> Callable[[Any, Any], Any]:
    from isinglearn.decode import decode_vectors

    return lambda form, bits: problem.scores(decode_vectors(problem, form, bits))


def ising_case(name: str, size: int, couplings: Any, planted: int | None = None) -> Case:
    """Turn couplings (first, second, values) between spins into a case over bits."""
    first, second, values = couplings
    # Spins 2 x - 1: J s t = 4 J x y - 2 J x - 2 J y + J.
    linear = np.zeros(size, dtype=np.int64)
    np.add.at(linear, first, -2 * values)
    np.add.at(linear, second, -2 * values)
    none = np.full(size, -1)
    terms = np.concatenate(
        [np.stack([none, np.arange(size)], 1), np.stack([first, second], 1), [[-1, -1]]]
    )
    factors = np.concatenate([linear, 4 * values, [values.sum()]])
    form = Plain(Polynomial.of(terms, factors), size)
    return Case(name, "neutral", form, None, lambda form, bits: form.energy(bits), planted)


def neutral_cases(quick: bool) -> Iterator[Case]:
    """SK with couplings of one size, max-cut on cubic graphs, planted Wishart problems."""
    rng = np.random.default_rng(2026)
    for size in (64, 256) if quick else (64, 256, 1024):
        first, second = np.triu_indices(size, 1)
        yield ising_case(f"SK {size}", size, (first, second, rng.choice([-1, 1], len(first))))
    import networkx

    graph = networkx.random_regular_graph(3, 1000, seed=2026)
    first, second = np.array(graph.edges).T
    yield ising_case("max-cut 3-regular 1000", 1000, (first, second, np.ones(len(first), int)))
    for size in (32, 64):
        planted, couplings = _wishart(size, 0.75, rng)
        yield ising_case(f"Wishart {size}", size, couplings, planted)


def _wishart(size: int, ratio: float, rng: np.random.Generator) -> tuple[int, Any]:
    """Wishart planted ensemble: patterns orthogonal to a planted state, which is then a ground state."""
    planted = rng.choice([-1, 1], size)
    columns = max(1, round(ratio * size))
    # Whole numbers that stay orthogonal to the planted state: differences of two planted entries.
    patterns = np.zeros((columns, size), dtype=np.int64)
    for row in patterns:
        order = rng.permutation(size)
        steps = rng.integers(-3, 4, size - 1)
        walk = np.diff(np.concatenate([[0], steps, [0]]))
        row[order] = walk * planted[order]
    assert not (patterns @ planted).any()
    matrix = patterns.T @ patterns
    first, second = np.triu_indices(size, 1)
    values = matrix[first, second]
    # The energy is |patterns s|^2 / 2 up to a constant, so that the planted state has the least there is.
    energy = int((values * planted[first] * planted[second]).sum())
    return energy, (first, second, values)


@dataclass(eq=False)
class Point:
    """One point of a solver's grid, run: how long, how many reads, and what they were worth."""

    options: dict[str, Any]
    seconds: float
    reads: int
    values: Any

    def figures(self, least: int) -> dict[str, Any]:
        """Probability and time to solution, given the best there is."""
        # A read that found nothing (a walk that never came within ranges) has no row, and failed.
        success = Proportion(int(np.sum(self.values <= least)), self.reads)
        each = self.seconds / self.reads
        tts, best_case, worst_case = (
            time_to_solution(each, p)
            for p in (float(success.estimate), *reversed(success.interval))
        )
        return {
            "options": self.options,
            "reads": self.reads,
            "probability": float(success.estimate),
            "seconds_per_read": each,
            "tts": tts,
            "tts_low": best_case,
            "tts_high": worst_case,
        }


def measure(case: Case, labels: list[str], seconds: float) -> list[dict[str, Any]]:
    """The best point of each of these solvers' grids on a case, if it is installed."""
    points = {label: list(_points(case, label, seconds)) for label in labels}
    least = case.least
    if least is None:
        # The best known is the best that anybody here has found.
        least = min(int(p.values.min()) for ps in points.values() for p in ps if len(p.values))
    rows = []
    for label, own in points.items():
        figures = [point.figures(least) for point in own]
        if figures:
            best = min(figures, key=lambda figure: figure["tts"])
            rows.append({"case": case.name, "kind": case.kind, "solver": label, **best})
    return rows


def _points(case: Case, label: str, seconds: float) -> Iterator[Point]:
    name = label.split(",", maxsplit=1)[0]
    form = case.hubo if label.endswith("HUBO") else case.form
    if form is None or name not in SOLVERS or not SOLVERS[name].available():
        return
    solver = SOLVERS[name]()
    count = "agents" if name == "simulated-bifurcation" else "num_reads"
    # What is compiled or loaded once does not count.
    _timed(solver, form, GRID[label][0] | {count: 2})
    for options in GRID[label]:
        took, rows = _timed(solver, form, options | {count: 2})
        reads = 2
        if took > 10 * seconds:
            # The longer ones of the grid would take minutes.
            yield Point(options, took, reads, case.values(form, rows) if len(rows) else rows)
            return
        while took < seconds / 4 and reads < 100_000:
            reads = math.ceil(reads * min(20.0, max(2.0, seconds / 2 / max(took, 1e-4))))
            took, rows = _timed(solver, form, options | {count: reads})
        yield Point(options, took, reads, case.values(form, rows) if len(rows) else rows)


def _timed(solver: Any, form: Any, options: dict[str, Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    rows = solver.solve(form, solver.read_options(options), Session(1, seed=1)).rows
    return time.perf_counter() - start, rows


def proposals() -> Iterator[dict[str, Any]]:
    """Proposals per second and core, the same schedule for ours and D-Wave's annealing."""
    import networkx
    from dwave.samplers import SimulatedAnnealingSampler

    rng = np.random.default_rng(1)
    models = {}
    for size in (64, 256):
        first, second = np.triu_indices(size, 1)
        models[f"SK {size}"] = (first, second, rng.choice([-1, 1], len(first)), size)
    edges = np.array(networkx.random_regular_graph(3, 1000, seed=1).edges).T
    models["max-cut 3-regular 1000"] = (*edges, np.ones(edges.shape[1], int), 1000)
    for name, (first, second, values, size) in models.items():
        pairs = {(int(u), int(v)): int(c) for u, v, c in zip(first, second, values, strict=True)}
        bqm = dimod.BinaryQuadraticModel({}, pairs, 0, "SPIN")
        peer = SimulatedAnnealingSampler()
        # Its own schedule, which it derives from the problem, for both.
        betas = peer.sample(bqm, num_reads=1, num_sweeps=2, seed=1).info["beta_range"]
        hot, cold = (1.0 / float(beta) for beta in betas)
        sweeps, rates = 1000, {}
        for label, sampler, given in (
            ("ours", il.AnnealingSampler(), {"hot": hot, "cold": cold, "threads": 1}),
            ("dwave-sa", peer, {"beta_range": betas}),
        ):
            sampler.sample(bqm, num_reads=1, num_sweeps=2, seed=1, **given)
            reads = max(4, 60_000 // size)
            times = []
            for seed in range(3):
                start = time.perf_counter()
                sampler.sample(bqm, num_reads=reads, num_sweeps=sweeps, seed=seed, **given)
                times.append(time.perf_counter() - start)
            rates[label] = reads * sweeps * size / min(times)
        yield {"case": name, **rates, "ratio": rates["ours"] / rates["dwave-sa"]}


def main() -> None:
    """Measure everything and print tables, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="fewer problems and less time for each"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="for each point of a grid")
    parser.add_argument("--solvers", nargs="+", default=list(GRID), help="rows of the table")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    seconds = 0.2 if given.quick else given.seconds
    result: dict[str, Any] = {
        "machine": platform.machine(),
        "proposals": [],
        "tts": [],
        "ratios": {},
    }
    say = (lambda text: None) if given.json else (lambda text: print(text, flush=True))
    for row in proposals() if not given.only else ():
        result["proposals"].append(row)
        ours, peer = row["ours"] / 1e6, row["dwave-sa"] / 1e6
        say(
            f"{row['case']:<26}ours {ours:6.1f} M/s, dwave-sa {peer:6.1f} M/s, ratio {row['ratio']:.1f}"
        )
    for case in (*compiled_cases(given.quick), *neutral_cases(given.quick)):
        if given.only not in case.name:
            continue
        rows = measure(case, given.solvers, seconds)
        result["tts"] += rows
        for row in rows:
            say(
                f"{case.name:<26}{row['solver']:<26}{_seconds(row['tts'])}  p {row['probability']:.3f} of "
                f"{row['reads']} reads, {1e3 * row['seconds_per_read']:.3f} ms each, {row['options']}"
            )
        say(f"{case.name:<26}{'best peer over ours':<26}{_ratio(rows):8.1f}")
        result["ratios"][case.name] = _ratio(rows)
    if given.json:
        print(json.dumps(result))


def _ratio(rows: list[dict[str, Any]]) -> float:
    """TTS of the best peer over that of our default; above 1 ours is faster."""
    peers = [row["tts"] for row in rows if row["solver"] in PEERS]
    ours = [row["tts"] for row in rows if row["solver"] == "annealer"]
    if not peers or not ours or math.isinf(ours[0]):
        return math.nan if not (peers and ours) else 0.0
    return min(peers) / ours[0]


def _seconds(value: float) -> str:
    return f"{'never':>12}" if math.isinf(value) else f"{1e3 * value:9.3f} ms"


if __name__ == "__main__":
    main()

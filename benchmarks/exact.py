"""How proofs grow: two moons with N samples and H hidden units, each exact solver, a time limit each.

Time to the optimum is when the best loss first appeared, counted from the solver's start: 0.0 means that
the network which the compiler found for its penalty weights (coordinate descent) was it already. Time to
the proof is when the solver had shown that there is no better one; "no" where the limit came first.

    python benchmarks/exact.py                           # about half an hour
    python benchmarks/exact.py --samples 20 50 --hidden 2 3 --solvers cpsat patterns
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import ProblemRefused
from isinglearn.paper.instances import two_moons
from isinglearn.solvers.base import SOLVERS


def measure(solver: str, samples: int, hidden: int, limit: float) -> dict[str, Any]:
    """Turn one cell of the table into its figures."""
    data = two_moons(samples)
    problem = il.compile(nn.paper_network(2, hidden, 2, 1, 4), data.X, data.y)
    events: list[il.Event] = []
    cell: dict[str, Any] = {"solver": solver, "N": samples, "H": hidden}
    try:
        run = il.solve(problem, solver, time_limit=limit, on_event=events.append)
    except ProblemRefused as refusal:
        return cell | {"status": "REFUSED", "note": str(refusal)}
    cell |= {"status": run.status.value, "seconds": run.seconds}
    if run.status is run.status.NONE_FOUND:
        return cell
    first = next((e.seconds for e in events if e.loss == run.best.loss), run.seconds)
    return cell | {
        "loss": float(run.best.loss),
        "bound": None if run.bound is None else float(run.bound),
        "seconds_to_best": first,
        "seconds_to_proof": run.seconds if run.status is run.status.OPTIMAL else None,
    }


def line(cell: dict[str, Any]) -> str:
    """One row of the table."""
    head = f"{cell['solver']:<10}{cell['N']:>5}{cell['H']:>4}  {cell['status']:<12}"
    if "loss" not in cell:
        return head + cell.get("note", "")[:60]
    proof = cell["seconds_to_proof"]
    return (
        f"{head}{cell['loss']:>8.4f}{cell['bound']:>9.4f}{cell['seconds_to_best']:>10.1f}"
        f"{'no' if proof is None else f'{proof:.1f}':>10}"
    )


def main() -> None:
    """Measure every cell and print it as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, nargs="+", default=[20, 50, 100, 200])
    parser.add_argument("--hidden", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--solvers", nargs="+", default=["patterns", "cpsat", "scip"])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each proof")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not given.json:
        print(f"{'solver':<10}{'N':>5}{'H':>4}  {'status':<12}{'loss':>8}{'bound':>9}", end="")
        print(f"{'s to best':>10}{'s to proof':>11}")
    cells = []
    for solver in given.solvers:
        if solver in SOLVERS and not SOLVERS[solver].available():
            print(f"{solver}: not installed; {SOLVERS[solver].install}")
            continue
        for hidden in given.hidden:
            for samples in given.samples:
                cells.append(measure(solver, samples, hidden, given.limit))
                if not given.json:
                    print(line(cells[-1]), flush=True)
    if given.json:
        print(json.dumps({"exact": cells}))


if __name__ == "__main__":
    main()

"""How good is a trained network? Proved optimal, and a report to pass on.

The fifty points of the paper's two moons on three hidden units: the annealer finds a network, an exact solver
proves that there is none better, and a page in report.html shows all of it.

    python examples/proof_and_report.py
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import make_moons

import isinglearn as il
from isinglearn import nn


def main() -> None:
    """Find, prove, report."""
    points, classes = make_moons(50, noise=0.05, random_state=0)
    X, y = il.quantise(points, 4), 2 * classes - 1
    network = nn.Sequential(nn.Linear(2, 3), nn.Sign(), nn.Linear(3, 1))
    problem = il.compile(network, X, y)
    found = il.solve(problem, "annealer", num_reads=200, seed=0)
    proof = il.solve(problem, "patterns")
    print(f"annealer   loss {found.best.loss}, {found.seconds:.1f} s, {found.status.value}")
    print(f"proof      loss {proof.best.loss}, bound {proof.bound}, {proof.status.value}")
    found.report("report.html", title="Two moons")
    print(f"report     report.html, {Path('report.html').stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()

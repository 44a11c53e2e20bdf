"""What a machine must resolve, what roof duality decides, what tree decomposition predicts, as tables.

For example ``python benchmarks/fitting.py --bits 8 --tasks I MNIST``.
"""

from __future__ import annotations

import argparse

import isinglearn as il
from isinglearn.metrics import rounding_effect
from isinglearn.paper.instances import MNIST, TASKS
from isinglearn.solvers.elimination import plan


def main() -> None:
    """Print one line for every task and formulation."""
    instances = {instance.name: instance for instance in (*TASKS, MNIST)}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=list(instances), choices=instances)
    parser.add_argument("--bits", type=int, nargs="*", default=[], help="resolutions to judge")
    given = parser.parse_args()
    for name in given.tasks:
        instance = instances[name]
        for formulation in ("compact", "paper"):
            problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
            planned = plan(problem.qubo)
            # The first run compiles or loads the kernels.
            _, run = (il.solve(problem, "treewidth", start=None) for _ in range(2))
            left = problem.fixed()[0].num_variables
            print(
                f"{name:<6}{formulation:<9}{problem.qubo.num_variables:>4} spins, width "
                f"{planned.width:>2}: predicted {planned.seconds:.3f} s, {run.status.value} in "
                f"{run.seconds:.3f} s; roof duality leaves {left}",
                flush=True,
            )
            for bits in given.bits:
                kept = rounding_effect(problem, bits).optimum_kept
                print(f"  {bits:>2} bits: optimum kept {kept}", flush=True)


if __name__ == "__main__":
    main()

"""The exact minimum of a QUBO: tree decomposition, bits fixed first where the width is too large."""

from collections import Counter

import dimod
from dwave.samplers import TreeDecompositionSolver

WIDTH_LIMIT = 22


def wide_bags(bqm: dimod.BinaryQuadraticModel) -> Counter[str]:
    """How often each bit sits in a bag beyond the limit, along a min-degree elimination order."""
    neighbours = {v: set(bqm.adj[v]) for v in bqm.variables}
    often: Counter[str] = Counter()
    while neighbours:
        v = min(neighbours, key=lambda u: (len(neighbours[u]), str(u)))
        around = neighbours.pop(v)
        if len(around) > WIDTH_LIMIT:
            often.update(around | {v})
        for u in around:
            neighbours[u] |= around - {u}
            neighbours[u].discard(v)
    return often


def cutset(bqm: dimod.BinaryQuadraticModel) -> list[str]:
    """Bits to fix so that the rest is narrow enough."""
    cut: list[str] = []
    rest = bqm.copy()
    while often := wide_bags(rest):
        v = max(often, key=lambda u: (often[u], rest.degree(u), str(u)))
        cut.append(v)
        rest.fix_variable(v, 0)
    return cut


def minimum(bqm: dimod.BinaryQuadraticModel) -> int:
    """Least energy over all bits, by exact methods only."""
    cut = cutset(bqm)
    energies = []
    for setting in range(2 ** len(cut)):
        part = bqm.copy()
        for place, v in enumerate(cut):
            part.fix_variable(v, setting >> place & 1)
        energies.append(TreeDecompositionSolver().sample(part).first.energy)
    return round(min(energies))

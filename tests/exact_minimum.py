"""The exact minimum of a QUBO by dwave's tree decomposition: an oracle that shares no code with ours."""

import dimod
from dwave.samplers import TreeDecompositionSolver


def minimum(bqm: dimod.BinaryQuadraticModel) -> int:
    """Least energy over all bits; where the tree is too wide for it, over both values of one bit."""
    try:
        return round(TreeDecompositionSolver().sample(bqm).first.energy)
    except ValueError:
        widest = max(bqm.variables, key=bqm.degree)
    halves = [bqm.copy(), bqm.copy()]
    for value, half in enumerate(halves):
        half.fix_variable(widest, value)
    return min(map(minimum, halves))


def width(bqm: dimod.BinaryQuadraticModel) -> int:
    """Largest number of neighbours when bits of fewest neighbours go first: what the oracle has to hold."""
    near = {v: set(bqm.adj[v]) for v in bqm.variables}
    widest = 0
    while near:
        bit = min(near, key=lambda v: len(near[v]))
        own = near.pop(bit)
        widest = max(widest, len(own))
        for other in own:
            near[other] |= own
            near[other] -= {bit, other}
    return widest

"""What the terms of a report mean, in a few words each."""

from __future__ import annotations

# How a prediction is compared with its label.
RULES = {
    "names": "A sample is right if its class is the predicted one.",
    "sign": "A sample is right if the output has the sign of its label; 0 counts as +1.",
    "largest": "A sample is right if the output of its class is the largest.",
    "signs": "A sample is right if all outputs have the signs of its labels; 0 counts as +1.",
    "numbers": "Labels are numbers; R2 is 1 for a perfect prediction and 0 for their mean.",
}

# What a spin stands for.
ROLES = {
    "weight": "bits of the weights",
    "bias": "bits of the biases",
    "sum": "a unit's weighted sum, for every sample",
    "activation": "a unit's output, for every sample",
    "output": "the prediction, for every sample",
    "sign": "the sign of a sum",
    "magnitude": "how far a sum is from 0",
    "negative": "the part of a sum below 0",
    "slack": "the room that an inequality leaves",
    "choice": "which of several possibilities holds",
    "threshold": "which of its thresholds a unit's bias reaches",
    "pooling": "a value taken from a window",
    "quotient": "a rounded quotient",
    "normal": "a normalised value",
    "deviation": "how far values are spread",
    "loss": "what a sample adds to the loss",
    "product": "two spins multiplied, so that no more than two are ever coupled",
}

# What a status claims.
STATUS = {
    "OPTIMAL": "optimal: it is proved that no network of this shape has less loss",
    "FEASIBLE": "found: a network, without a proof by this solver that it is the best",
    "NONE_FOUND": "none found: the solver ended without a network",
    "INFEASIBLE": "infeasible: it is proved that no network fits the form",
}

ISING = (
    "An Ising machine minimises the energy of spins, variables of two values, each coupled to some others "
    "(a QUBO). Here the spins hold the network's parameters and what follows from them for every sample, and "
    "the lowest energy is the least loss."
)
PARTS = (
    "An Ising machine minimises the energy of spins, variables of two values, each coupled to some others "
    "(a QUBO). Here the training was cut into many such problems, each over a few of the parameters."
)
PENALTIES = (
    "That spins obey the network, that an activation is the sign of its sum for example, is a matter of "
    "penalties: breaking a rule costs energy, by its weight."
)
READS = "A read is one answer of the solver; each is decoded into a network with its true loss."
CALLS = "X and y are the data, quantised; their fingerprint above tells whether they are the same."
HURRIED = "A run that its time limit ended need not end at the same network again."

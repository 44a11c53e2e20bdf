"""The forms of a problem: variables, exact polynomials, QCBO, HUBO and QUBO. Knows nothing of networks."""

"""Forms to other formats: dimod models, sparse matrices, Ising arrays; LP, QUBO and npz files.

Integers stay exact: what a 64-bit float cannot hold is refused, never rounded. The same form always
gives the same bytes, and a file takes its place only once it is complete.

``unconstrained`` holds what a QUBO or HUBO becomes, ``constrained`` what a QCBO becomes; ``checks`` and
``files`` are shared by both.
"""

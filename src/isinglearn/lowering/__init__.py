"""The compiler: network and data to QCBO, QCBO to HUBO, HUBO to QUBO. ``pipeline`` shows all passes."""

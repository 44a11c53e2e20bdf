"""Fixstars Amplify on the QUBO, with the SDK and the token that the user brings.

The SDK is no dependency: what is used of it is its documented interface (version 1), a coefficient matrix
``x Q x + p x + c``, a client and ``amplify.solve``. A client shows its token when it is printed, so it never
is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from isinglearn.errors import SolverError
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import FLOAT_LIMIT, check_exact
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.machines.rounds import no_rows
from isinglearn.solvers.session import Session, check_seconds

TOKEN = "AMPLIFY_TOKEN"


class Amplify(Solver):
    """Sends the QUBO to Fixstars Amplify's annealing engine, or to another client of its SDK.

    Parameters
    ----------
    client
        A client of the SDK with its token set. By default the annealing engine's, with the token that
        the environment variable ``AMPLIFY_TOKEN`` holds.
    """

    name = "amplify"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    # The engine keeps coefficients as 32-bit floats, whole numbers up to 24 bits.
    traits: ClassVar[Traits] = Traits(
        seeded=False, interruptible=False, remote=True, coefficient_bits=24
    )
    requires: ClassVar[tuple[str, ...]] = ("amplify",)
    install: ClassVar[str] = "pip install amplify, under a plan of Fixstars that allows your use"

    @dataclass(frozen=True)
    class Options:
        """How long the machine works, in seconds; a time limit that ends sooner cuts it."""

        seconds: float = 1.0

        def __post_init__(self) -> None:
            check_seconds(self.seconds, "seconds")

    def __init__(self, client: Any = None) -> None:
        self.client = client

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Submit once, unless stopped before, and return all that the machine found."""
        if session.stopped:
            return Answer(no_rows(form), note="stopped before anything was submitted")
        import amplify

        client = _annealing_engine(amplify) if self.client is None else self.client
        _limit(client, min(options.seconds, session.left))
        matrix = _matrix(amplify, form)
        try:
            result = amplify.solve(matrix, client)
        except Exception as error:
            # From None: nothing that the client said may carry the token into a log.
            raise _failure(error, client) from None
        rows = _rows(form, matrix, result)
        if len(rows):
            session.tell(energy=int(form.energy(rows).min()))
        return Answer(rows)


def _annealing_engine(amplify: Any) -> Any:
    """Turn the token of the environment into a client of the annealing engine."""
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise SolverError(
            "there is no token for Fixstars Amplify",
            where="solver='amplify'",
            rule=f"a token in the environment variable {TOKEN}",
            received="none",
            remedy=f"set {TOKEN} to your token, or pass Amplify(client) with a client that has one",
        )
    # Older versions of the SDK know the engine by another client.
    modern = getattr(amplify, "AmplifyAEClient", None)
    client = amplify.FixstarsClient() if modern is None else modern()
    client.token = token
    if modern is None:
        # 0 for all solutions instead of the best one.
        client.parameters.outputs.num_outputs = 0
    return client


def _limit(client: Any, seconds: float) -> None:
    """Set the run time under the name that this client has for it; others keep their own."""
    for name in ("time_limit_ms", "timeout"):
        if hasattr(client.parameters, name):
            milliseconds = max(1, int(1000 * seconds))
            setattr(client.parameters, name, timedelta(milliseconds=milliseconds))
            return


def _matrix(amplify: Any, qubo: QUBO) -> Any:
    """Turn a QUBO into the SDK's ``x Q x + p x + c``, its variables in the same order."""
    entries = qubo.to_matrix()
    for values in (entries.data, [qubo.offset]):
        check_exact(values, FLOAT_LIMIT, "solver='amplify'")
    dense = entries.toarray().astype(np.float64)
    linear = dense.diagonal().copy()
    np.fill_diagonal(dense, 0.0)
    matrix = amplify.VariableGenerator().matrix("Binary", qubo.num_variables)
    matrix.quadratic, matrix.linear, matrix.constant = dense, linear, float(qubo.offset)
    return matrix


def _rows(qubo: QUBO, matrix: Any, result: Any) -> IntArray:
    """Turn the SDK's solutions into bits; a variable that is in no term has no value there, so 0."""
    variables = matrix.variable_array
    found = [variables.evaluate(solution.values, 0.0) for solution in result.solutions]
    if not found:
        return no_rows(qubo)
    return np.rint(np.array(found)).astype(np.int64)


def _failure(error: Exception, client: Any) -> SolverError:
    """Turn an error of the SDK into one of ours, without the token if it should quote it."""
    said, token = str(error), getattr(client, "token", None)
    return SolverError(
        "Fixstars Amplify did not solve this problem",
        where="solver='amplify'",
        rule="a valid token, and a problem within the limits of its plan",
        received=f"{type(error).__name__}: {said.replace(token, '...') if token else said}",
        remedy="check the token, the connection and the limits of your plan",
    )

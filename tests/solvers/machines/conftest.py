"""Stand-ins for the services that cannot be called in a test."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from itertools import product
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest


class StandInArray:
    """Variables of the SDK, here their numbers."""

    def __init__(self, size: int) -> None:
        self.size = size

    def evaluate(self, values: dict[int, float], default: float) -> np.ndarray:
        return np.array([values.get(i, default) for i in range(self.size)])


class StandInMatrix:
    """``x Q x + p x + c`` of the SDK."""

    def __init__(self, size: int) -> None:
        self.quadratic, self.linear = np.zeros((size, size)), np.zeros(size)
        self.constant = 0.0
        self.variable_array = StandInArray(size)

    def energies(self, rows: np.ndarray) -> np.ndarray:
        return ((rows @ self.quadratic) * rows).sum(1) + rows @ self.linear + self.constant


class StandInClient:
    """A client of the SDK: like the real one it shows its token when it is printed."""

    def __init__(self, **parameters: object) -> None:
        self.token = ""
        self.parameters = SimpleNamespace(**parameters)

    def __repr__(self) -> str:
        return f"client with token {self.token}"


class AmplifyStandIn(ModuleType):
    """The SDK as far as it is documented and used; it keeps what is submitted and solves it itself."""

    def __init__(self) -> None:
        super().__init__("amplify")
        # Without it the module would not count as installed.
        self.__spec__ = ModuleSpec("amplify", None)
        self.submitted: list[tuple[StandInMatrix, StandInClient]] = []
        self.error: Exception | None = None
        self.AmplifyAEClient = lambda: StandInClient(time_limit_ms=None)
        self.FixstarsClient = lambda: StandInClient(
            timeout=None, outputs=SimpleNamespace(num_outputs=1)
        )

    def VariableGenerator(self) -> SimpleNamespace:  # noqa: N802 - the SDK's name
        def matrix(kind: str, size: int) -> StandInMatrix:
            assert kind == "Binary"
            return StandInMatrix(size)

        return SimpleNamespace(matrix=matrix)

    def solve(self, matrix: StandInMatrix, client: StandInClient) -> SimpleNamespace:
        self.submitted.append((matrix, client))
        if self.error is not None:
            raise self.error
        size = len(matrix.linear)
        rows = np.array(list(product((0, 1), repeat=size)))
        best = rows[np.argsort(matrix.energies(rows), kind="stable")[:3]]
        used = matrix.quadratic.any(0) | matrix.quadratic.any(1) | (matrix.linear != 0)
        # As the SDK does, values are given for variables in a term only, as floats.
        return SimpleNamespace(
            solutions=[
                SimpleNamespace(values={i: float(row[i]) for i in np.flatnonzero(used)})
                for row in best
            ]
        )


@pytest.fixture
def amplify(monkeypatch: pytest.MonkeyPatch) -> AmplifyStandIn:
    """The stand-in in the place of the SDK, and a token for it."""
    module = AmplifyStandIn()
    monkeypatch.setitem(sys.modules, "amplify", module)
    monkeypatch.setenv("AMPLIFY_TOKEN", "secret-token")
    return module

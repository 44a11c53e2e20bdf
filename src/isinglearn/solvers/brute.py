"""Brute force over the parameters: exact, simple, the oracle of the tests.

Layer by layer: all settings of one layer's parameters on all distinct activations so far. Settings that
behave alike on the data are merged, which changes nothing in the result and makes 27 bits cheap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isinglearn.errors import SolverError, check_count
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Module, ParameterSpec
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Result, Solver, Status

# Values held at once while one layer is enumerated, about 256 MB of int64.
_CHUNK = 1 << 25
# Settings of one layer that are listed at all: a table of 2^24 rows is a few GB.
MOST_SETTINGS = 1 << 24


class Brute(Solver):
    """Enumerates every setting of the parameters; OPTIMAL with all optimal networks."""

    name: ClassVar[str] = "brute"
    exact: ClassVar[bool] = True

    @dataclass(frozen=True)
    class Options:
        """Limits.

        Attributes
        ----------
        max_values
            Refuse if more than this many unit values would have to be computed.
        max_networks
            How many optimal networks to list at most.
        """

        max_values: int = 1 << 34
        max_networks: int = 10_000

        def __post_init__(self) -> None:
            check_count(self.max_values, "max_values", 1, 2**62)
            check_count(self.max_networks, "max_networks")

    def solve(self, problem: Problem, options: Options, seed: int = 0) -> Result:
        """Turn a problem into all its optimal networks (up to ``max_networks``)."""
        inputs = problem.data.X[None]
        merges: list[tuple[IntArray, int]] = []
        stages = _stages(problem)
        scale = 1
        for number, modules in enumerate(stages):
            specs = [spec for _, spec, _ in modules if spec is not None]
            _check_size(specs, inputs, options)
            settings = _settings(specs)
            if number == len(stages) - 1:
                states, chosen = _best(problem, modules, inputs, settings, scale)
                break
            inputs, owner = _distinct_outputs(modules, inputs, settings, scale)
            merges.append((owner, len(settings)))
            for _, _, module in _each_module(modules):
                scale = module.scale(scale)
        vectors = _trace_back(problem, stages, merges, states, chosen, options.max_networks)
        if not len(vectors):
            return Result(Status.INFEASIBLE, vectors)
        return Result(Status.OPTIMAL, vectors)


_Stage = list[tuple[str, ParameterSpec | None, Module]]


def _stages(problem: Problem) -> list[_Stage]:
    """Turn the network into stages: a module with parameters and those after it that have none."""
    stages: list[_Stage] = []
    for origin, module in problem.network:
        own: _Stage = [(f"{origin}.{spec.name}", spec, module) for spec in module.parameters]
        if own or not stages:
            stages.append(own or [("", None, module)])
        else:
            stages[-1].append(("", None, module))
    return stages


def _each_module(stage: _Stage) -> list[tuple[str, ParameterSpec | None, Module]]:
    """Each module of a stage once."""
    seen: list[tuple[str, ParameterSpec | None, Module]] = []
    for entry in stage:
        if not seen or seen[-1][2] is not entry[2]:
            seen.append(entry)
    return seen


def _settings(specs: list[ParameterSpec]) -> IntArray:
    """All settings of the free entries, shape (settings, free)."""
    values = [spec.domain.values for spec in specs for _ in range(int(spec.free.sum()))]
    if not values:
        return np.zeros((1, 0), dtype=np.int64)
    return np.stack([m.ravel() for m in np.meshgrid(*values, indexing="ij")], axis=1)


def _check_size(specs: list[ParameterSpec], inputs: IntArray, options: Brute.Options) -> None:
    """Refuse before anything is listed: settings to hold, and unit values to compute."""
    settings = math.prod(len(s.domain.numerators) ** int(s.free.sum()) for s in specs)
    units = max((spec.shape[0] for spec in specs), default=1)
    work = len(inputs) * settings * inputs.shape[1] * max(units, inputs.shape[2])
    if settings > MOST_SETTINGS or work > options.max_values:
        raise SolverError(
            "there are too many parameter settings to enumerate",
            where="solver='brute'",
            rule=f"at most {MOST_SETTINGS} settings of one layer and {options.max_values} values",
            received=f"{settings} settings and {work} values",
            remedy="use another solver, fewer samples, or raise max_values",
        )


def _apply(stage: _Stage, inputs: IntArray, settings: IntArray, scale: int) -> IntArray:
    """Outputs of a stage for all pairs (state, setting), shape (states, settings, samples, units)."""
    values = inputs[:, None]
    at = 0
    for _, _, module in _each_module(stage):
        named = {}
        for spec in module.parameters:
            count = int(spec.free.sum())
            array = np.broadcast_to(spec.frozen, (len(settings), *spec.shape)).copy()
            array[:, spec.free] = settings[:, at : at + count]
            named[spec.name] = array
            at += count
        values = module.forward(named, values, scale)
        scale = module.scale(scale)
    return values


def _distinct_outputs(
    stage: _Stage, inputs: IntArray, settings: IntArray, scale: int
) -> tuple[IntArray, IntArray]:
    """Distinct outputs of a stage, and which of them every pair (state, setting) gives."""
    chunks = []
    width = _apply(stage, inputs[:1], settings[:1], scale).size
    step = max(1, _CHUNK // (width * len(inputs)))
    for start in range(0, len(settings), step):
        out = _apply(stage, inputs, settings[start : start + step], scale)
        small = out.astype(np.int8) if np.abs(out).max() < 128 else out
        chunks.append(small)
    every = np.concatenate(chunks, axis=1)
    flat = np.ascontiguousarray(every.reshape(-1, every.shape[2] * every.shape[3]))
    keys = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    return every.reshape(-1, *every.shape[2:])[first].astype(np.int64), owner


def _best(
    problem: Problem, stage: _Stage, inputs: IntArray, settings: IntArray, scale: int
) -> tuple[IntArray, IntArray]:
    """All pairs (state, setting) of least loss, outputs outside the box left out."""
    lowest = np.iinfo(np.int64).max
    found: list[tuple[IntArray, IntArray]] = []
    output_scale = problem.network.output_scale
    step = max(1, _CHUNK // (inputs.shape[1] * len(inputs)))
    box = problem.box
    for start in range(0, len(settings), step):
        out = _apply(stage, inputs, settings[start : start + step], scale)
        losses = problem.loss.evaluate(problem.data, out, output_scale)
        if box is not None:
            inside = ((out >= box[0]) & (out <= box[1])).all(axis=(-1, -2))
            losses = np.where(inside, losses, np.iinfo(np.int64).max)
        least = int(losses.min())
        if least < lowest:
            lowest, found = least, []
        if least == lowest and least < np.iinfo(np.int64).max:
            states, chosen = np.nonzero(losses == least)
            found.append((states, chosen + start))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate([s for s, _ in found]), np.concatenate([c for _, c in found])


def _trace_back(
    problem: Problem,
    stages: list[_Stage],
    merges: list[tuple[IntArray, int]],
    states: IntArray,
    chosen: IntArray,
    limit: int,
) -> IntArray:
    """Expand merged states into all parameter settings that lead to them."""
    tables = [
        _settings([spec for _, spec, _ in stage if spec is not None]).astype(np.int64)
        for stage in stages
    ]
    vectors = tables[-1][chosen[:limit]]
    states = states[:limit]
    for (owner, count), table in zip(reversed(merges), reversed(tables[:-1]), strict=True):
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(owner.max() + 2))
        pieces, before = [], []
        for state, vector in zip(states, vectors, strict=True):
            origins = order[starts[state] : starts[state + 1]]
            before.append(origins // count)
            pieces.append(
                np.concatenate(
                    [table[origins % count], np.repeat(vector[None], len(origins), axis=0)], axis=1
                )
            )
        vectors = np.concatenate(pieces)[:limit] if pieces else np.zeros((0, 0), np.int64)
        states = np.concatenate(before)[:limit] if before else states[:0]
    if not len(vectors):
        return np.zeros((0, len(problem.free_domains)), dtype=np.int64)
    return vectors

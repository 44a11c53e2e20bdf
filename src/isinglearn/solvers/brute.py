"""Brute force over the parameters: exact, simple, the oracle of the tests.

Layer by layer: all settings of one layer's parameters on all distinct activations so far. Settings that
behave alike on the data are merged, which changes nothing in the result and makes 27 bits cheap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isinglearn.errors import ProblemRefused, check_count
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Module, ParameterSpec
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Answer, Forecast, Form, Solver, Traits
from isinglearn.solvers.session import Session

# Values held at once while one layer is enumerated, about 256 MB of int64.
_CHUNK = 1 << 25
# Unit values computed per second, for the forecast.
_VALUES_PER_SECOND = 3e7
# Settings of one layer that are listed at all: a table of 2^24 rows is a few GB.
MOST_SETTINGS = 1 << 24


class Brute(Solver):
    """Enumerates every setting of the parameters and lists all optimal networks."""

    name = "brute"
    accepts: ClassVar[tuple[Form, ...]] = (Form.PROBLEM,)
    traits: ClassVar[Traits] = Traits(exact=True)

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

    @classmethod
    def forecast(cls, problem: Problem) -> Forecast | None:
        """Settings of all layers; merged ones make it cheaper, by how much is not known before."""
        specs = [spec for spec in problem.network.parameters.values() if spec.free.any()]
        settings = _count_settings(specs)
        largest = max(_count_settings([spec]) for spec in specs)
        if settings > MOST_SETTINGS or largest > MOST_SETTINGS:
            return None
        widest = max(problem.data.X.shape[1], *(spec.shape[0] for spec in specs))
        values = settings * len(problem.data) * widest
        if values > cls.Options().max_values:
            return None
        why = (
            f"{settings} settings of the parameters, fewer once those that behave alike are merged"
        )
        return Forecast(values / _VALUES_PER_SECOND, 8 * min(values, 4 * _CHUNK), why)

    def solve(self, form: Problem, options: Options, session: Session) -> Answer:
        """Turn a problem into all its optimal networks (up to ``max_networks``)."""
        inputs = form.data.X[None]
        merges: list[tuple[IntArray, int]] = []
        stages = _stages(form)
        none = np.zeros((0, len(form.free_domains)), dtype=np.int64)
        scale = 1
        for number, modules in enumerate(stages[:-1], start=1):
            specs = [spec for _, spec, _ in modules if spec is not None]
            _check_size(specs, inputs, options)
            settings = _settings(specs)
            outputs = _distinct_outputs(modules, inputs, settings, scale, session)
            if outputs is None:
                return Answer(none, note=f"stopped in layer {number} of {len(stages)}")
            inputs, owner = outputs
            merges.append((owner, len(settings)))
            session.tell(message=f"layer {number}: {len(inputs)} distinct behaviours")
            for _, _, module in _each_module(modules):
                scale = module.scale(scale)
        specs = [spec for _, spec, _ in stages[-1] if spec is not None]
        _check_size(specs, inputs, options)
        best = _best(form, stages[-1], inputs, _settings(specs), scale, session)
        rows = _trace_back(stages, merges, best, options.max_networks)
        if best.complete and not len(rows):
            return Answer(none, infeasible=True)
        return Answer(rows if len(rows) else none, bound=best.loss if best.complete else None)


@dataclass(frozen=True, eq=False)
class _Best:
    """All pairs (state, setting) of the last layer of least loss; ``complete`` if none was left out."""

    loss: int
    states: IntArray
    chosen: IntArray
    complete: bool


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


def _count_settings(specs: list[ParameterSpec]) -> int:
    """How many settings of the free entries there are."""
    return math.prod(len(spec.domain.numerators) ** int(spec.free.sum()) for spec in specs)


def _check_size(specs: list[ParameterSpec], inputs: IntArray, options: Brute.Options) -> None:
    """Refuse before anything is listed: settings to hold, and unit values to compute."""
    settings = _count_settings(specs)
    units = max((spec.shape[0] for spec in specs), default=1)
    work = len(inputs) * settings * inputs.shape[1] * max(units, inputs.shape[2])
    if settings > MOST_SETTINGS or work > options.max_values:
        raise ProblemRefused(
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
    stage: _Stage, inputs: IntArray, settings: IntArray, scale: int, session: Session
) -> tuple[IntArray, IntArray] | None:
    """Distinct outputs of a stage, and which of them every pair (state, setting) gives."""
    distinct: list[IntArray] = []
    owners: list[IntArray] = []
    width = _apply(stage, inputs[:1], settings[:1], scale).size
    step = max(1, _CHUNK // (width * len(inputs)))
    for start in range(0, len(settings), step):
        if session.stopped:
            return None
        out = _apply(stage, inputs, settings[start : start + step], scale)
        # Merged chunk by chunk: only what differs is held.
        first, owner = _merge(out.reshape(-1, *out.shape[2:]))
        owners.append(owner.reshape(len(inputs), -1) + sum(map(len, distinct)))
        distinct.append(first)
    every, owner = _merge(np.concatenate(distinct))
    return every, owner[np.concatenate(owners, axis=1)].ravel()


def _merge(outputs: IntArray) -> tuple[IntArray, IntArray]:
    """Turn outputs into the distinct ones, and which of them each equals."""
    small = outputs.astype(np.int8) if np.abs(outputs).max() < 128 else outputs
    flat = np.ascontiguousarray(small.reshape(len(outputs), -1))
    keys = flat.view(np.dtype((np.void, flat.dtype.itemsize * flat.shape[1]))).ravel()
    _, first, owner = np.unique(keys, return_index=True, return_inverse=True)
    return outputs[first], owner


def _best(
    problem: Problem,
    stage: _Stage,
    inputs: IntArray,
    settings: IntArray,
    scale: int,
    session: Session,
) -> _Best:
    """All pairs (state, setting) of least loss, outputs outside the box left out."""
    outside = np.iinfo(np.int64).max
    lowest, complete = outside, True
    found: list[tuple[IntArray, IntArray]] = []
    output_scale = problem.network.output_scale
    # Losses are in the units of the data; the form's may be finer.
    unit = problem.qcbo.scale // problem.loss.scale(problem.data, output_scale)
    step = max(1, _CHUNK // (inputs.shape[1] * len(inputs) * problem.network.out_features))
    box = problem.box
    for start in range(0, len(settings), step):
        if session.stopped:
            complete = False
            break
        out = _apply(stage, inputs, settings[start : start + step], scale)
        losses = problem.loss.evaluate(problem.data, out, output_scale) * unit
        if box is not None:
            inside = ((out >= box[0]) & (out <= box[1])).all(axis=(-1, -2))
            losses = np.where(inside, losses, outside)
        least = int(losses.min())
        if least < lowest:
            lowest, found = least, []
            session.tell(energy=least)
        if least == lowest and least < outside:
            states, chosen = np.nonzero(losses == least)
            found.append((states, chosen + start))
    none = np.zeros(0, dtype=np.int64)
    return _Best(
        lowest,
        np.concatenate([none, *(states for states, _ in found)]),
        np.concatenate([none, *(chosen for _, chosen in found)]),
        complete,
    )


def _trace_back(
    stages: list[_Stage], merges: list[tuple[IntArray, int]], best: _Best, limit: int
) -> IntArray:
    """Expand merged states into the parameter settings that lead to them, ``limit`` at most."""
    tables = [
        _settings([spec for _, spec, _ in stage if spec is not None]).astype(np.int64)
        for stage in stages
    ]
    vectors, states = tables[-1][best.chosen[:limit]], best.states[:limit]
    for (owner, count), table in zip(reversed(merges), reversed(tables[:-1]), strict=True):
        order = np.argsort(owner, kind="stable")
        starts = np.searchsorted(owner[order], np.arange(owner.max() + 2))
        sizes = starts[states + 1] - starts[states]
        # As many states as it takes to reach the limit, then all of their origins at once.
        used = np.searchsorted(np.cumsum(sizes), limit) + 1
        states, vectors, sizes = states[:used], vectors[:used], sizes[:used]
        which = np.repeat(np.arange(len(states)), sizes)[:limit]
        within = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)[:limit]
        origins = order[starts[states[which]] + within]
        vectors = np.concatenate([table[origins % count], vectors[which]], axis=1)
        states = origins // count
    return vectors

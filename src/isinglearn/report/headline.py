"""The head of a report's page: what was done, the verdict in plain words, the few most important figures."""

from __future__ import annotations

from typing import Any

from isinglearn.report.markup import counted, escaped, paragraph, percent, shown
from isinglearn.report.stored import Record


def headline(record: Record) -> str:
    """Turn a record into what a reader sees first."""
    return paragraph(_trained(record)) + _verdict(record) + _cards(record)


def score(found: dict[str, Any] | None) -> tuple[str, str]:
    """Turn a result into the name and value of its score."""
    if not found:
        return "score", "–"
    if "accuracy" in found:
        return "accuracy", percent(found["accuracy"])
    return "R2", shown(found["r2"])


def loss_name(result: dict[str, Any]) -> str:
    """Turn a result into the name of its loss."""
    return str(result["loss_name"]).replace("_", " ")


def _trained(record: Record) -> str:
    network, data, solver = record["network"], record["data"], record["solver"]
    how = (
        f"by the strategy {solver['strategy']}, which solved {shown(solver['qubos'])} small problems"
        if record["kind"] == "training" and solver["qubos"] > 1
        else f"by the strategy {solver['strategy']}"
        if record["kind"] == "training"
        else f"as one problem, given to the solver {solver['name']}"
    )
    return (
        f"A quantised neural network with {counted(network['free_parameters'], 'free parameter')}, "
        f"trained on {counted(data['samples'], 'sample')} of {counted(data['features'], 'feature')} "
        f"({data['task']}), {how}."
    )


def _verdict(record: Record) -> str:
    verdict, result, measured = record["verdict"], record["result"], record["yardstick"]
    kind = "bad" if result is None else "good" if measured["optimal"] else ""
    lines = [_predictions(result), verdict["text"]]
    return f'<div class="verdict {kind}">{"".join(map(paragraph, lines))}</div>'


def _predictions(result: dict[str, Any] | None) -> str:
    """How many samples come out right, or how well numbers are predicted, in a sentence."""
    if result is None:
        return ""
    parts = [(result["train"], "training"), (result["test"], "test")]
    given = [(found, name) for found, name in parts if found is not None]
    if "accuracy" in result["train"]:
        told = [
            f"{shown(found['right'])} of {shown(found['samples'])} {name} samples"
            for found, name in given
        ]
        return f"The network is right on {' and on '.join(told)}."
    told = [f"{shown(found['rmse'])} on the {name} data" for found, name in given]
    return f"Its predictions are off by {' and by '.join(told)} (root mean square)."


def _cards(record: Record) -> str:
    result, spins = record["result"], record["spins"] or {}
    cards = []
    if result is not None:
        for part, name in (("train", "training"), ("test", "test")):
            if result[part] is not None:
                kind, value = score(result[part])
                cards.append((f"{name} {kind}", value))
        cards.append((f"training loss ({loss_name(result)})", shown(result["loss"])))
        measured = record["yardstick"]
        if measured["tight"]:
            cards.append(("above the proved optimum", shown(measured["gap"])))
    if spins.get("spins") or spins.get("largest"):
        name = "spins" if spins.get("spins") else "spins of the largest QUBO"
        cards.append((name, shown(spins.get("spins") or spins["largest"])))
    cards.append(("seconds", f"{record['solver']['seconds']:.3g}"))
    inner = "".join(
        f'<div class="card"><b>{escaped(value)}</b>{escaped(name)}</div>' for name, value in cards
    )
    return f'<div class="cards">{inner}</div>'

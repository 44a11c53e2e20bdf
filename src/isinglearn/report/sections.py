"""The sections of a report's page: parts of the record to HTML."""

from __future__ import annotations

from typing import Any

from isinglearn.report.markup import escaped, pairs, paragraph, percent, shown, table
from isinglearn.report.stored import Record

Section = tuple[str, str, str]

_RULES = {
    "names": "A sample is right if its class is the predicted one.",
    "sign": "A sample is right if the output has the sign of its label; 0 counts as +1.",
    "largest": "A sample is right if the output of its class is the largest.",
    "signs": "A sample is right if all outputs have the signs of its labels; 0 counts as +1.",
    "numbers": "Labels are numbers; R2 is 1 for a perfect prediction and 0 for their mean.",
}


def before(record: Record) -> list[Section]:
    """Turn a record into all sections before the pictures: key, heading, content."""
    return [
        ("trained", "What was trained", _trained(record)),
        ("data", "Data", _data(record)),
        ("network", "Network", _network(record)),
        ("quality", "How good is it", _quality(record)),
        ("spins", "Spin budget", _spins(record)),
        ("proofs", "Penalty proofs", _proofs(record)),
        ("solver", "Solver and progress", _solver(record)),
    ]


def _score(found: dict[str, Any] | None) -> tuple[str, str]:
    """Turn a result into the name and value of its score."""
    if not found:
        return "score", "–"
    if "accuracy" in found:
        return "accuracy", percent(found["accuracy"])
    return "R2", shown(found["r2"])


def headline(record: Record) -> str:
    """Turn a record into its few most important figures."""
    result, spins = record["result"], record["spins"] or {}
    cards = []
    if result is not None:
        loss = result["loss"]
        cards.append((f"loss ({result['loss_name']})", "–" if loss is None else f"{loss:.4g}"))
        for part, name in (("train", "training"), ("test", "test")):
            if result[part] is not None:
                kind, value = _score(result[part])
                cards.append((f"{name} {kind}", value))
    if spins.get("spins") or spins.get("largest"):
        name = "spins" if spins.get("spins") else "spins of the largest QUBO"
        cards.append((name, shown(spins.get("spins") or spins["largest"])))
    cards.append(("seconds", f"{record['solver']['seconds']:.3g}"))
    inner = "".join(
        f'<div class="card"><b>{escaped(value)}</b>{escaped(name)}</div>' for name, value in cards
    )
    return f'<div class="cards">{inner}</div>'


def _trained(record: Record) -> str:
    network, data, solver = record["network"], record["data"], record["solver"]
    how = (
        f"by the strategy {solver['strategy']}"
        if record["kind"] == "training"
        else f"as one problem, given to the solver {solver['name']}"
    )
    text = (
        f"A quantised neural network with {shown(network['free_parameters'])} free parameters was "
        f"trained on {shown(data['samples'])} samples of {shown(data['features'])} features "
        f"({data['task']}), {how}."
    )
    return paragraph(text) + paragraph(network["text"], "soft")


def _data(record: Record) -> str:
    data, result = record["data"], record["result"] or {}
    names = data["feature_names"]
    test = result.get("test")
    rows: list[tuple[str, Any]] = [
        ("samples", data["samples"]),
        ("test samples", test["samples"] if test else None),
        ("features", data["features"]),
        ("feature names", ", ".join(names) if names else None),
        ("input bits", record["network"]["input_bits"]),
        ("labels", " to ".join(map(shown, data["label_range"])) if "label_range" in data else None),
        ("fingerprint (start of SHA-256)", data["sha256"][:16]),
    ]
    text = pairs(rows)
    if data["classes"]:
        text += table(
            ["class", "training samples"], [[one["name"], one["count"]] for one in data["classes"]]
        )
    drawn = "cells" in (record["regions"] or {})
    only = ", only how many lie in which cell of a grid" if drawn else ""
    return text + paragraph(f"The samples themselves are not part of this page{only}.", "soft")


def _network(record: Record) -> str:
    network = record["network"]
    modules = table(
        ["layer", "module"], [[one["layer"], one["module"]] for one in network["modules"]]
    )
    parameters = table(
        ["parameter", "shape", "values", "free"],
        [
            [one["name"], " × ".join(map(str, one["shape"])), one["domain"], one["free"]]
            for one in network["parameters"]
        ],
    )
    return modules + parameters


def _quality(record: Record) -> str:
    verdict, result, measured = record["verdict"], record["result"], record["yardstick"]
    faulty = verdict["consistent"] is False
    kind = "bad" if result is None else "good" if measured["optimal"] else ""
    text = f'<p class="verdict {kind}">{escaped(verdict["text"])}</p>'
    text += paragraph(verdict.get("told", ""))
    if verdict["consistent"]:
        text += paragraph(
            "An independent recheck agrees: the bits are those of this network, and every figure "
            "computed anew is the same."
        )
    if faulty:
        first = ", ".join(verdict["violations"][:5]) or "figures that differ"
        text += paragraph(
            f"The solver's bits were not consistent ({verdict['violations_count']} violations: "
            f"{first}); the network was repaired by a forward pass, and all figures here are its own."
        )
    if result is None:
        return text
    rows = [_row("this network", result["loss"], result)]
    baseline = measured["baseline"]
    if baseline is not None:
        rows.append(_row(baseline["name"], baseline["loss"], baseline))
    bound = measured["bound"]
    if bound is not None:
        name = "proved optimum" if measured["optimal"] else "proved lower bound"
        rows.append([f"{name} ({measured['bound_by']})", shown(bound), "–", "–"])
    score = _score(result["train"])[0]
    text += table(["", "training loss", f"training {score}", f"test {score}"], rows)
    notes = [_RULES[record["data"]["rule"]]]
    if baseline is not None:
        notes.append(f"The baseline is the best of {baseline['runs']} trainings by training loss.")
    if measured["baseline_note"]:
        notes.append(f"Baseline: {measured['baseline_note']}.")
    if result["test"] is None:
        notes.append("No test data was given: how it does on new data is not known.")
    return text + paragraph(" ".join(notes), "soft")


def _row(name: str, loss: float | None, found: dict[str, Any]) -> list[str]:
    return [name, shown(loss), _score(found["train"])[1], _score(found["test"])[1]]


def _spins(record: Record) -> str:
    spins = record["spins"] or {}
    names = {
        "formulation": "formulation",
        "order": "order of reduction",
        "spins": "spins",
        "couplers": "couplers",
        "qcbo_bits": "bits before penalties (QCBO)",
        "hubo_spins": "spins before reduction (HUBO)",
        "hubo_degree": "degree before reduction",
        "auxiliaries": "auxiliary spins",
        "smallest_coefficient": "smallest coefficient",
        "largest_coefficient": "largest coefficient",
        "resolution_bits": "bits of resolution needed",
        "scale": "energy / loss",
        "qubos": "QUBOs solved",
        "largest": "spins of the largest QUBO",
    }
    text = pairs((name, spins.get(key)) for key, name in names.items())
    if "spins_by_role" in spins:
        text += table(["role", "spins"], [list(one) for one in spins["spins_by_role"].items()])
    return text + paragraph(spins.get("note", ""))


def _proofs(record: Record) -> str:
    proofs = record["proofs"]
    if proofs is None:
        return paragraph(
            "The weights of the many small QUBOs, or of one that was not built, are not part of this "
            "record."
        )
    rows = [
        [one["count"], one["gadgets"], one["smallest"], one["largest"], one["proof"], one["why"]]
        for one in proofs["weights"]
    ]
    if proofs["certified"]:
        words = "Every penalty weight is proved: every ground state is an optimal network."
    else:
        words = "Weights were set by hand: a ground state need not be an optimal network."
    heads = ["number", "of", "least weight", "largest weight", "proof", "because"]
    return paragraph(words) + table(heads, rows)


def _solver(record: Record) -> str:
    solver, reads = record["solver"], record["progress"]["reads"]
    names = ("name", "strategy", "status", "reason", "note", "seconds", "steps", "qubos")
    rows: list[tuple[str, Any]] = [(name, solver.get(name)) for name in names]
    rows.append(("ended by itself", solver.get("finished")))
    if reads is not None:
        rows += [("reads", reads["total"])]
        if reads["loss"]:
            rows.append(("reads of least loss", reads["count"][0]))
        rows.append(("reads outside the form's box", reads["outside"] or None))
    return pairs(rows)


def repeat(record: Record) -> str:
    """Turn a record into what it takes to get it again."""
    again = record["repeat"]
    rows = [("seed", again["seed"]), *again["versions"].items()]
    return f"<pre><code>{escaped(again['code'])}</code></pre>" + pairs(rows)


def described(key: str, record: Record) -> str:
    """Turn a picture's key into what it shows, in words, for those who do not see it."""
    result, spins = record["result"] or {}, record["spins"] or {}
    match key:
        case "spins":
            return ", ".join(f"{count} {role}" for role, count in spins["spins_by_role"].items())
        case "confusion":
            return f"{result['train']['right']} of {result['train']['samples']} samples right"
        case "coefficients":
            return f"{record['coefficients']['resolution_bits']} bits hold all coefficients"
        case "matrix":
            return ", ".join(block["label"] for block in record["matrix"]["blocks"])
        case "reads":
            reads = record["progress"]["reads"]
            return f"{reads['total']} reads, least loss {shown(min(reads['loss']))}"
        case "progress":
            return f"ends at a training loss of {shown(result.get('loss'))}"
    return str(record["network"]["text"])

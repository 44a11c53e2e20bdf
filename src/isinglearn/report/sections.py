"""The sections of a report's page: parts of the record to HTML."""

from __future__ import annotations

from typing import Any

from isinglearn.report import words
from isinglearn.report.headline import loss_name, score
from isinglearn.report.markup import escaped, facts, paragraph, percent, shown, table
from isinglearn.report.stored import Record

Section = tuple[str, str, str]


def sections(record: Record) -> list[Section]:
    """Turn a record into the sections of its page: key, heading, content; pictures come after it."""
    return [
        ("quality", "How good is it", _quality(record)),
        ("data", "Data", _data(record)),
        ("network", "Network", _network(record)),
        ("spins", "Spin budget", _spins(record)),
        ("proofs", "Penalty proofs", _proofs(record)),
        ("solver", "Solver and progress", _solver(record)),
        ("repeat", "How to repeat it", _repeat(record)),
    ]


def _quality(record: Record) -> str:
    verdict, result, measured = record["verdict"], record["result"], record["yardstick"]
    if result is None:
        return paragraph("There is no network, and so nothing to measure.")
    rows = [_row("this network", result["loss"], result)]
    baseline, bound = measured["baseline"], measured["bound"]
    if baseline is not None:
        rows.append(_row(baseline["name"], baseline["loss"], baseline))
    guess = _guess(result)
    if guess:
        rows.append(guess)
    if bound is not None:
        name = "proved optimum" if measured["tight"] else "proved lower bound"
        rows.append([f"{name} ({measured['bound_by']})", shown(bound), "–", "–"])
    kind, columns = score(result["train"])[0], 3 if result["test"] is None else 4
    heads = ["", f"training loss ({loss_name(result)})", f"training {kind}", f"test {kind}"]
    text = table(heads[:columns], [row[:columns] for row in rows], numbers=(1, 2, 3))
    notes = [words.RULES[record["data"]["rule"]]]
    if baseline is not None:
        notes.append(
            f"The baseline is the best of {baseline['runs']} gradient trainings of the same network, "
            "by training loss."
        )
    if measured["baseline_note"]:
        notes.append(f"Baseline: {measured['baseline_note']}.")
    if result["test"] is None:
        notes.append("No test data was given: how it does on new data is not known.")
    text += paragraph(_recheck(verdict))
    return text + paragraph(" ".join(notes), "soft")


def _recheck(verdict: dict[str, Any]) -> str:
    if verdict["consistent"]:
        return (
            "An independent recheck agrees: the bits are those of this network, and every figure "
            "computed anew is the same."
        )
    if verdict["consistent"] is None:
        return ""
    first = ", ".join(verdict["violations"][:5]) or "figures that differ"
    return (
        f"The solver's bits were not consistent ({verdict['violations_count']} violations: {first}); "
        "the network was repaired by a forward pass, and all figures here are its own."
    )


def _guess(result: dict[str, Any]) -> list[str] | None:
    """What saying always the same is worth: where one class is most of the data, a lot."""
    seen, asked = result["train"].get("confusion"), (result["test"] or {}).get("confusion")
    if not seen:
        return None
    # Rows are true classes.
    common = max(range(len(seen)), key=lambda row: sum(seen[row]))
    shares = [
        percent(sum(counts[common]) / sum(map(sum, counts))) if counts else "–"
        for counts in (seen, asked)
    ]
    return ["always the commonest class", "–", *shares]


def _row(name: str, loss: float | None, found: dict[str, Any]) -> list[str]:
    return [name, shown(loss), score(found["train"])[1], score(found["test"])[1]]


def _data(record: Record) -> str:
    data, result = record["data"], record["result"] or {}
    names, test = data["feature_names"], result.get("test")
    text = facts(
        [
            ("training samples", data["samples"]),
            ("test samples", test["samples"] if test else None),
            ("features", data["features"]),
            ("bits of a feature's value", record["network"]["input_bits"]),
            (
                "labels",
                " to ".join(map(shown, data["label_range"])) if "label_range" in data else None,
            ),
            ("fingerprint", data["sha256"][:16]),
            ("feature names", ", ".join(names) if names else None),
        ]
    )
    if data["classes"]:
        text += table(
            ["class", "training samples"], [[one["name"], one["count"]] for one in data["classes"]]
        )
    drawn = "cells" in (record["regions"] or {})
    only = ", only how many lie in which cell of a grid" if drawn else ""
    return text + paragraph(
        f"The samples themselves are not part of this page{only}; the fingerprint (start of their "
        "SHA-256) tells whether others are the same.",
        "soft",
    )


def _network(record: Record) -> str:
    network = record["network"]
    modules = " → ".join(one["module"] for one in network["modules"])
    rows = [
        [one["name"], " × ".join(map(str, one["shape"])), one["domain"], one["free"]]
        for one in network["parameters"]
    ]
    return (
        paragraph(modules)
        + paragraph(
            "Every weight and bias takes one of a few values; training chooses which.", "soft"
        )
        + table(["parameter", "shape", "values", "trained"], rows)
    )


def _spins(record: Record) -> str:
    spins = record["spins"] or {}
    names = {
        "spins": "spins",
        "couplers": "couplings of two spins",
        "resolution_bits": "bits of resolution needed",
        "smallest_coefficient": "smallest coefficient",
        "largest_coefficient": "largest coefficient",
        "scale": "energy of a loss of 1",
        "formulation": "formulation",
        "order": "order of reduction",
        "qcbo_bits": "bits before penalties (QCBO)",
        "hubo_spins": "spins before reduction (HUBO)",
        "hubo_degree": "degree before reduction",
        "auxiliaries": "spins added for products",
        "qubos": "QUBOs solved",
        "largest": "spins of the largest QUBO",
    }
    text = paragraph(words.ISING if "spins" in spins else words.PARTS if spins.get("qubos") else "")
    if record["solver"].get("form", "qubo") != "qubo":
        text += paragraph(
            f"The solver {record['solver']['name']} works on an earlier form, without penalties; "
            "this is what an Ising machine would be given."
        )
    text += facts((name, spins.get(key)) for key, name in names.items())
    roles = spins.get("spins_by_role", {})
    if roles:
        rows = [[role, count, words.ROLES.get(role, "")] for role, count in roles.items()]
        text += table(["role", "spins", "what they stand for"], rows)
    return text + paragraph(spins.get("note", ""))


def _proofs(record: Record) -> str:
    proofs = record["proofs"]
    if proofs is None:
        several = (record["spins"] or {}).get("qubos")
        which = "the small QUBOs" if several else "a QUBO that was not built"
        return paragraph(f"{words.PENALTIES} Those of {which} are not part of this page.")
    if proofs["certified"]:
        certain = (
            "Every weight is proved to be large enough: every ground state is an optimal network."
        )
    else:
        certain = "Weights were set by hand: a ground state need not be an optimal network."
    rows = [
        [
            f"{shown(one['count'])} {one['gadgets']}",
            " to ".join(dict.fromkeys(shown(one[end]) for end in ("smallest", "largest"))),
            f"{one['why']} ({one['proof']})",
        ]
        for one in proofs["weights"]
    ]
    heads = ["rules", "weights", "enough, since" if proofs["certified"] else "since"]
    return paragraph(f"{words.PENALTIES} {certain}") + table(heads, rows, numbers=(1,))


def _solver(record: Record) -> str:
    solver, reads = record["solver"], record["progress"]["reads"]
    several = reads is not None and reads["total"] > 1
    rows: list[tuple[str, Any]] = [
        ("solver", solver["name"]),
        ("strategy", solver.get("strategy")),
        ("seconds", solver["seconds"]),
        ("steps", solver.get("steps")),
        ("QUBOs", solver.get("qubos")),
        ("ended by itself", solver.get("finished")),
    ]
    if several:
        rows.append(("reads", reads["total"]))
        rows.append(("reads of least loss", reads["count"][0] if reads["loss"] else None))
        rows.append(("reads outside the form's box", reads["outside"] or None))
    rows.append(("status", words.STATUS.get(solver.get("status", ""))))
    rows.append(("chosen", solver["reason"]))
    rows.append(("note", solver.get("note")))
    return facts(rows) + paragraph(words.READS if several else "", "soft")


def _repeat(record: Record) -> str:
    again = record["repeat"]
    hints = words.CALLS if "X, y" in again["code"] else ""
    if "time_limit" in again["code"]:
        hints = f"{hints} {words.HURRIED}".strip()
    rows = [("seed", again["seed"]), *again["versions"].items()]
    code = f"<pre><code>{escaped(again['code'])}</code></pre>"
    return code + paragraph(hints, "soft") + facts(rows)


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

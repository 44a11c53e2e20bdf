"""Two moons -> how fast it compiles, against dimod and qubovert, and how time and memory grow.

    python benchmarks/compile.py [--json] [--quick]

One run measures all ratios. What is compared:

Reduction
    The same paper-form polynomial (its terms of any degree) brought to degree two by our greedy reduction
    and by dimod. ``make_quadratic`` also writes its penalties into a model, so one row adds that step to
    ours, and one compares with ``dimod.reduce_binary_polynomial``, which returns just what ours returns.
Whole compile
    Integer expressions of the paper's appendices C and D -> assembled QUBO polynomial. The peers write
    the same expressions in their own arithmetic and reduce with ``dimod.make_quadratic``. Each peer's
    polynomial is first checked to equal ours, term by term. Peers take the penalty weights as given; ours
    are searched for and proved, so one row has that search and one does not. qubovert is measured if it
    is importable.
Growth
    Each size in a fresh process, N samples, ``compile`` + ``qubo`` + ``qubo.polynomial``. A term is a
    term of the expanded HUBO polynomial. Memory is the peak of the process less that before compiling,
    with everything imported and all kernels loaded. The compact form merges equal inputs, and the grid of
    two moons has few distinct ones, so its terms grow more slowly than N. The convolutional network is
    ``Conv2d(1, 4, 3)``, ``Sign``, ``MaxPool2d(2)``, ``Flatten``, ``Linear(144, 1)`` with output weights
    of -1 and +1, on random images.

Kernels are compiled (Numba) before anything is timed; that one-off cost is a row of its own. Short
timings are the best of three.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

from measure import FORMULATIONS, best_of, compiled, in_process, warm_up
from peers import DimodSymbols, Peer, Terms, available_peers, write_penalties

# Samples of the paper's instance; targets are for this size.
FULL = 50


@dataclass(frozen=True)
class Row:
    """One line of the table: two figures, their ratio, and what the ratio (or the figure) should be."""

    group: str
    what: str
    ours: str
    against: str
    ratio: float | None
    target: str
    met: bool | None


def seconds(value: float) -> str:
    """A time in a unit that reads well."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


def _ratio(
    group: str,
    what: str,
    ours: tuple[float, str],
    theirs: tuple[float, str],
    target: float | None = None,
) -> Row:
    ratio = theirs[0] / ours[0]
    return Row(
        group,
        what,
        seconds(ours[0]) + ours[1],
        seconds(theirs[0]) + theirs[1],
        ratio,
        "" if target is None else f">= {target:g}",
        None if target is None else ratio >= target,
    )


# -- reduction -------------------------------------------------------------------------------------


def reduction_rows(samples: int) -> list[Row]:
    """Our greedy reduction against dimod's on one polynomial."""
    import dimod
    import numpy as np
    from dimod.higherorder.utils import make_quadratic, reduce_binary_polynomial

    from isinglearn.lowering.reduction import reduce_monomials
    from isinglearn.paper.instances import two_moons
    from isinglearn.problem.forms import Products
    from isinglearn.problem.polynomial import Polynomial

    hubo = compiled(two_moons(samples), "paper").hubo
    polynomial, first = hubo.polynomial, hubo.num_variables

    def assembled() -> Polynomial:
        reduction = reduce_monomials(polynomial.monomials, first, 2)
        count = len(reduction.left)
        weights = np.ones(count, dtype=np.int64)
        products = Products(
            reduction.left,
            reduction.right,
            first + np.arange(count),
            weights,
            np.zeros(count, dtype=np.uint8),
        )
        reduced = Polynomial.of(reduction.monomials, polynomial.coefficients)
        return reduced + products.polynomial()

    reduce_time, reduction = best_of(lambda: reduce_monomials(polynomial.monomials, first, 2))
    assembled_time, _ = best_of(assembled)
    named = hubo.to_polynomial()
    model_time, model = best_of(lambda: make_quadratic(named, 1.0, dimod.BINARY))
    plain_time, (_, plain) = best_of(lambda: reduce_binary_polynomial(named))
    ours, theirs = len(reduction.left), model.num_variables - first
    group = f"Reduction, N = {samples}, {polynomial.num_terms} terms"
    return [
        _ratio(
            group,
            "reduction, against dimod.make_quadratic",
            (reduce_time, f", {ours} auxiliaries"),
            (model_time, f", {theirs} auxiliaries"),
            10.0 if samples == FULL else None,
        ),
        _ratio(
            group,
            "reduction and penalties assembled, against dimod.make_quadratic",
            (assembled_time, ""),
            (model_time, ""),
        ),
        _ratio(
            group,
            "reduction, against dimod.reduce_binary_polynomial",
            (reduce_time, f", {ours} auxiliaries"),
            (plain_time, f", {len(plain)} auxiliaries"),
        ),
    ]


# -- whole compile ---------------------------------------------------------------------------------


def compiled_with_given_weights(instance: Any, penalty: int, product: int) -> Any:
    """The same passes without the search for an incumbent and the proofs: weights as the peers get them."""
    import isinglearn as il

    problem = il.compile(
        instance.network,
        instance.X,
        instance.y,
        formulation="paper",
        penalty=penalty,
        product_weight=product,
    )
    # Takes the place of the cached property: given weights rest on no bound.
    problem.certificate = None  # type: ignore[assignment]
    return problem.qubo.polynomial


def compile_rows(samples: int) -> list[Row]:
    """The whole compile against each peer that is there."""
    import dimod
    from dimod.higherorder.utils import make_quadratic

    from isinglearn.paper.instances import two_moons

    instance = two_moons(samples)
    problem = compiled(instance, "paper")
    wanted = dict(problem.hubo.to_polynomial())
    (penalty,) = {int(w) for part in problem.hubo.penalties for w in part.weights}
    product = int(problem.qubo.products.weights.max())
    # The polynomial to compare with is no garbage: the peers' many small objects are not to pay for it.
    gc.freeze()
    certified, _ = best_of(lambda: compiled(instance, "paper"))
    given, polynomial = best_of(lambda: compiled_with_given_weights(instance, penalty, product))
    group = f"Whole compile, N = {samples}, paper form"
    rows = []
    for peer in available_peers():
        name = peer.name

        def write(peer: type[Peer] = peer) -> Terms:
            return write_penalties(peer(), instance, penalty)

        written, terms = best_of(write)
        if terms != wanted:
            raise SystemExit(f"error: {name} gives another polynomial; nothing to compare")

        def reduce(terms: Terms = terms) -> Any:
            return make_quadratic(terms, float(product), dimod.BINARY)

        reduced, model = best_of(reduce)
        if model.num_interactions != int((polynomial.degrees == 2).sum()):
            print(f"note: {name}: another number of couplers after reduction", file=sys.stderr)
        theirs = (written + reduced, f" ({seconds(written)} + reduction {seconds(reduced)})")
        # The yardstick is what dimod offers; the others show where the time goes.
        target = 10.0 if peer is DimodSymbols and samples == FULL else None
        rows += [
            _ratio(group, f"certified weights, against {name}", (certified, ""), theirs, target),
            _ratio(group, f"given weights, against {name}", (given, ""), theirs, target),
        ]
    return sorted(rows, key=lambda row: row.what.startswith("given"))


# -- kernels and growth, in processes of their own -------------------------------------------------


def kernel_rows() -> list[Row]:
    """What Numba costs: once on a machine, and in every process."""
    with tempfile.TemporaryDirectory() as empty:
        cold = in_process("kernels", cache=empty)["seconds"]
    in_process("kernels")
    loaded = in_process("kernels")["seconds"]
    return [
        Row(
            "Kernels, one-off (in no other row)",
            "compiled by Numba, once on a machine; then loaded, once in a process",
            seconds(cold),
            seconds(loaded) + " to load",
            None,
            "",
            None,
        )
    ]


# Seconds and GiB that a size may take.
LIMITS: dict[tuple[str, str, int], tuple[float, float | None]] = {
    ("moons", "paper", 5000): (60.0, 4.0),
    ("moons", "compact", 5000): (10.0, None),
    ("images", "compact", 100): (20.0, None),
}


def growth_rows(
    task: str, formulation: str, sizes: tuple[int, ...]
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Time and memory per term, relative to the smallest size."""
    rows: list[Row] = []
    records: list[dict[str, Any]] = []
    for size in sizes:
        records.append(in_process("growth", task, formulation, str(size)))
        limits = LIMITS.get((task, formulation, size), (None, None))
        rows += _growth_rows(records[-1], records[0], limits)
    return rows, records


def _growth_rows(
    record: dict[str, Any], base: dict[str, Any], limits: tuple[float | None, float | None]
) -> list[Row]:
    size, terms = record["samples"], record["terms"]
    merged = ", equal inputs merged" if record["formulation"] == "compact" else ""
    task = {"moons": "two moons", "images": "convolution on 14 x 14 images"}[record["task"]]
    group = f"Growth, {task}, {record['formulation']} form{merged}"
    counts = f"{terms} terms, {record['spins']} spins, {record['couplers']} couplers"
    memory = record["peak_bytes"] / 2**20
    time_limit, memory_limit = limits

    rows = [
        Row(
            group,
            f"N = {size}: time",
            seconds(record["seconds"]),
            counts,
            None,
            "" if time_limit is None else f"< {time_limit:g} s",
            None if time_limit is None else record["seconds"] < time_limit,
        ),
        Row(
            group,
            f"N = {size}: peak memory",
            f"{memory:.0f} MiB",
            "",
            None,
            "" if memory_limit is None else f"< {memory_limit:g} GiB",
            None if memory_limit is None else memory < memory_limit * 1024,
        ),
    ]
    if record is base:
        return rows
    for what, now, then, unit in (
        ("time per term", record["seconds"], base["seconds"], 1e6),
        (
            "time per term without incumbent search",
            record["seconds_without_search"],
            base["seconds_without_search"],
            1e6,
        ),
        ("memory per term", record["peak_bytes"], base["peak_bytes"], 1.0),
    ):
        mine, other = now / terms * unit, then / base["terms"] * unit
        name = "bytes" if unit == 1.0 else "µs"
        rows.append(
            Row(
                group,
                f"N = {size}, against N = {base['samples']}: {what}",
                f"{mine:.3g} {name}",
                f"{other:.3g} {name}",
                mine / other,
                "<= 2",
                mine / other <= 2,
            )
        )
    return rows


# -- output ----------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    import dimod
    import numba
    import numpy as np

    return {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "dimod": dimod.__version__,
    }


def print_table(rows: list[Row], about: dict[str, Any]) -> None:
    """All rows as one table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    caption = ", ".join(f"{key} {value}" for key, value in about.items())
    table = Table(
        title="Compiling (ratio: against over ours; growth: ours over against)",
        caption=caption,
        box=box.SIMPLE_HEAD,
    )
    for name in ("what", "ours", "against", "ratio", "target", "met"):
        table.add_column(name, justify="right" if name == "ratio" else "left", overflow="fold")
    group = None
    for row in rows:
        if row.group != group:
            group = row.group
            table.add_section()
            table.add_row(f"[bold]{group}[/bold]")
        ratio = (
            ""
            if row.ratio is None
            else f"{row.ratio:.2f}"
            if row.ratio < 10
            else f"{row.ratio:.0f}"
        )
        met = {None: "", True: "yes", False: "[bold red]NO[/bold red]"}[row.met]
        table.add_row(row.what, row.ours, row.against, ratio, row.target, met)
    console = Console()
    if not console.is_terminal:
        console = Console(width=170)
    console.print(table)


def main() -> int:
    """Turn the command line into a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument(
        "--quick", action="store_true", help="N = 10 for the peers (no targets), growth to 500"
    )
    arguments = parser.parse_args()
    samples = 10 if arguments.quick else FULL
    sizes = (50, 500) if arguments.quick else (50, 500, 5000)
    rows = kernel_rows()
    warm_up()
    rows = [*reduction_rows(samples), *compile_rows(samples), *rows]
    records = []
    tasks = [("moons", formulation, sizes) for formulation in FORMULATIONS]
    for task in (*tasks, ("images", "compact", (10, 20) if arguments.quick else (25, 50, 100))):
        growth, found = growth_rows(*task)
        rows += growth
        records += found
    about = machine()
    if arguments.json:
        print(
            json.dumps(
                {"machine": about, "rows": list(map(asdict, rows)), "growth": records}, indent=2
            )
        )
    else:
        print_table(rows, about)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

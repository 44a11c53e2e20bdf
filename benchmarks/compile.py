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
    Each size in a fresh process, N samples, ``compile`` + ``qubo`` + ``qubo.polynomial``. A term is a term of
    the expanded HUBO polynomial. Memory is the peak of the process less that before compiling, with
    everything imported and all kernels loaded.
    The compact form merges equal inputs, and the grid of two moons has few distinct ones, so its terms
    grow more slowly than N.

Kernels are compiled (Numba) before anything is timed; that one-off cost is a row of its own. Short
timings are the best of three.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

Terms = dict[Any, Any]  # frozen sets of names to coefficients

FORMULATIONS = ("paper", "compact")
# Samples of the paper's instance; targets are for this size.
FULL = 50
# A timing longer than this is taken once.
LONG = 10.0


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


def best_of(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Turn work into (shortest time, last result); work that takes long is done once."""
    shortest, result = float("inf"), None
    for _ in range(repeats):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
        if shortest > LONG:
            break
    return shortest, result


def seconds(value: float) -> str:
    """A time in a unit that reads well."""
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.0f} ms"


# -- ours ------------------------------------------------------------------------------------------


def compiled(instance: Any, formulation: str) -> Any:
    """An instance compiled down to the QUBO's polynomial."""
    import isinglearn as il

    problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
    _ = problem.qubo.polynomial
    return problem


def warm_up() -> None:
    """Compile something tiny in both forms, so that every kernel is loaded."""
    from isinglearn.paper.instances import TASKS

    for formulation in FORMULATIONS:
        compiled(TASKS[0], formulation)


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


# -- the same penalty polynomial by other means ----------------------------------------------------


class Peer(Protocol):
    """Arithmetic of a library: expressions have ``+``, ``-``, ``*`` among themselves and with integers."""

    def bit(self, name: str) -> Any:
        """A new 0/1 variable."""

    def total(self, parts: Iterable[Any]) -> Any:
        """The sum of expressions, in the library's best way."""

    def add_square(self, weight: int, value: Any) -> None:
        """Add ``weight * value^2`` to the polynomial."""

    def terms(self) -> Terms:
        """The polynomial so far, without zeros."""


def write_penalties(peer: Peer, instance: Any, weight: int) -> Terms:
    """Turn data into the paper's eq. (8) for one hidden layer and one output, times ``(2H)^2 N``."""
    n, H, B = instance.X.shape[1], instance.hidden, instance.input_bits

    def integer(name: str, largest: int, lo: int = 0) -> Any:
        count = largest.bit_length()
        return peer.total(2**j * peer.bit(f"{name}[{j}]") for j in range(count)) + lo

    def spin(name: str) -> Any:
        return 2 * peer.bit(name) - 1

    W1 = [[spin(f"layer1/unit{u}/input{k}/weight") for k in range(n)] for u in range(H)]
    b1 = [integer(f"layer1/unit{u}/bias", n * 2 ** (B + 1)) for u in range(H)]
    W2 = [integer(f"layer2/unit0/input{u}/weight", 2 * H, -H) for u in range(H)]
    b2 = integer("layer2/unit0/bias", 2 * H, -H)
    for i, (x, label) in enumerate(zip(instance.X.tolist(), instance.y.tolist(), strict=True)):
        activations = []
        for u in range(H):
            place = f"layer1/unit{u}/sample{i}"
            s = integer(f"{place}/s", n * 2 ** (B + 2), -n * 2**B)
            a = spin(f"{place}/a")
            r = integer(f"{place}/r", 3 * n * 2**B)
            t = integer(f"{place}/t", 3 * n * 2 ** (B + 1))
            products = (w * value for w, value in zip(W1[u], x, strict=True))
            peer.add_square(weight, peer.total(products) + b1[u] - s)
            peer.add_square(weight, a * s - r)
            peer.add_square(weight, a + 2 * r - t - 1)
            activations.append(a)
        y = integer(f"layer2/unit0/sample{i}/y", 4 * H, -2 * H)
        outputs = (w * a for w, a in zip(W2, activations, strict=True))
        peer.add_square(weight, 2 * (peer.total(outputs) + b2) - y)
        peer.add_square(1, y - 2 * H * label)
    return peer.terms()


def add_squared_terms(result: defaultdict[Any, Any], weight: int, terms: Terms) -> None:
    """Add ``weight * terms^2`` over bits to ``result``, each pair of terms once."""
    items = list(terms.items())
    for place, (left, a) in enumerate(items):
        result[left] += weight * a * a
        double = 2 * weight * a
        for right, b in items[place + 1 :]:
            result[left | right] += double * b


class DimodSymbols:
    """``dimod.Binary`` and model arithmetic as far as it goes; squares above degree two by dictionary."""

    name = "dimod symbols"

    def __init__(self) -> None:
        import dimod

        self.dimod = dimod
        self.low = dimod.BinaryQuadraticModel("BINARY")
        self.high: defaultdict[Any, Any] = defaultdict(int)

    def bit(self, name: str) -> Any:
        """A model of one variable."""
        return self.dimod.Binary(name)

    def total(self, parts: Iterable[Any]) -> Any:
        """The sum that dimod offers for this, in place."""
        return self.dimod.quicksum(parts)

    def add_square(self, weight: int, value: Any) -> None:
        """A model's square where it is linear."""
        if value.is_linear():
            self.low.update(weight * value**2)
        else:
            add_squared_terms(self.high, weight, self._terms(value))

    @staticmethod
    def _terms(model: Any) -> Terms:
        terms: Terms = {frozenset((v,)): bias for v, bias in model.linear.items()}
        terms |= {frozenset(pair): bias for pair, bias in model.quadratic.items()}
        terms[frozenset()] = model.offset
        return {term: bias for term, bias in terms.items() if bias}

    def terms(self) -> Terms:
        """Both parts together."""
        result = self.high.copy()
        for term, bias in self._terms(self.low).items():
            result[term] += bias
        return {term: bias for term, bias in result.items() if bias}


class Expression(dict[frozenset[str], int]):
    """A polynomial as a dictionary, what one writes who wants no library."""

    def __add__(self, other: Expression | int) -> Expression:
        result = Expression(self)
        for term, value in _items(other):
            result[term] = result.get(term, 0) + value
        return result

    def __sub__(self, other: Expression | int) -> Expression:
        return self + other * -1

    def __mul__(self, other: Expression | int) -> Expression:
        if isinstance(other, int):
            return Expression({term: value * other for term, value in self.items()})
        result = Expression()
        for left, a in self.items():
            for right, b in other.items():
                result[left | right] = result.get(left | right, 0) + a * b
        return result

    __rmul__ = __mul__


def _items(other: Expression | int) -> Iterable[tuple[frozenset[str], int]]:
    return [(frozenset(), other)] if isinstance(other, int) else other.items()


class Dictionary:
    """No library but for the reduction: terms in a dictionary keyed by frozen sets."""

    name = "hand-written dictionary"

    def __init__(self) -> None:
        self.result: defaultdict[Any, Any] = defaultdict(int)

    def bit(self, name: str) -> Any:
        """One term."""
        return Expression({frozenset((name,)): 1})

    def total(self, parts: Iterable[Any]) -> Any:
        """In place."""
        result = Expression()
        for part in parts:
            for term, value in part.items():
                result[term] = result.get(term, 0) + value
        return result

    def add_square(self, weight: int, value: Any) -> None:
        """Pairs of terms."""
        add_squared_terms(self.result, weight, value)

    def terms(self) -> Terms:
        """Without zeros."""
        return {term: value for term, value in self.result.items() if value}


class Qubovert:
    """qubovert's PUBO arithmetic, of any degree."""

    name = "qubovert PUBO"

    def __init__(self) -> None:
        import qubovert  # type: ignore[import-not-found]

        self.qubovert = qubovert
        self.result = qubovert.PUBO()

    def bit(self, name: str) -> Any:
        """A PUBO of one variable."""
        return self.qubovert.PUBO({(name,): 1})

    def total(self, parts: Iterable[Any]) -> Any:
        """In place."""
        result = self.qubovert.PUBO()
        for part in parts:
            result += part
        return result

    def add_square(self, weight: int, value: Any) -> None:
        """The library's power."""
        self.result += weight * value**2

    def terms(self) -> Terms:
        """Keyed as the others."""
        return {frozenset(term): value for term, value in self.result.items()}


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
    peers: list[type[Peer]] = [DimodSymbols, Dictionary]
    if importlib.util.find_spec("qubovert") is not None:
        peers.append(Qubovert)
    group = f"Whole compile, N = {samples}, paper form"
    rows = []
    for peer in peers:
        name = peer.name  # type: ignore[attr-defined]

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


# -- growth, in processes of their own -------------------------------------------------------------


def peak_memory() -> int:
    """Largest resident size of this process in bytes.

    Not ``ru_maxrss`` on Linux: that is inherited from the parent across fork and exec.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def child_growth(formulation: str, samples: int) -> dict[str, Any]:
    """Compile one size here and now; for a fresh process."""
    import isinglearn as il
    from isinglearn.paper.instances import two_moons

    warm_up()
    instance = two_moons(samples)
    before = peak_memory()

    times: list[tuple[float, float]] = []
    peak = 0
    while len(times) < 3 and (not times or times[-1][0] < LONG):
        problem = None
        gc.collect()
        start = time.perf_counter()
        problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
        _ = problem.qcbo
        searching = time.perf_counter()
        _ = problem.certificate
        search = time.perf_counter() - searching
        _ = problem.qubo.polynomial
        elapsed = time.perf_counter() - start
        times.append((elapsed, elapsed - search))
        # Later rounds would count what the allocator keeps of earlier ones.
        peak = peak or peak_memory() - before
    assert problem is not None
    return {
        "formulation": formulation,
        "samples": samples,
        "seconds": min(total for total, _ in times),
        "seconds_without_search": min(rest for _, rest in times),
        "peak_bytes": peak,
        "terms": problem.hubo.polynomial.num_terms,
        "hubo_spins": problem.hubo.num_variables,
        "spins": problem.qubo.num_variables,
        "couplers": problem.qubo.num_couplers,
    }


def child_kernels() -> dict[str, Any]:
    """First compile of a tiny instance in both forms, less the second: what kernels cost this process."""
    import numba  # noqa: F401  # its import is no kernel
    import scipy.sparse.csgraph  # noqa: F401

    import isinglearn  # noqa: F401

    start = time.perf_counter()
    warm_up()
    first = time.perf_counter() - start
    again, _ = best_of(warm_up)
    return {"seconds": first - again}


def in_process(*arguments: str, cache: str | None = None) -> dict[str, Any]:
    """Turn a child's arguments into what it measured."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    answer = subprocess.run(
        [sys.executable, __file__, "--child", *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


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


def growth_rows(sizes: tuple[int, ...]) -> tuple[list[Row], list[dict[str, Any]]]:
    """Time and memory per term, relative to the smallest size."""
    rows: list[Row] = []
    records = []
    limits = {("paper", 5000): (60.0, 4.0), ("compact", 5000): (10.0, None)}
    for formulation in FORMULATIONS:
        base: dict[str, Any] | None = None
        for size in sizes:
            record = in_process("growth", formulation, str(size))
            records.append(record)
            base = base or record
            rows += _growth_rows(record, base, limits.get((formulation, size), (None, None)))
    return rows, records


def _growth_rows(
    record: dict[str, Any], base: dict[str, Any], limits: tuple[float | None, float | None]
) -> list[Row]:
    size, terms = record["samples"], record["terms"]
    merged = ", equal inputs merged" if record["formulation"] == "compact" else ""
    group = f"Growth, {record['formulation']} form{merged}"
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
        title="Compiling two moons (ratio: against over ours; growth: ours over against)",
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
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        kind, *rest = arguments.child
        record = child_kernels() if kind == "kernels" else child_growth(rest[0], int(rest[1]))
        print(json.dumps(record))
        return 0
    samples = 10 if arguments.quick else FULL
    sizes = (50, 500) if arguments.quick else (50, 500, 5000)
    rows = kernel_rows()
    warm_up()
    rows = [*reduction_rows(samples), *compile_rows(samples), *rows]
    growth, records = growth_rows(sizes)
    rows += growth
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

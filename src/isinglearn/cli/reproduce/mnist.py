"""``isinglearn reproduce mnist``."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, picture, with_common
from isinglearn.cli.parameters import COUNT
from isinglearn.cli.printing import in_time, print_table

if TYPE_CHECKING:
    from isinglearn.solvers.session import Event

Row = dict[str, Any]


@click.command()
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that has the folder mnist; by default ISINGLEARN_DATA, the cache, a download.",
)
@click.option("--digits", is_flag=True, help="The 8x8 digits of scikit-learn instead of MNIST.")
@click.option("--solver", default="annealer", show_default=True, help="One that makes reads.")
@click.option(
    "--reads", default=100, show_default=True, type=COUNT, metavar="N", help="Reads of each run."
)
@click.option(
    "--sweeps",
    default=1000,
    show_default=True,
    type=COUNT,
    metavar="N",
    help="Sweeps of each read.",
)
@picture("mnist.png")
@with_common(seed="Seed of the solvers.")
def mnist(common: Common, output: Path, **given: Any) -> None:
    """Verification 3: digits 6 and 9 of MNIST, the QUBO annealed many times (figures 9 and 10)."""
    record = measure(common, output, **given)
    common.answer(record, lambda: show(record))


def measure(
    common: Common,
    picture: Path,
    *,
    data: Path | None = None,
    digits: bool = False,
    solver: str = "annealer",
    reads: int = 100,
    sweeps: int = 1000,
) -> dict[str, Any]:
    """Choose the images, compile, prove, anneal and score, and draw figures 9 and 10."""
    from isinglearn.paper.solvability import (
        PAPER,
        load_mnist,
        load_small_digits,
        verify_solvability,
    )
    from isinglearn.report.mnist_figures import draw_solvability

    seed = common.seed
    with common.progress("6 and 9") as bar:

        def on_event(event: Event) -> None:
            common.stop_if_interrupted()
            bar.on_event(event)

        images = load_small_digits(seed) if digits else load_mnist(data, download=True)
        verified = verify_solvability(
            images, solver, reads=reads, sweeps=sweeps, seed=seed, on_event=on_event
        )
    record = verified.record()
    draw_solvability(record, picture)
    about = {name: record[name] for name in ("images", "choice")}
    about |= {"paper": PAPER, "source": str(images.source), "picture": str(picture)}
    return {"mnist": record["rows"], **about}


def show(record: dict[str, Any]) -> None:
    """Print success, networks, problems, and how to read them."""
    rows, paper = record["mnist"], record["paper"]
    sets = [list(own) for _, own in groupby(rows, lambda row: row["train_images"])]
    for place, own in enumerate(sets):
        _print_success(own, record["images"], None if place else paper)
    _print_networks(rows, paper)
    _print_problems(rows)
    for text in [*_ways(rows), *_choice(record["choice"], paper)]:
        click.echo(click.wrap_text(text, 80))
    click.echo(f"Images: {record['source']}")
    click.echo(f"Picture of figures 9 and 10: {record['picture']}")


# -- tables ----------------------------------------------------------------------------------------


def _print_success(rows: list[Row], images: str, paper: Row | None) -> None:
    printed = []
    if paper is not None:
        success = f"{paper['success_probability']:.0%}"
        times = in_time(paper["tts_seconds"]), in_time(paper["anneal_ms"] / 1e3)
        printed = [["paper, printed", success, times[0], None, None, times[1]]]

    def cells(row: Row) -> list[Any]:
        return [
            _share(row, ""),
            _until(row, ""),
            _share(row, "_raw"),
            _until(row, "_raw"),
            in_time(row["anneal_ms"] / 1e3),
        ]

    title = f"{images}: {rows[0]['train_images']} training images, {rows[0]['reads']} reads"
    columns = ["form, spins", "loss", "TTS", "energy", "TTS", "a read"]
    print_table(f"{title}, {rows[0]['solver']}", columns, printed + _sections(rows, cells))


def _print_networks(rows: list[Row], paper: Row) -> None:
    def cells(row: Row) -> list[Any]:
        if row["parameters"] is None:
            return ["none found"]
        shares = [f"{row[name]:.2%}" for name in ("train_accuracy", "test_accuracy")]
        (_, nine_as_six), (six_as_nine, _) = row["confusion"]
        return [_loss(row["loss"]), *shares, six_as_nine, nine_as_six]

    printed = ["paper, printed", "0", None, f"{paper['test_accuracy']:.1%}"]
    print_table(
        f"Best network of each run, on {rows[0]['test_images']} test images",
        ["form, spins", "loss", "training", "test", "6 as 9", "9 as 6"],
        [_filled(printed, 6), *_sections(rows, cells)],
    )


def _print_problems(rows: list[Row]) -> None:
    problems = [next(own) for _, own in groupby(rows, _problem)]
    print_table(
        "The problems; least loss proved by " + ", ".join(rows[0]["proofs"]),
        ["form, spins", "images", "samples", "least loss", "optima", "compile", "decode"],
        [
            [
                _problem(row),
                row["train_images"],
                row["distinct_samples"],
                _loss(row["optimum"]),
                row["optimal_networks"],
                in_time(row["compile_ms"] / 1e3),
                None if row["decode_ms"] is None else in_time(row["decode_ms"] / 1e3),
            ]
            for row in problems
        ],
    )


def _sections(rows: list[Row], cells: Any) -> list[list[Any]]:
    """Turn rows into lines under a heading for each problem; one line where it has but one row."""
    lines = []
    for problem, own in groupby(rows, _problem):
        ways = list(own)
        width = len(cells(ways[0])) + 1
        if len(ways) == 1:
            lines.append([problem, *cells(ways[0])])
            continue
        lines.append(_filled([problem], width))
        lines += [[f"  {row['label']}", *cells(row)] for row in ways]
    return lines


def _problem(row: Row) -> str:
    return f"{row['formulation']}, {row['spins']}"


def _filled(cells: list[Any], width: int) -> list[Any]:
    return cells + [None] * (width - len(cells))


def _share(row: Row, kind: str) -> str:
    low, high = row[f"success_interval{kind}"]
    return f"{row[f'success_probability{kind}']:.0%} {100 * low:.0f}-{100 * high:.0f}"


def _until(row: Row, kind: str) -> str:
    """Time to solution; where no read succeeded, what it is above by the interval's upper end."""
    seconds, bound = row[f"tts_seconds{kind}"], row[f"tts_interval{kind}"][0]
    return f"> {in_time(bound)}" if seconds is None else in_time(seconds)


def _loss(fraction: str) -> str:
    from fractions import Fraction

    return f"{float(Fraction(fraction)):.4g}"


# -- words -----------------------------------------------------------------------------------------


def _ways(rows: list[Row]) -> list[str]:
    """What the tables' columns and rows mean."""
    lines = [
        "loss: success on the loss of the network read, all but its parameters recomputed; energy: "
        "success on the raw energy of the QUBO. In %, with the 95 % interval. TTS: time until 99 % "
        "success, one read after the other; with > where no read succeeded.",
    ]
    if any(row["label"] == "walk" for row in rows):
        lines.append(
            "walk: a parameter changes with all that follows from it, so it knows the network; "
            "flips: single spins of the QUBO; tempering: the same in 16 replicas."
        )
    first = rows[0]
    lines.append(
        f"So small a network has {first['networks']} settings, and brute force tries them all in "
        f"{in_time(first['proof_ms']['brute'] / 1e3)}: what is shown is that the QUBO has the right "
        "ground state and can be annealed, not that it has to be."
    )
    merged = [row for row in rows if row["distinct_samples"] < row["train_images"]]
    if merged:
        bits = max(row["qcbo_unmerged"] or 0 for row in merged)
        lines.append(
            "Equal training images are one sample of more weight, in both forms; the paper's form "
            f"with variables for every image has {bits} bits before products."
        )
    return lines


def _choice(choice: dict[str, Any], paper: Row) -> list[str]:
    """How the four images were chosen, and what other choices would have given."""
    low, high = choice["thresholds"]
    images, pairs = choice["spread_over_images"], choice["spread_over_thresholds"]
    return [
        f"Choice, on training images only: thresholds {low} and {high}; images "
        f"{', '.join(map(str, choice['training_images']))}, whose zero-loss networks are one function, "
        f"right on {choice['train_right']} of {choice['train_images']} training images.",
        f"Other images at these thresholds: {images['share_of_draws']:.2%} of the draws leave one "
        f"function; it has {images['test']['least']:.1%} to {images['test']['most']:.1%} on the test "
        f"images, {images['test']['mean']:.1%} on average, and is ours in {images['share_of_best']:.0%}.",
        f"Other thresholds: {pairs['possible']} of {pairs['pairs']} pairs allow such a choice; their "
        f"best has {pairs['test'][0]:.1%} to {pairs['test'][-1]:.1%} on the test images, median "
        f"{pairs['test'][2]:.1%}; {pairs['as_good_as_paper']} reach {paper['test_accuracy']:.1%}.",
    ]

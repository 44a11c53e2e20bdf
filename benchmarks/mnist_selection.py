"""MNIST files -> the chosen thresholds and four images, their accuracy, and the spread.

Run with the data directory (the one that has the folder ``mnist``) as argument or in the
environment variable ISINGLEARN_DATA:

    PYTHONPATH=src python benchmarks/mnist_selection.py [directory]

The test images are only scored here; no choice depends on them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.paper import mnist, mnist_choice

IntArray = NDArray[np.int64]


def main() -> int:
    """Turn the command line into a printed report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("directory", nargs="?", help="data directory, else ISINGLEARN_DATA")
    arguments = parser.parse_args()
    try:
        train = mnist.load_six_nine("train", arguments.directory)
        test = mnist.load_six_nine("test", arguments.directory)
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    start = time.perf_counter()
    train_counts = mnist.patch_counts(train.images)
    selection = mnist_choice.select_training_set(train_counts, train.labels)
    seconds = time.perf_counter() - start
    test_counts = mnist.patch_counts(test.images)
    print_selection(selection, test_counts, test.labels)
    print(f"rule took {seconds:.2f} s\n")
    print_image_spread(selection, train_counts, train.labels, test_counts, test.labels)
    print_threshold_spread(train_counts, train.labels, test_counts, test.labels)
    return 0


def print_selection(
    selection: mnist_choice.Selection, test_counts: IntArray, test_labels: IntArray
) -> None:
    """Print the chosen thresholds, images, parameters and accuracies."""
    inputs = np.array(selection.inputs, dtype=np.int64)
    zero_loss = mnist_choice.zero_loss_parameters(
        inputs, np.array(selection.labels, dtype=np.int64)
    )
    test_inputs = mnist.normalise(test_counts, selection.thresholds)
    predicted = mnist_choice.predict(selection.parameters, test_inputs)
    print(selection.thresholds)
    for values, label, index in zip(
        selection.inputs, selection.labels, selection.indices, strict=True
    ):
        digit = 6 if label > 0 else 9
        print(f"  image {list(values)}  label {label:+d}  (digit {digit}, training row {index})")
    print(f"zero-loss settings on these four: {len(zero_loss)} of 4096: {zero_loss}")
    print(f"distinct inputs in training: {selection.distinct_inputs}")
    print("train accuracy", _share(selection.correct, selection.total))
    print("test accuracy ", _share(int((predicted == test_labels).sum()), len(test_labels)))
    for label, digit in zip(mnist.CLASSES, (6, 9), strict=True):
        counts = [int(((test_labels == label) & (predicted == p)).sum()) for p in mnist.CLASSES]
        print(f"  test digit {digit}: predicted 6 {counts[0]}, predicted 9 {counts[1]}")


def print_image_spread(
    selection: mnist_choice.Selection,
    train_counts: IntArray,
    train_labels: IntArray,
    test_counts: IntArray,
    test_labels: IntArray,
) -> None:
    """Print, at the chosen thresholds, how accuracy varies over all admissible quartets."""
    train = mnist_choice.histogram(
        mnist.normalise(train_counts, selection.thresholds), train_labels
    )
    test = mnist_choice.histogram(mnist.normalise(test_counts, selection.thresholds), test_labels)
    train_right, test_right = _correct(train), _correct(test)
    quartets = [mnist_choice.available_quartets(f, train) for f in range(len(train_right))]
    number = np.array([len(rows) for rows in quartets])
    draws = [_draws(rows, train) for rows in quartets]
    used = number > 0
    all_draws = math.prod(math.comb(int(total), 2) for total in train.sum(axis=1))
    print(f"four images at {selection.thresholds}:")
    print(f"  admissible quartets of inputs: {number.sum()}, for {used.sum()} functions")
    print(f"  admissible among random draws of two 6s and two 9s: {sum(draws) / all_draws:.2%}")
    for name, right, total in (
        ("train", train_right, int(train.sum())),
        ("test", test_right, int(test.sum())),
    ):
        weighted = sum(d * int(r) for d, r in zip(draws, right, strict=True))
        low, high, mean = right[used].min(), right[used].max(), weighted / sum(draws)
        print(
            f"  {name} accuracy over admissible draws: "
            f"{low / total:.2%} to {high / total:.2%}, mean {mean / total:.2%}"
        )
    best = int(np.argmax(train_right * used))
    print(f"  quartets that determine the chosen function: {number[best]}")
    print(f"  their share of the admissible draws: {draws[best] / sum(draws):.2%}\n")


def print_threshold_spread(
    train_counts: IntArray, train_labels: IntArray, test_counts: IntArray, test_labels: IntArray
) -> None:
    """Print how the best admissible function of each threshold pair does."""
    pairs, tables = mnist_choice.threshold_histograms(train_counts, train_labels)
    scores = []
    for pair, table in zip(pairs, tables, strict=True):
        right = _correct(table)
        order = np.argsort(-right, kind="stable")
        best = next((f for f in order if len(mnist_choice.available_quartets(int(f), table))), None)
        if best is not None:
            thresholds = mnist.Thresholds(int(pair[0]), int(pair[1]))
            test = mnist_choice.histogram(mnist.normalise(test_counts, thresholds), test_labels)
            test_share = _correct(test)[best] / test.sum()
            scores.append((right[best] / table.sum(), test_share, thresholds))
    scores.sort(key=lambda score: (-score[0], score[2]))
    print(f"threshold pairs with an admissible choice: {len(scores)} of {len(pairs)}")
    for name, column in (("train", 0), ("test", 1)):
        values = np.array([score[column] for score in scores])
        quantiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
        text = " ".join(f"{value:.2%}" for value in quantiles)
        print(f"  {name} accuracy, min / quartiles / max: {text}")
    test_values = np.array([score[1] for score in scores])
    print(f"  pairs with at least 98.3 % on test: {(test_values >= 0.983).sum()}")
    print("  best ten on training (train, test):")
    for train_score, test_score, thresholds in scores[:10]:
        print(f"    {thresholds.low:3d} {thresholds.high:3d}  {train_score:.3%}  {test_score:.3%}")


def _correct(table: IntArray) -> IntArray:
    """Turn a histogram (2, 81) into the number of correct images per function."""
    six = mnist_choice.classifiers() > 0
    right: IntArray = six @ table[0] + ~six @ table[1]
    return right


def _draws(quartets: IntArray, table: IntArray) -> int:
    """Turn quartets of inputs into the number of image quadruples that show one of them."""
    sixes, nines = table[0][quartets[:, :2]], table[1][quartets[:, 2:]]
    return int((sixes.prod(axis=1) * nines.prod(axis=1)).sum())


def _share(part: int, whole: int) -> str:
    """Turn a count into text with its percentage."""
    return f"{part}/{whole} = {part / whole:.3%}"


if __name__ == "__main__":
    sys.exit(main())

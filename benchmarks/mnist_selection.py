"""MNIST files -> the chosen thresholds and four images, their accuracy, and the spread.

Run with the data directory (the one that has the folder ``mnist``) as argument or in the
environment variable ISINGLEARN_DATA:

    PYTHONPATH=src python benchmarks/mnist_selection.py [directory]

The test images are only scored here; no choice depends on them.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.paper import mnist, mnist_choice, mnist_spread

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
    trained, tested = (train_counts, train.labels), (test_counts, test.labels)
    print_image_spread(selection.thresholds, trained, tested)
    print_threshold_spread(trained, tested)
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
    thresholds: mnist.Thresholds, train: mnist_spread.Labelled, test: mnist_spread.Labelled
) -> None:
    """Print, at the chosen thresholds, how accuracy varies over all admissible quartets."""
    spread = mnist_spread.spread_over_images(thresholds, train, test)
    print(f"four images at {thresholds}:")
    print(
        f"  admissible quartets of inputs: {spread['quartets']}, for {spread['functions']} functions"
    )
    share = spread["share_of_draws"]
    print(f"  admissible among random draws of two 6s and two 9s: {share:.2%}")
    for name in ("train", "test"):
        least, mean, most = (spread[name][part] for part in ("least", "mean", "most"))
        print(
            f"  {name} accuracy over admissible draws: {least:.2%} to {most:.2%}, mean {mean:.2%}"
        )
    print(f"  quartets that determine the chosen function: {spread['quartets_of_best']}")
    print(f"  their share of the admissible draws: {spread['share_of_best']:.2%}\n")


def print_threshold_spread(train: mnist_spread.Labelled, test: mnist_spread.Labelled) -> None:
    """Print how the best admissible function of each threshold pair does."""
    spread = mnist_spread.spread_over_thresholds(train, test)
    print(f"threshold pairs with an admissible choice: {spread['possible']} of {spread['pairs']}")
    for name in ("train", "test"):
        text = " ".join(f"{value:.2%}" for value in spread[name])
        print(f"  {name} accuracy, min / quartiles / max: {text}")
    print(f"  pairs with at least 98.3 % on test: {spread['as_good_as_paper']}")
    print("  best ten on training (train, test):")
    for low, high, train_score, test_score in spread["best"]:
        print(f"    {low:3d} {high:3d}  {train_score:.3%}  {test_score:.3%}")


def _share(part: int, whole: int) -> str:
    """Turn a count into text with its percentage."""
    return f"{part}/{whole} = {part / whole:.3%}"


if __name__ == "__main__":
    sys.exit(main())

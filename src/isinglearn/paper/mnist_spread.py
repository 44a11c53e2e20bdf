"""How much hangs on the choice of MNIST images and thresholds: the spread over all others."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from isinglearn.paper.mnist import (
    CLASSES,
    Thresholds,
    normalise,
)
from isinglearn.paper.mnist_choice import (
    INPUTS,
    available_quartets,
    classifiers,
    histogram,
    threshold_histograms,
)
from isinglearn.problem.encodings import IntArray

# Inputs, or patch counts, and labels.
Labelled = tuple[IntArray, IntArray]
# Test accuracy that the paper prints.
PAPER_ACCURACY = 0.983
# Inputs of each digit among which a quartet is looked for first.
_FEW = 14


def spread_over_images(thresholds: Thresholds, train: Labelled, test: Labelled) -> dict[str, Any]:
    """Turn thresholds and patch counts into how the function varies with the four training images.

    Of all draws of two sixes and two nines those count whose zero-loss networks are one function.
    """
    tables = [histogram(normalise(counts, thresholds), labels) for counts, labels in (train, test)]
    quartets = [available_quartets(f, tables[0]) for f in range(len(classifiers()))]
    draws = np.array([_draws(rows, tables[0]) for rows in quartets])
    used = draws > 0
    every = math.prod(math.comb(int(total), 2) for total in tables[0].sum(axis=1))
    best = int(np.argmax(_right(tables[0]) * used))
    record: dict[str, Any] = {
        "quartets": sum(map(len, quartets)),
        "functions": int(used.sum()),
        "share_of_draws": float(draws.sum() / every),
        "quartets_of_best": len(quartets[best]),
        "share_of_best": float(draws[best] / draws.sum()),
    }
    for name, table in zip(("train", "test"), tables, strict=True):
        share = _right(table)[used] / table.sum()
        mean = float(share @ draws[used] / draws.sum())
        record[name] = {"least": float(share.min()), "mean": mean, "most": float(share.max())}
    return record


def spread_over_thresholds(train: Labelled, test: Labelled) -> dict[str, Any]:
    """Turn patch counts into how the best function of every pair of thresholds does.

    The best function is the one that is right on most training images, of those that four of them
    determine.
    """
    pairs, tables = threshold_histograms(*train)
    scores = []
    for (low, high), table, right in zip(pairs.tolist(), tables, _right(tables), strict=True):
        order = map(int, np.argsort(-right, kind="stable"))
        best = next((f for f in order if _is_determined(f, table)), None)
        if best is not None:
            tested = histogram(normalise(test[0], Thresholds(low, high)), test[1])
            shares = right[best] / table.sum(), _right(tested)[best] / tested.sum()
            scores.append([low, high, *map(float, shares)])
    scores.sort(key=lambda score: (-score[2], score[:2]))
    quartiles = np.quantile(np.array(scores)[:, 2:], [0, 0.25, 0.5, 0.75, 1], axis=0)
    return {
        "pairs": len(pairs),
        "possible": len(scores),
        "train": quartiles[:, 0].tolist(),
        "test": quartiles[:, 1].tolist(),
        "as_good_as_paper": sum(score[3] >= PAPER_ACCURACY for score in scores),
        "best": scores[:10],
    }


def _right(tables: IntArray) -> IntArray:
    """Turn histograms (..., 2, 81) into how many images each function classifies correctly."""
    six = (classifiers() > 0).astype(np.int64).T
    right: IntArray = tables[..., 0, :] @ six + tables[..., 1, :] @ (1 - six)
    return right


def _draws(quartets: IntArray, table: IntArray) -> int:
    """Turn quartets of inputs into the number of image quadruples that show one of them."""
    sixes, nines = table[0][quartets[:, :2]], table[1][quartets[:, 2:]]
    return int((sixes.prod(axis=1) * nines.prod(axis=1)).sum())


def _is_determined(classifier: int, table: IntArray) -> bool:
    """Turn a function and a histogram into whether some quartet of present inputs determines it."""
    # All but the last line is there to be fast: listing all quartets takes a hundred times as long.
    if not _can_be_determined(classifier):
        return False
    function = classifiers()[classifier]
    differs = classifiers() != function
    right = (function > 0) & (table[0] > 0) | (function < 0) & (table[1] > 0)
    # A rival that agrees on all present inputs agrees on any four.
    if np.count_nonzero(differs[:, right].any(axis=1)) < len(differs) - 1:
        return False
    # The inputs that exclude most rivals nearly always hold a quartet.
    telling = np.argsort(-differs.sum(axis=0), kind="stable")
    few = np.zeros_like(table)
    for row, label in zip(few, CLASSES, strict=True):
        row[telling[(right & (function == label))[telling]][:_FEW]] = 1
    return any(len(available_quartets(classifier, given)) for given in (few, table))


@cache
def _can_be_determined(classifier: int) -> bool:
    """Turn a function into whether a quartet would determine it if all inputs were there."""
    return len(available_quartets(classifier, np.ones((2, len(INPUTS)), dtype=np.int64))) > 0

"""The four MNIST images to train on, and the two thresholds, chosen on training data only.

Of all quartets (two sixes, two nines) whose zero-loss networks all realise one function on all 81 inputs,
the rule takes the thresholds and the function that are right on most training images, then the most
typical quartet of that function.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.paper.mnist import CLASSES, Thresholds, normalise
from isinglearn.problem.encodings import IntArray

# --------------------------------------------------------------------------------------------
# The paper's network 4-1-1 for B = 0, small enough to be listed in full
# --------------------------------------------------------------------------------------------

_WEIGHTS = (-1, 1)
_HIDDEN_BIASES = tuple(range(16))
_OUTPUT_VALUES = (-1, 0, 1, 2)
# An input read as four digits base 3 is its code, 0..80.
_PLACES = np.array([27, 9, 3, 1], dtype=np.int64)
_CODES = 81


def _frozen(array: IntArray) -> IntArray:
    """Turn an array into a read-only one, since cached arrays are shared by all callers."""
    array.setflags(write=False)
    return array


# All inputs in code order: INPUTS[encode_inputs(x)] == x.
INPUTS: IntArray = _frozen(np.array(list(itertools.product((-1, 0, 1), repeat=4)), dtype=np.int64))


class Parameters(NamedTuple):
    """One setting of the network ``y = output_weight * sign(hidden . x + bias) + output_bias``."""

    hidden_weights: tuple[int, int, int, int]
    hidden_bias: int
    output_weight: int
    output_bias: int


def encode_inputs(inputs: IntArray) -> IntArray:
    """Turn inputs (count, 4) with entries -1, 0, +1 into codes 0..80."""
    if inputs.ndim != 2 or inputs.shape[1] != 4 or bool((np.abs(inputs) > 1).any()):
        raise DataError(
            "these are no inputs of the MNIST task",
            where="inputs",
            rule="shape (count, 4) and entries -1, 0 or +1",
            received=f"shape {inputs.shape} with values {np.unique(inputs)[:8].tolist()}",
            remedy="pass what normalise or preprocess returns",
        )
    codes: IntArray = (inputs + 1) @ _PLACES
    return codes


def _check_labelled(rows: IntArray, labels: IntArray) -> None:
    """Turn patch rows (counts or inputs) and labels that do not fit together into an error."""
    if rows.ndim != 2 or rows.shape[1] != 4 or labels.shape != rows.shape[:1]:
        raise DataError(
            "patches and labels do not fit together",
            where="labels",
            rule="patches of shape (count, 4), one value for each patch, labels of shape (count,)",
            received=f"{rows.shape} and {labels.shape}",
            remedy="pass the patches and the labels of the same images",
        )
    if not bool(np.isin(labels, CLASSES).all()):
        raise DataError(
            "a label is not known",
            where="labels",
            rule="+1 (digit 6) or -1 (digit 9)",
            received=f"the values {np.unique(labels)[:8].tolist()}",
            remedy="pass what load_six_nine returns",
        )


@cache
def _settings() -> IntArray:
    """List all 4096 parameter settings as rows (w1, w2, w3, w4, b, V, c)."""
    columns = [_WEIGHTS] * 4 + [_HIDDEN_BIASES, _OUTPUT_VALUES, _OUTPUT_VALUES]
    return _frozen(np.array(list(itertools.product(*columns)), dtype=np.int64))


@cache
def _outputs() -> IntArray:
    """Turn all settings into their outputs (4096, 81) on all inputs, by a forward pass."""
    settings = _settings()
    sums = settings[:, :4] @ INPUTS.T + settings[:, 4:5]
    hidden = np.where(sums >= 0, 1, -1)
    return _frozen(settings[:, 5:6] * hidden + settings[:, 6:7])


def _parameters(row: IntArray) -> Parameters:
    """Turn a row of `_settings` into named parameters."""
    w1, w2, w3, w4, bias, weight, offset = (int(value) for value in row)
    return Parameters((w1, w2, w3, w4), bias, weight, offset)


@cache
def _zero_loss_rows() -> IntArray:
    """List the first setting of every function that can have zero loss on both classes.

    Zero loss with both labels present means outputs exactly +1 and -1. The output takes at most
    two values, so a setting that shows both is a +-1 classifier on every input.
    """
    outputs = _outputs()
    able = np.flatnonzero((outputs == 1).any(axis=1) & (outputs == -1).any(axis=1))
    _, first = np.unique(outputs[able], axis=0, return_index=True)
    return _frozen(np.sort(able[first]))


@cache
def classifiers() -> IntArray:
    """List all functions that can have zero loss, as rows of +-1 over the 81 input codes."""
    return _frozen(_outputs()[_zero_loss_rows()])


def classifier_parameters(classifier: int) -> Parameters:
    """Turn a row number of `classifiers` into the first setting that realises that function."""
    return _parameters(_settings()[_zero_loss_rows()[classifier]])


def predict(parameters: Parameters, inputs: IntArray) -> IntArray:
    """Turn inputs (count, 4) into labels: +1 (digit 6) where the output is not negative."""
    sums = inputs @ np.array(parameters.hidden_weights, dtype=np.int64) + parameters.hidden_bias
    output = parameters.output_weight * np.where(sums >= 0, 1, -1) + parameters.output_bias
    return np.where(output >= 0, 1, -1).astype(np.int64)


def zero_loss_parameters(inputs: IntArray, labels: IntArray) -> list[Parameters]:
    """Turn a labelled set into all settings, of the 4096, whose loss on it is zero."""
    _check_labelled(inputs, labels)
    fits = (_outputs()[:, encode_inputs(inputs)] == labels).all(axis=1)
    return [_parameters(row) for row in _settings()[fits]]


# --------------------------------------------------------------------------------------------
# The rule that chooses thresholds and training images
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The thresholds, the four training images, and the function they determine.

    Attributes
    ----------
    thresholds : Thresholds
        For `normalise` and `preprocess`.
    inputs : tuple of four inputs
        Two images of 6, then two of 9, each (upper left, upper right, lower left, lower right).
    labels : tuple of int
        (+1, +1, -1, -1).
    indices : tuple of int
        For each input the first training image that has it and its label.
    parameters : Parameters
        The zero-loss setting.
    correct, total : int
        Training images classified correctly, and all training images.
    distinct_inputs : int
        Different inputs among all training images.
    """

    thresholds: Thresholds
    inputs: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    indices: tuple[int, ...]
    parameters: Parameters
    correct: int
    total: int
    distinct_inputs: int


def select_training_set(counts: IntArray, labels: IntArray) -> Selection:
    """Turn training counts and labels into the thresholds and four images of the experiment.

    The rule looks at training data only and has no random part:

    1. A choice is admissible if its four images (two 6s, two 9s, different inputs within a
       class) leave one zero-loss function: all of the 4096 parameter settings with zero loss on
       them agree on all 81 inputs.
    2. Among the admissible choices, take those whose function classifies most training images
       correctly; of these the smallest `low`, then the smallest `high`, then the first function
       in the order of `classifiers`.
    3. Four inputs usually remain open. Take the most typical: compare, in ascending order, how
       many training images of its class share each of the four inputs, and prefer the larger;
       then the smallest codes.

    Parameters
    ----------
    counts : ndarray of int64, shape (count, 4)
        `patch_counts` of the training images.
    labels : ndarray of int64, shape (count,)
        +1 and -1.

    Raises
    ------
    DataError
        The arrays do not fit together, or no choice is admissible.
    """
    _check_labelled(counts, labels)
    for thresholds, classifier, table in _ranked_choices(counts, labels):
        quartets = available_quartets(classifier, table)
        if len(quartets):
            codes = _most_typical(quartets, table)
            parameters = classifier_parameters(classifier)
            return _selection(counts, labels, thresholds, codes, parameters)
    raise DataError(
        "there is no admissible training set",
        where="counts",
        rule="two images of 6 and two of 9 leave one zero-loss function, under some thresholds",
        received=f"{len(labels)} images that allow none",
        remedy="pass more, or more varied, training images",
    )


def _ranked_choices(
    counts: IntArray, labels: IntArray
) -> Iterator[tuple[Thresholds, int, IntArray]]:
    """Turn training data into (thresholds, function, histogram), best choice first."""
    pairs, tables = threshold_histograms(counts, labels)
    six_images, nine_images = tables[:, 0], tables[:, 1]
    is_six = (classifiers() > 0).astype(np.int64).T
    is_nine = 1 - is_six
    correct = six_images @ is_six + nine_images @ is_nine
    # Without two different inputs per class no quartet exists; leaving such choices out here
    # keeps the search short on data that allows few or none.
    possible = ((six_images > 0) @ is_six >= 2) & ((nine_images > 0) @ is_nine >= 2)
    # A stable sort keeps ties in the order of the pairs, then of the functions.
    candidates = np.flatnonzero(possible)
    order = np.argsort(-correct.ravel()[candidates], kind="stable")
    for flat in candidates[order]:
        pair, classifier = divmod(int(flat), correct.shape[1])
        yield Thresholds(int(pairs[pair, 0]), int(pairs[pair, 1])), classifier, tables[pair]


def threshold_histograms(counts: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Turn training data into all threshold pairs and their histograms of labelled inputs.

    Returns
    -------
    pairs : ndarray, shape (pairs, 2)
        Every (low, high) with 1 <= low < high <= largest count, in ascending order.
    histograms : ndarray, shape (pairs, 2, 81)
        For each pair what `histogram` gives on the normalised counts.
    """
    levels = np.arange(1, int(counts.max(initial=0)) + 1)
    # The code of an input is a sum of one term per threshold, so one pass per level is enough.
    terms = np.stack([(counts >= level) @ _PLACES for level in levels] or [labels[:0]])
    base = _class_offsets(labels)
    low, high = np.triu_indices(len(levels), k=1)
    tables = np.empty((len(low), 2 * _CODES), dtype=np.int64)
    for row, (i, j) in enumerate(zip(low, high, strict=True)):
        tables[row] = np.bincount(base + terms[i] + terms[j], minlength=2 * _CODES)
    pairs = np.stack([levels[low], levels[high]], axis=1)
    return pairs, tables.reshape(-1, 2, _CODES)


def _class_offsets(labels: IntArray) -> IntArray:
    """Turn labels into the start of their class in a flat histogram: 0 for 6, 81 for 9."""
    return np.where(labels == CLASSES[0], 0, _CODES).astype(np.int64)


def histogram(inputs: IntArray, labels: IntArray) -> IntArray:
    """Turn labelled inputs into numbers of images (2, 81): by class (6, then 9) and input code."""
    _check_labelled(inputs, labels)
    flat = _class_offsets(labels) + encode_inputs(inputs)
    return np.bincount(flat, minlength=2 * _CODES).reshape(2, _CODES).astype(np.int64)


def available_quartets(classifier: int, table: IntArray) -> IntArray:
    """Turn a function and a histogram into all quartets of present inputs that determine it.

    Parameters
    ----------
    classifier : int
        Row number in `classifiers`.
    table : ndarray, shape (2, 81)
        Numbers of images, as from `histogram`.

    Returns
    -------
    ndarray of int64, shape (quartets, 4)
        Codes of two inputs with images of 6, then of two with images of 9, ascending within a
        class. Labelled so, no other function has zero loss.
    """
    agrees, function = _agreement(classifier), classifiers()[classifier]
    sixes = _pairs(np.flatnonzero((function > 0) & (table[0] > 0)))
    nines = _pairs(np.flatnonzero((function < 0) & (table[1] > 0)))
    # One bit per rival: a quartet determines the function if no rival agrees on all four.
    alive_six = agrees[sixes[:, 0]] & agrees[sixes[:, 1]]
    alive_nine = agrees[nines[:, 0]] & agrees[nines[:, 1]]
    ambiguous = np.zeros((len(sixes), len(nines)), dtype=np.bool_)
    for word in range(agrees.shape[1]):
        ambiguous |= (alive_six[:, None, word] & alive_nine[None, :, word]) != 0
    six, nine = np.nonzero(~ambiguous)
    return np.hstack([sixes[six], nines[nine]])


@cache
def _agreement(classifier: int) -> NDArray[np.uint64]:
    """Turn a function into bits (81, words): on which inputs each other function agrees with it."""
    table = classifiers()
    rivals = np.delete(table, classifier, axis=0)
    return _pack((rivals == table[classifier]).T)


def _pack(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Turn rows of bits into rows of 64-bit words, padded with zeros."""
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(padded, axis=1)).view(np.uint64)


def _pairs(codes: IntArray) -> IntArray:
    """Turn codes into all pairs of two different ones, in lexicographic order."""
    first, second = np.triu_indices(len(codes), k=1)
    return np.stack([codes[first], codes[second]], axis=1)


def _most_typical(quartets: IntArray, table: IntArray) -> IntArray:
    """Turn quartets into the one whose rarest inputs are most frequent (rule 3)."""
    shares = np.hstack([table[0][quartets[:, :2]], table[1][quartets[:, 2:]]])
    shares.sort(axis=1)
    # lexsort's last key counts first: ascending shares, larger preferred, then smaller codes.
    keys = [*quartets.T[::-1], *(-shares.T[::-1])]
    best: IntArray = quartets[np.lexsort(keys)[0]]
    return best


def _selection(
    counts: IntArray,
    labels: IntArray,
    thresholds: Thresholds,
    codes: IntArray,
    parameters: Parameters,
) -> Selection:
    """Turn the chosen thresholds, codes and function into the record of the choice."""
    six, nine = CLASSES
    quartet_labels = (six, six, nine, nine)
    inputs = normalise(counts, thresholds)
    all_codes = encode_inputs(inputs)
    indices = tuple(
        int(np.flatnonzero((all_codes == code) & (labels == label))[0])
        for code, label in zip(codes, quartet_labels, strict=True)
    )
    return Selection(
        thresholds=thresholds,
        inputs=tuple(tuple(int(value) for value in INPUTS[code]) for code in codes),
        labels=quartet_labels,
        indices=indices,
        parameters=parameters,
        correct=int((predict(parameters, inputs) == labels).sum()),
        total=len(labels),
        distinct_inputs=len(np.unique(all_codes)),
    )

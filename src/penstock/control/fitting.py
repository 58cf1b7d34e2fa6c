"""Costs from durations: weighted least squares that lean on a belief, and on no single batch.

What is asked for are factors, how many times its believed cost each cost is, and `speed`, the
factor that they have in common. They are the numbers, none below 0, that make the least of

    Σ over batches  weight · (seconds - expected)² / (noise · expected)²
  + Σ over costs    (factor - speed)² / (spread · the greater of the two)²

- A batch that is twice as long may be off by twice as much: errors are relative.
- A batch that is off by more than 1.5 times the noise counts less, by the square of how much more:
  the further off, the weaker its pull. A pause for garbage collection is not a cost.
- A cost that is far from its belief costs at most 1/spread², so that data overrule a wrong belief.

Noise, expectation and weights depend on the answer, so it is found in rounds. How sure each factor
is comes from the curvature of the sum above (`uncertain` is its inverse).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.control.nonnegative import Floats, nonnegative

_LOOSE = (30.0, 10.0, 3.0)  # times the spread, in the first rounds: data speak first
_ROUNDS = 10
_ALIKE = 0.05  # if batches differ by less, nothing tells what rows cost from what a batch does
_SETTLED = 1e-3  # of the greatest factor: no cost that matters changes by more
_USUAL = 1.5  # times the noise
_SHORT = 0.25  # of the median duration: shorter batches are judged as if they took that long
_NOISE = 0.05  # relative, as believed before the first batch …
_BELIEF = 1.0  # … and worth that many batches
_TICK = 1e-6  # seconds: no clock of batches is finer
_LEAST_NOISE = 0.01
_ANY_SPEED = 10.0
_NORMAL = 1.4826  # the deviation of a normal distribution over its median absolute error


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer.

    Args:
        factors: of each cost, how many times the believed one it is.
        deviations: how far each factor may be off (one standard deviation).
        speed: the common factor; 2 is a machine half as fast as believed.
        noise: how far a batch may be off from what is expected of it, relative.
        expected: seconds of each batch, by the factors.
    """

    factors: Floats
    deviations: Floats
    speed: float
    noise: float
    expected: Floats


def fit(work: Floats, seconds: Floats, weights: Floats, spread: Floats) -> Fit:
    """Factors that explain the durations.

    Args:
        work: a row per batch, a column per cost: rows times the believed cost, in seconds.
        seconds: how long each batch took.
        weights: how much each batch counts; 1 for the newest.
        spread: how far each factor may be from the speed, relative.
    """
    factors, speed = _at_first(work, seconds, weights)
    noise = _noise(_errors(work, seconds, factors)[0], weights, 0.0)
    for looseness in (*_LOOSE, *[1.0] * _ROUNDS):
        off, scale = _errors(work, seconds, factors)
        usual = _USUAL * noise
        trust = weights * (usual / np.maximum(np.abs(off), usual)) ** 2
        pull = np.sqrt(trust) / (noise * scale)
        data = _with_column(work * pull[:, np.newaxis], 0.0)
        belief = _belief(factors, speed, looseness * spread)
        target = np.concatenate([seconds * pull, np.zeros(factors.size), belief[-1, -1:]])
        solution = nonnegative(np.vstack([data, belief]), target)
        before, factors, speed = factors, solution[:-1], float(solution[-1])
        told = data.T @ data
        uncertain = np.linalg.inv(told + belief.T @ belief)
        learnt = float(np.sum(uncertain * told))
        noise = _noise(_errors(work, seconds, factors)[0], weights, learnt)
        if looseness == 1 and _settled(before, factors, speed):
            break
    deviations = np.sqrt(np.diag(uncertain)[:-1])
    return Fit(factors, deviations, speed, noise, work @ factors)


def _at_first(work: Floats, seconds: Floats, weights: Floats) -> tuple[Floats, float]:
    """Where to begin: what a batch costs and what its rows do, each as fast as data say.

    One speed for both would have the batches that tell them apart look like accidents, where rows
    cost many times what was believed.
    """
    rows = work[:, 1:].sum(axis=1)
    if not seconds.size:
        return np.ones(work.shape[1]), 1.0
    speed = median(seconds / (work[:, 0] + rows), weights)
    if not rows.any() or np.ptp(rows) <= _ALIKE * rows.max():
        return np.full(work.shape[1], speed), speed
    pull = np.sqrt(weights) / np.maximum(seconds, _TICK)
    both = np.column_stack([work[:, 0], rows]) * pull[:, np.newaxis]
    fixed, each = nonnegative(both, seconds * pull)
    return np.array([fixed, *[each] * (work.shape[1] - 1)]), each if each > 0 else speed


def median(values: Floats, weights: Floats) -> float:
    """The value that half of the weight is not above.

    >>> median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0]))
    2.0
    """
    return lowest(values, weights, 0.5)


def lowest(values: Floats, weights: Floats, share: float) -> float:
    """The value that a share of the weight is not above."""
    order = np.argsort(values)
    up_to = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(up_to, up_to[-1] * share)])


def _settled(before: Floats, after: Floats, speed: float) -> bool:
    return bool(np.abs(after - before).max() <= _SETTLED * max(float(after.max()), speed))


def _errors(work: Floats, seconds: Floats, factors: Floats) -> tuple[Floats, Floats]:
    """How far each batch is off, relative to a scale, and the scale in seconds."""
    expected = work @ factors
    if not expected.size:
        return expected, expected
    least = max(_SHORT * float(np.median(seconds)), _TICK)
    scale = np.maximum(expected, least)
    return (seconds - expected) / scale, scale


def _belief(factors: Floats, speed: float, spread: Floats) -> Floats:
    """Equations that hold each factor to the speed, and the speed, very loosely, to 1."""
    room = spread * np.maximum(np.maximum(factors, speed), 1e-6)
    equations = _with_column(np.diag(1.0 / room), 0.0)
    equations[:, -1] = -1.0 / room
    loosely = np.zeros(factors.size + 1)
    loosely[-1] = 1.0 / (_ANY_SPEED * max(1.0, speed))
    return np.vstack([equations, loosely])


def _noise(errors: Floats, weights: Floats, learnt: float) -> float:
    """From the median error, which a few bad batches do not move.

    Args:
        errors: relative.
        weights: how much each batch counts.
        learnt: how many numbers were learnt from the batches; as many errors are not free.
    """
    if not errors.size:
        return _NOISE
    batches = float(weights.sum())
    typical = _NORMAL * median(np.abs(errors), weights)
    free = max(0.0, batches - learnt)
    square = (_BELIEF * _NOISE**2 + batches * typical**2) / (_BELIEF + free)
    return max(_LEAST_NOISE, float(np.sqrt(square)))


def _with_column(matrix: Floats, value: float) -> Floats:
    return np.hstack([matrix, np.full((matrix.shape[0], 1), value)])

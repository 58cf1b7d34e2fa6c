"""Least squares without negative unknowns, against trying every set of free unknowns."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.nonnegative import nonnegative


def naive(matrix, target):
    """The best of all sets of unknowns that may differ from 0."""
    best, least = np.zeros(matrix.shape[1]), float(target @ target)
    for choice in product([False, True], repeat=matrix.shape[1]):
        free = np.array(choice)
        if not free.any():
            continue
        x = np.zeros(matrix.shape[1])
        x[free] = np.linalg.lstsq(matrix[:, free], target, rcond=None)[0]
        error = float(np.sum((matrix @ x - target) ** 2))
        if (x >= 0).all() and error < least:
            best, least = x, error
    return best


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 0.3, 0.99]))
def test_the_same_as_trying_every_set(seed, size, alike):
    # The columns are alike to some degree, as the counts of operators are.
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(12, 1))
    matrix = alike * common + (1 - alike) * rng.normal(size=(12, size))
    target = rng.normal(size=12)
    found, expected = nonnegative(matrix, target), naive(matrix, target)
    assert (found >= 0).all()
    assert np.allclose(matrix @ found, matrix @ expected, atol=1e-6)


def test_no_unknowns_at_all():
    assert nonnegative(np.empty((3, 0)), np.ones(3)).size == 0

"""Rare groups keep their rows, and the share that was asked for is kept as far as that allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.coins import HASH_BITS
from penstock.drops.floors import BUCKETS, Bucket, from_json, thresholds, to_json

groups = st.lists(st.floats(0.1, 1e4), min_size=1, max_size=4)
known = st.dictionaries(st.integers(0, BUCKETS - 1), groups, min_size=1, max_size=30)


def buckets(groups):
    return {number: Bucket(sum(some), min(some)) for number, some in groups.items()}


def shares(groups, keep, floor):
    return [one / 2**HASH_BITS for one in thresholds(buckets(groups), keep, floor)]


@given(known, st.floats(0, 0.99), st.integers(1, 50))
def test_the_floor_holds_and_the_share_is_kept_as_far_as_it_allows(groups, keep, floor):
    found = shares(groups, keep, floor)
    assert len(found) == BUCKETS
    assert all(0 < share <= 1 for share in found)
    for number, some in groups.items():
        assert all(rows * found[number] >= min(rows, floor) * (1 - 1e-9) for rows in some)
    total = sum(sum(some) for some in groups.values())
    kept = sum(sum(some) * found[number] for number, some in groups.items())
    assert kept >= keep * total * (1 - 1e-6) - 1e-6
    # More than asked for is kept only where nothing can go.
    if kept > keep * total * (1 + 1e-6) + 1e-6:
        for number, some in groups.items():
            assert found[number] == pytest.approx(min(1.0, floor / min(some)), abs=1e-9)


def test_groups_that_nobody_knows_keep_all_rows():
    found = shares({1: [1000.0], 2: [5.0]}, 0.1, 10)
    assert found[1] == pytest.approx(0.0955)
    assert {found[i] for i in range(BUCKETS) if i != 1} == {1.0}
    assert thresholds({}, 0.1, 10) == thresholds({1: Bucket(9, 9)}, 1.0, 10) == ()


@given(known)
def test_what_is_known_is_kept_in_records(groups):
    assert from_json(to_json({"n": buckets(groups)})) == {"n": buckets(groups)}

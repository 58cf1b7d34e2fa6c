"""A run in a few figures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.status import Status
from penstock.view.scene import Scene
from penstock.view.summary import summary
from tests.view.bursts import NAMES, WARM, burst


def test_the_run_of_a_burst_held_its_target_and_says_what_it_lost():
    found = summary(burst())
    assert found.target_held
    assert found.warm_up == WARM
    assert found.held == pytest.approx(70 / 72)
    assert found.p95 == pytest.approx(2.72)
    assert 3 < (found.demand or 0) < 3.5
    gone = sum(of["shed_at_stream"] + of["shed_on_the_way"] for of in burst().accounts.values())
    assert found.loss == gone / sum(of["rows_in"] for of in burst().accounts.values())
    assert set(found.errors) == set(NAMES) - {"web_large"}
    assert found.balanced
    lines = found.lines()
    assert lines["target"].startswith("held: 95 % of rows answered within 2.7 s, asked for 3 s;")
    assert lines["target"].endswith("kept in 97 % of batches (8 of warm-up left out)")
    assert lines["accounts"].startswith("balanced")
    assert lines["problems"] == "1"


def test_one_row_that_is_missing_is_said_with_its_query():
    scene = burst()
    accounts = {**scene.accounts, "traffic": {**scene.accounts["traffic"], "taken": 1}}
    found = summary(replace(scene, accounts=accounts))
    assert (found.balanced, found.astray) == (False, ("traffic",))
    assert found.lines()["accounts"] == "NOT balanced: traffic"


def test_a_target_that_was_not_held_is_called_that():
    late = tuple(replace(one, target=2.0) for one in burst().statuses)
    found = summary(replace(burst(), statuses=late))
    assert found.target_held is False
    assert found.lines()["target"].startswith("not held")


@pytest.mark.parametrize("batches", [0, 1, 5])
def test_a_run_of_which_little_is_known_says_so(batches):
    found = summary(burst(batches))
    assert found.target_held is None
    expected = "3 s; no batch to judge it by yet" if batches else "none was given"
    assert found.lines()["target"] == expected


def test_a_run_without_accounts_says_so():
    found = summary(Scene(title="a"))
    assert (found.balanced, found.lines()["accounts"]) == (None, "none were kept")


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 50)), min_size=1, max_size=30))
def test_the_percentile_is_that_of_rows_one_by_one(batches):
    statuses = tuple(
        Status(at=n, batch=n, seconds=1, rows=rows, response=float(s), target=9.0, phase="exact")
        for n, (rows, s) in enumerate(batches)
    )
    rows = sorted(float(s) for n, s in batches for _ in range(n))
    naive = next(one for i, one in enumerate(rows, 1) if i >= 0.95 * len(rows) - 1e-9)
    assert summary(Scene(title="a", statuses=statuses)).p95 == naive


def test_rows_of_a_batch_came_one_after_the_other_and_ended_together():
    """
    came       |────────────| 4 s
    delivered                ·─────| 2 s      the first waits for 6 s, the last for 2
    """
    took, collected = 2.0, 4.0
    one = Status(
        at=0,
        batch=0,
        seconds=took,
        rows=1000,
        response=took + 0.95 * collected,
        median=took + 0.5 * collected,
        target=9.0,
        phase="exact",
    )
    both = (one, replace(one, batch=1, rows=3000, response=2.0, median=2.0))
    rows = [2.0] * 3000 + [took + collected * i / 1000 for i in range(1000)]
    found = summary(Scene(title="a", statuses=both)).p95
    assert found == pytest.approx(sorted(rows)[3800], abs=collected / 20)

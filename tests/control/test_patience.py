"""How long it is waited for what a warm-up has held up."""

from __future__ import annotations

import pytest

from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches

HELD_UP = Batch(rows=1200, collected=40, seconds=40, nominal=40, fixed=2, cost=16e-3)
"""Batches after it would take 21, 12, 8, 6, 5 s, and be in time after four of them."""


@pytest.mark.parametrize(("patience", "sheds"), [(50, False), (5, False), (2, True)])
def test_what_is_over_by_itself_in_time_is_not_shed_for(patience, sheds):
    control = SeamlessBatches(12.0, patience=patience)
    assert control.step(HELD_UP).sheds == sheds


def late(rate: float, *, seconds: float = 2.5, response: float | None = 4.9) -> Batch:
    """A batch that should have taken two seconds, half of them for rows at rate 1.

    Args:
        rate: in multiples of what can be kept up with.
        seconds: that it took, and the one before it, in which its rows came.
        response: of its rows; the target is four seconds.
    """
    rows = rate * 1e6 * seconds
    return Batch(
        rows=rows,
        collected=seconds,
        seconds=seconds,
        nominal=seconds,
        fixed=1,
        cost=1e-6,
        response=response,
    )


def kept(*batches: Batch) -> list[bool]:
    """Of each batch, whether all is kept after it."""
    control = SeamlessBatches(4.0, warmup=0, patience=0)
    return [control.step(one).keep == 1 for one in batches]


def test_nothing_is_shed_for_two_late_batches_where_all_can_be_kept_up_with():
    in_time = late(0.5, seconds=1.5, response=2.9)
    assert kept(late(0.5), late(0.5), late(0.5)) == [True, True, False]
    assert not kept(late(1.5))[0]
    # Those that are late again and again are none, be they in time in between.
    assert kept(late(0.5), late(0.5), in_time, late(0.5)) == [True, True, True, False]


def test_but_for_one_that_is_far_too_long_or_if_many_more_rows_come():
    assert not kept(late(0.5, seconds=6.0, response=11.0))[0]
    rising = [late(rate, seconds=1.5, response=2.9) for rate in (0.125, 0.25)]
    assert not kept(*rising, late(0.5))[-1]


def test_where_nobody_knows_how_late_rows_are_none_are_let_pass_for_it():
    assert not kept(late(0.5, response=None))[0]

"""While rows are shed, what may be kept changes by steps, whatever single batches say.

kept │ ██          ██        one late batch ─► a hundredth ─► one that is far too short ─► all:
     │ ██ ▁▁ ██ ▁▁ ██        each turn is another plan, and Java gets warm with none of them
     └───────────────
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.period import FLOOR

RATE, TARGET = 4e6, 4.0


def batch(seconds: float, response: float, before: float = 2.0) -> Batch:
    """A batch at several times the capacity, which should have taken two seconds, half of it fixed.

    Args:
        seconds: that it took.
        response: of its rows.
        before: seconds of the batch before it, in which they came.
    """
    rows = RATE * before
    return Batch(
        rows=rows,
        collected=before,
        seconds=seconds,
        nominal=2.0,
        fixed=1.0,
        cost=5e-7,
        response=response,
    )


def settled(control: SeamlessBatches) -> float:
    """The rows that are kept of the next batch, when batches take what they should."""
    keep = [control.step(batch(2.0, 0.97 * TARGET)).keep for _ in range(12)][-1]
    assert FLOOR < keep < 1
    return keep * RATE * 2.0


def test_one_late_batch_does_not_end_all() -> None:
    control = SeamlessBatches(TARGET, warmup=0)
    before = settled(control)
    kept = control.step(batch(3.4, 1.3 * TARGET)).keep * RATE * 3.4
    assert 0.25 * before <= kept < 0.8 * before


def test_it_does_where_nothing_is_smoothed() -> None:
    control = SeamlessBatches(TARGET, warmup=0, smooth=1.0)
    settled(control)
    assert control.step(batch(3.4, 1.3 * TARGET)).keep == FLOOR


@pytest.mark.parametrize("short", [0.9, 1.2])
def test_short_and_long_batches_do_not_take_turns(short: float) -> None:
    control = SeamlessBatches(TARGET, warmup=0)
    kept, before = [settled(control)], 2.0
    for seconds in (short, 3.6, short, 3.6, short, 3.6):
        late = 0.95 * before + seconds
        keep = control.step(batch(seconds, late, before)).keep
        kept.append(min(1.0, keep) * RATE * seconds)
        before = seconds
    assert max(max(a, b) / min(a, b) for a, b in pairwise(kept)) < 4

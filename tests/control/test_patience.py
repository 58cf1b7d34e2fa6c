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

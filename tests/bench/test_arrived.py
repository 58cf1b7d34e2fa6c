"""How long rows took that arrived by a schedule, those that still wait among them."""

from datetime import UTC, datetime
from unittest.mock import Mock

import numpy as np

from penstock.bench.arrived import Measured

BEGAN = 1000.0


def report(batch, began, took, *seconds):
    """A batch that took these seconds of each publisher."""
    return {
        "batchId": batch,
        "timestamp": datetime.fromtimestamp(began, UTC).isoformat(),
        "numInputRows": 1,
        "durationMs": {"triggerExecution": took * 1000},
        "sources": [{"startOffset": a, "endOffset": b} for a, b in seconds],
    }


def test_steady_batches_count_in_the_order_in_which_their_rows_were_sent():
    reports = [
        report(0, BEGAN + 2, 2, (0, 2), (0, 2)),
        report(1, BEGAN + 4, 2, (2, 4), (2, 4)),
        report(2, BEGAN + 6, 3, (4, 6), (4, 6)),
    ]
    measured = Measured(Mock(), reports, [BEGAN, BEGAN + 0.5], after=2)
    assert [one["batchId"] for one in measured.steady] == [1, 2]
    assert measured.responses().tolist() == [3.0, 2.5, 2.0, 1.5, 4.0, 3.5, 3.0, 2.5]


def test_what_waits_when_nothing_is_shed_counts_with_the_time_that_it_has_waited():
    reports = [report(0, BEGAN + 1, 1, (0, 1)), report(1, BEGAN + 2, 20, (1, 9))]
    measured = Measured(Mock(), reports, [BEGAN], after=5)
    assert not measured.steady
    times = measured.responses(now=BEGAN + 30)
    assert times[:4].tolist() == [16.0, 15.0, 14.0, 13.0]  # seconds 5 to 8, out at 22
    assert times[4:].tolist() == [30.0 - sent for sent in range(10, 31)]
    assert np.max(times) == 20.0

"""What is said of a run beside other work."""

import os
import time

import pytest

from penstock.bench.beside import Beside, other_work
from penstock.control.status import Status


def one(at, response, shed):
    return Status(at=at, batch=0, seconds=1.0, rows=100, shed=shed, target=4.0, response=response)


def test_batches_are_counted_until_two_in_a_row_are_in_time():
    before = [one(at, 4.0, 50) for at in range(1, 11)]
    during = [one(10 + i, r, 80) for i, r in enumerate([9.0, 6.0, 4.0, 5.0, 4.3, 4.2, 4.0], 1)]
    after = [one(20 + i, 3.0, 80 if i < 4 else 52) for i in range(1, 9)]
    found = Beside([*before, *during, *after], 0.0, 10.0, 18.0).values()
    assert found["late_batches"] == 4
    assert (found["shed_before"], found["shed_during"], found["shed_after"]) == (0.5, 0.8, 0.52)
    assert (found["held_before"], found["held_during"], found["held_after"]) == (1, 1.0, 1)


def test_all_batches_are_late_if_the_target_is_never_held():
    assert Beside([one(at, 9.0, 0) for at in (1, 2, 3)], 0.0, 0.5, 3.5).late_batches() == 3


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes choose their cores")
def test_other_work_ends_with_the_block():
    with other_work() as busy:
        time.sleep(0.1)
        assert busy.poll() is None
    assert busy.poll() is not None

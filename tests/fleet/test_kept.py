"""What a node keeps in its checkpoint: its last plan, and what each batch of relays does."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.drops.decisions import Decisions, Run
from penstock.drops.orders import ALL_STAY, Orders, at_random
from penstock.engine.fleet.last_plan import LastPlan
from penstock.engine.fleet.records import Record, Records
from penstock.fleet.gates import Seen
from penstock.fleet.plans import NOTHING, Handed
from penstock.nodes.splits import Location

RECORD = Record(
    Orders(3, (), (at_random(0.4), ALL_STAY), ()),
    Decisions(dropped={"b1": (Run(3, 5, by=2),)}),
    {"left": Seen(17, 3)},
    {"left": 12},
    {"a1": {"rows": 9, "kept": 4, "shed": 5, "no_time": 0}},
    99,
)


def checkpoint(folder: Path, commits: int, offsets: int) -> Records:
    """Batches that are done, and that have begun."""
    for name, count in (("commits", commits), ("offsets", offsets)):
        (folder / name).mkdir()
        for number in range(count):
            (folder / name / str(number)).write_text("")
    return Records(str(folder), 2)


def test_a_batch_that_had_begun_does_what_it_did_the_first_time(tmp_path):
    records = checkpoint(tmp_path, commits=3, offsets=4)
    records.write(3, RECORD)
    assert records.first() == (3, RECORD, True, "")


def test_one_that_had_not_begun_is_no_second_attempt(tmp_path):
    records = checkpoint(tmp_path, commits=3, offsets=3)
    records.write(3, RECORD)
    assert records.first() == (3, RECORD, False, "")


def test_a_first_batch_drops_nothing(tmp_path):
    batch, record, begun, wrong = checkpoint(tmp_path, 0, 0).first()
    assert (batch, begun, wrong) == (0, False, "")
    assert record.orders.folds == (ALL_STAY, ALL_STAY)


@pytest.mark.parametrize("before", [True, False])
def test_without_its_record_a_batch_drops_nothing_and_that_is_said(tmp_path, before):
    records = checkpoint(tmp_path, commits=3, offsets=4)
    if before:
        records.write(2, RECORD)
    (tmp_path / "penstock" / "gates").mkdir(parents=True, exist_ok=True)
    (tmp_path / "penstock" / "gates" / "3").write_bytes(RECORD.to_bytes()[:-20])
    batch, record, begun, wrong = records.first()
    assert (batch, begun) == (3, True)
    assert record.orders.folds == (ALL_STAY, ALL_STAY)
    assert "cannot be read" in wrong
    assert (record.accounts == RECORD.accounts) == before


def test_a_node_that_comes_back_has_the_plan_that_it_had(tmp_path):
    plans = LastPlan(str(tmp_path))
    assert plans.last() == NOTHING
    plan = Handed("1f", {"left": 0.2}, {Location("left", ("a1",)): 0.2})
    plans.keep(plan)
    assert LastPlan(str(tmp_path)).last() == plan
    (tmp_path / "fleet" / "plan").write_text("{")
    assert LastPlan(str(tmp_path)).last() == NOTHING

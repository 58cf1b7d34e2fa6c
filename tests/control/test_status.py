"""A status is plain values, and knows whether the target was kept."""

import json

from penstock.control.status import DropStatus, QueryStatus, Status

STATUS = Status(
    at=1000.0,
    batch=7,
    seconds=1.5,
    rows=300,
    shed=100,
    target=3.0,
    response=2.5,
    drops=(DropStatus(after="packets", before="web", keep=0.5, queries=("web",)),),
    queries=(QueryStatus(name="web", kind="approximate", rows_in=300, shed=100, taken=200),),
    problems=("a record was lost",),
)


def test_it_can_be_written_and_read() -> None:
    assert Status.from_json(json.loads(json.dumps(STATUS.to_json()))) == STATUS


def test_it_knows_whether_the_target_was_kept() -> None:
    assert STATUS.held
    assert Status(at=0, batch=0, seconds=1, rows=0, target=3.0, response=3.5).held is False
    assert Status(at=0, batch=0, seconds=1, rows=0, response=3.5).held is None

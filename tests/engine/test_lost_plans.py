"""A plan that cannot be read drops nothing; without any, what was open is not delivered.

Both hold however often the driver dies.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import Row, SparkSession

from penstock.drops.orders import Orders
from penstock.drops.plan import Arc, Plan, RandomDrop
from penstock.engine.files import Folder
from penstock.engine.orders import FOLDER, orders_of, read_orders
from penstock.engine.part import Part
from penstock.engine.shed_record import Record
from penstock.engine.shedder import Shedder
from penstock.errors import RecordDamaged
from tests.engine.streams import Files
from tests.engine.test_shedding import (
    PACKETS,
    ROWS,
    balanced,
    beside,
    delivered,
    longest_gap,
    packets,
    problems,
    start,
)

MARK = 1_700_000_000_000
"""The watermark of batch 4, in milliseconds."""


def shedder(checkpoint: Path) -> Shedder:
    """Of a network that has nothing but places to drop at."""
    shared = SimpleNamespace(
        rows={}, approximates=False, number={}, places=(1, 1, 2), folds=[], aggregates=[0]
    )
    graph = SimpleNamespace(queries={}, names={}, users={}, sources=[])
    part = SimpleNamespace(shared=shared, graph=graph, kinds={}, kinds_of_rows={}, aggregates=[])
    return Shedder(cast("Part", part), str(checkpoint))


def orders(checkpoint: Path, batch: int) -> Orders:
    return orders_of((checkpoint / "penstock" / "plans" / str(batch)).read_bytes(), batch)


ASKED = Plan((RandomDrop(Arc("packets", "n"), 0.5),))


def asked_in(checkpoint: Path, batch: int) -> Plan:
    """The plan that the record of a batch has."""
    values = json.loads((checkpoint / FOLDER / str(batch)).read_text())["values"]["plan"]
    return next(plan for plan in (Plan(), ASKED) if json.loads(json.dumps(plan.values())) == values)


def begun(checkpoint: Path, batches: int) -> None:
    """Batches that are done, and have records, and the record of the next one."""
    (checkpoint / "offsets").mkdir()
    (checkpoint / "commits").mkdir()
    one = shedder(checkpoint)
    one.begin()
    for batch in range(batches):
        mark = json.dumps({"batchWatermarkMs": MARK + 1000 * batch})
        (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{mark}\n")
        one.follow(batch, None)
        (checkpoint / "commits" / str(batch)).write_text("v1")


def cut(plans: Path, batch: int) -> None:
    (plans / str(batch)).write_bytes((plans / str(batch)).read_bytes()[:50])


def changed(plans: Path, batch: int) -> None:
    content = (plans / str(batch)).read_bytes()
    (plans / str(batch)).write_bytes(content.replace(b'"lost": null', b'"lost": 77'))


def of_the_one_before(plans: Path, batch: int) -> None:
    (plans / str(batch)).write_bytes((plans / str(batch - 1)).read_bytes())


def lost(plans: Path, batch: int) -> None:
    (plans / str(batch)).unlink()


Damage = Callable[[Path, int], None]


@pytest.mark.parametrize("damage", [cut, changed, of_the_one_before])
@pytest.mark.parametrize("batches", [0, 3])
def test_nothing_is_asked_of_a_batch_whose_plan_is_damaged(
    tmp_path: Path, damage: Damage, batches: int
) -> None:
    begun(tmp_path, batches)
    if damage is of_the_one_before and not batches:
        (tmp_path / FOLDER / "-1").write_bytes(b"{}")
    damage(tmp_path / FOLDER, batches)
    again = shedder(tmp_path)
    again.plan = ASKED
    again.begin()
    (said,) = again.problems
    assert f"batch {batches} cannot be read: nothing is dropped" in said
    assert asked_in(tmp_path, batches) == Plan()
    again.follow(batches, None)
    assert asked_in(tmp_path, batches + 1) == ASKED
    assert len(again.problems) == 1


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_plan_that_was_never_written_is_no_damage(tmp_path: Path, has_begun: bool) -> None:
    begun(tmp_path, 3)
    lost(tmp_path / FOLDER, 3)
    if has_begun:  # its rows may have been dropped by the record, or not
        (tmp_path / "offsets" / "3").write_text("v1\n{}\n")
    again = shedder(tmp_path)
    again.plan = ASKED
    again.begin()
    assert bool(again.problems) == has_begun
    assert asked_in(tmp_path, 3) == (Plan() if has_begun else ASKED)


def test_a_plan_of_another_batch_is_not_believed(tmp_path: Path) -> None:
    begun(tmp_path, 4)
    plans, folder = tmp_path / FOLDER, Folder(str(tmp_path), FOLDER)
    of_the_one_before(plans, 4)
    with pytest.raises(RecordDamaged, match="must be of batch 4"):
        orders(tmp_path, 4)
    assert Record.read(folder, 4) is None
    assert Record.read(folder, 3) is not None
    told = read_orders(str(tmp_path), 4, 1, 1, 2)
    assert told == orders(tmp_path, 3).harmless(4)
    of_the_one_before(plans, 3)
    everything = read_orders(str(tmp_path), 4, 1, 1, 2).windows
    assert all(flags.at(t) for flags in everything for t in (0, MARK * 1000, 1 << 60))


def test_what_was_open_stays_undelivered_after_another_crash(tmp_path: Path) -> None:
    for folder, batches in (("commits", 4), ("offsets", 5)):
        (tmp_path / folder).mkdir()
        for batch in range(batches):
            mark = json.dumps({"batchWatermarkMs": MARK - 4000 + 1000 * batch})
            (tmp_path / folder / str(batch)).write_text(f"v1\n{mark}\n")
    first = shedder(tmp_path)
    first.begin()
    assert "not delivered" in first.problems[0]
    everything = orders(tmp_path, 4).windows
    # It dies in batch 4; its record is there now, and says nothing of what had been dropped.
    second = shedder(tmp_path)
    second.begin()
    assert second.problems == []
    second.follow(4, None)
    assert orders(tmp_path, 5).windows == everything
    # Batch 4 dropped nothing: how far it went is told by the watermark of batch 5.
    later = json.dumps({"batchWatermarkMs": MARK + 1000})
    (tmp_path / "offsets" / "5").write_text(f"v1\n{later}\n")
    second.follow(5, None)
    assert second.state.suppress_until == (MARK + 1000) * 1000 + 1000
    assert orders(tmp_path, 6).windows != everything
    third = shedder(tmp_path)
    for done in ("4", "5"):
        (tmp_path / "commits" / done).write_text("v1")
    third.begin()
    assert third.state == second.state


def right(found: dict[str, dict[int, list[Row]]]) -> None:
    """No window is wrong, and no more are missing in a row than may be."""
    for name, gap in (("sliding", 3), ("top", 2)):
        got, wanted = delivered(found[name]), delivered(found[f"{name}_exact"])
        assert {tuple(row) for row in got} < {row[: len(row) - 1] for row in wanted}
        assert 0 < longest_gap(got, wanted) <= gap


def gone(run: Any, name: str, batch: int) -> int:
    told = run.parts[0].shed_accounts().of(name)[batch]
    return int(told["shed_at_stream"] + told["shed_on_the_way"])


def test_a_batch_that_finds_the_plan_of_another_drops_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, made = Files(spark, tmp_path / "in", PACKETS), packets()
    for i in range(0, len(made), ROWS):
        files.add(made[i : i + ROWS])
    found: dict[str, dict[int, list[Row]]] = {}
    plans, written = tmp_path / "run" / FOLDER, dict[int, bytes]()

    follow = Shedder.follow

    def followed(mine: Shedder, batch: int, *told: Any) -> None:
        # Once it is written; the batch reads it as soon as it begins.
        follow(mine, batch, *told)
        number = batch + 1
        if number in (3, 5):
            written[number] = (plans / str(number)).read_bytes()
            of_the_one_before(plans, number)

    monkeypatch.setattr(Shedder, "follow", followed)
    run = start(beside(files.stream()), tmp_path / "run", found, drop=0.9)
    run.wait()
    right(found)
    balanced(run, found)
    assert any(order.drops for order in orders_of(written[3], 3).folds)
    for number in (3, 5):
        assert gone(run, "sliding", number) == 0
        assert any(f"batch {number} cannot be read" in said for said in problems(run))
    assert gone(run, "sliding", 2) > 0
    assert gone(run, "sliding", 4) > 0


@pytest.mark.parametrize("damage", [cut, of_the_one_before])
def test_a_restart_drops_nothing_in_a_batch_whose_plan_is_damaged(
    spark: SparkSession, tmp_path: Path, damage: Damage
) -> None:
    files, made = Files(spark, tmp_path / "in", PACKETS), packets()
    found: dict[str, dict[int, list[Row]]] = {}
    plans = tmp_path / "run" / FOLDER
    for i, half in enumerate((made[: 3 * ROWS], made[3 * ROWS :])):
        for k in range(0, len(half), ROWS):
            files.add(half[k : k + ROWS])
        following = max((int(path.name) for path in plans.glob("[0-9]*")), default=0)
        if i:
            whole = orders_of((plans / str(following)).read_bytes(), following)
            assert any(order.drops for order in whole.folds)
            damage(plans, following)
        asked = beside(files.stream())
        run = start(asked, tmp_path / "run", found, drop=0.9)
        run.wait()
        balanced(run, asked)
    assert any(f"batch {following} cannot be read" in said for said in problems(run))
    assert gone(run, "sliding", following) == 0
    assert gone(run, "sliding", following + 1) > 0
    right(found)

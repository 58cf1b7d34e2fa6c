"""A latency target on Spark: what is too much is dropped, what fits is not, none is wrong."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.control import statistics
from penstock.control.settings import Warmup
from penstock.control.status import Status
from penstock.engine import latest
from penstock.errors import SpecificationError, UsageError
from penstock.planning.regulator import Regulator
from tests.engine.streams import Files
from tests.engine.test_shedding import (
    BATCHES,
    PACKETS,
    ROWS,
    balanced,
    packets,
    queries,
    start,
    stream,
)

HEAVY = "aggregate(sequence(1, 1000000), 0L, (a, i) -> a + hash(i, size)) IS NOT NULL"
"""A predicate that every row passes, and that takes tens of milliseconds on a fast machine, too: a
batch of such rows takes far longer than one without, or all of it would be kept, since a batch may
always take 1.25 times what it takes without rows."""
LIGHT = "size IS NOT NULL"
"""One that every row passes as well."""

MANY = 12
"""Batches: some are warm-up."""


def _asked(spark: SparkSession, folder: Path, predicate: str) -> dict[str, ps.WindowQuery]:
    files, made = Files(spark, folder, PACKETS), packets()
    size = len(made) // MANY
    for i in range(0, len(made), size):
        files.add(made[i : i + size])
    rows = ps.stream(files.stream(), event_time="ts", slack="2 s", identity="number", name="rows")
    slow = rows.where(predicate)
    return {
        "sampled": slow.window("20 s", every="10 s").agg(n=ps.count()).approximate(),
        "sliding": slow.window("10 s", every="5 s").agg(b=ps.sum("size")).subset(5),
    }


def _run(
    asked: dict[str, ps.WindowQuery], checkpoint: Path, **terms: Any
) -> tuple[ps.NetworkRun, dict[str, Any]]:
    into: dict[str, Any] = {}
    run = start(asked, checkpoint, into, **terms)
    run.wait()
    return run, {name: [row for b in sorted(of) for row in of[b]] for name, of in into.items()}


def _balanced(status: Status) -> bool:
    return all(q.rows_in == q.shed + q.taken for q in status.queries)


@pytest.mark.timeout(600)  # it is meant to be slow
def test_what_takes_longer_than_the_target_is_dropped(
    spark: SparkSession,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statistics, "Warmup", lambda: Warmup(seconds=0.0, batches=1))
    with caplog.at_level(logging.INFO, logger="penstock"):
        # No batch of Spark's takes so little, whatever is dropped: all that may go has to.
        heavy = _asked(spark, tmp_path / "a", HEAVY)
        run, answers = _run(heavy, tmp_path / "a/cp", latency="100 ms")
    light = _asked(spark, tmp_path / "b", LIGHT)
    whole, exact = _run(light, tmp_path / "b/cp", latency="1 hour")

    assert [status.batch for status in run.history] == list(range(len(run.history)))
    assert sum(status.rows for status in run.history) == BATCHES * ROWS
    assert all(map(_balanced, run.history))
    shedding = [status for status in run.history if status.phase == "shedding"]
    assert shedding
    assert all(status.target == 0.1 and status.held is not True for status in run.history)
    assert shedding[0].reason.startswith("seamless: ")
    assert all(drop.reason for drop in shedding[0].drops)
    assert min(status.queries[0].keep for status in shedding) < 0.9
    for number in (0, 1):
        assert sum(status.queries[number].shed for status in run.history) > 0
    assert run.history[-1].queries[1].dropped > 0
    assert "keeps" in caplog.text

    # None of what was delivered is wrong.
    assert set(answers["sliding"]) < set(exact["sliding"])
    assert not all(row["exact"] for row in answers["sampled"])

    assert {status.phase for status in whole.history} <= {"warm-up", "exact"}
    assert not any(status.shed or status.drops for status in whole.history)
    assert all(row["exact"] for row in exact["sampled"])


def test_a_controller_that_fails_stops_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no cost at all")

    monkeypatch.setattr(Regulator, "step", fail)
    asked = queries(stream(spark, tmp_path))
    run, answers = _run(asked, tmp_path / "checkpoint", latency="3 s")
    told = [problem for status in run.history for problem in status.problems]
    assert any("the controller failed at batch 1, the last plan stays" in line for line in told)
    assert run.plan.random == ()
    assert answers["whole"]


def test_a_scene_has_all_that_is_shown(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latest, "RARELY", 0)
    asked = queries(stream(spark, tmp_path))
    run = start(asked, tmp_path / "checkpoint", {}, keep=0.5, drop=0.5)
    run.scene()
    run.wait()
    scene = run.scene()
    balanced(run, asked)
    assert scene.now == run.status()
    assert set(scene.answers) == set(asked)
    newest = scene.answers["sampled"]
    assert newest[0]["window_end"] >= newest[-1]["window_end"]
    assert {"packets_low", "packets_high", "keep", "sample"} <= set(newest[0])
    assert "keep 0.5" in scene.picture
    assert scene.gaps["sliding"][0][1] in ("dropped", "revoked")
    account = scene.accounts["sampled"]
    assert account["rows_in"] == BATCHES * ROWS
    assert {drop.keep for drop in scene.statuses[-1].drops} == {0.5, None}


@pytest.fixture(scope="module")
def asked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Queries that are never started."""
    return queries(stream(spark, tmp_path_factory.mktemp("asked")))


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"latency": "0 s"}, "latency must be greater than 0"),
        ({"latency": "soon"}, "latency must be a duration"),
        ({"latency": "3 s", "keep": 0.5}, "keep and drop must not be given with a latency"),
        ({"max_error": 0.1}, "max_error, max_loss, wins need a latency"),
        ({"latency": "3 s", "max_error": 5}, "max_error must be above 0"),
        ({"latency": "3 s", "wins": "me"}, "wins must be one of latency, answers"),
    ],
)
def test_what_cannot_be_asked_for(
    asked: dict[str, Any], tmp_path: Path, terms: dict[str, Any], message: str
) -> None:
    with pytest.raises((UsageError, SpecificationError), match=message):
        start(asked, tmp_path / "checkpoint", {}, **terms)
    assert not (tmp_path / "checkpoint").exists()


def test_a_target_needs_a_query_that_may_suffer(asked: dict[str, Any], tmp_path: Path) -> None:
    whole = {"whole": asked["whole"]}
    with pytest.raises(UsageError, match="latency needs a query whose answers may suffer"):
        start(whole, tmp_path / "checkpoint", {}, latency="3 s")

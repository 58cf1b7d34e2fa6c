"""A network of two Spark streams: each numbers its batches from 0, and tells of them late."""

from __future__ import annotations

import io
import json
from urllib.parse import quote
from urllib.request import urlopen

from rich.console import Console

from penstock.control.status import DropStatus, QueryStatus, Status
from penstock.view.live import View
from penstock.view.metrics import Totals, exposition
from penstock.view.page import serve
from penstock.view.page.plain import scene_values
from penstock.view.panels import panels, shedding
from penstock.view.parts import after, last_batches, wholes
from penstock.view.report.tables import decisions, query_rows
from penstock.view.scene import Scene
from penstock.view.summary import summary
from penstock.view.terminal import Moment
from tests.view.test_metrics import read


def web(batch: int) -> Status:
    """Of a stream that has too much to do."""
    return Status(
        at=1000.0 + 2 * batch,
        batch=batch,
        seconds=1.5,
        rows=100,
        shed=60,
        arriving=50.0,
        capacity=20.0,
        demand=2.5,
        backlog=7.0,
        target=3.0,
        response=2.5,
        keep=0.4,
        phase="shedding",
        reason="too much",
        drops=(DropStatus(after="web", before="query web", keep=0.4),),
        queries=(
            QueryStatus(name="web", kind="approximate", rows_in=100, shed=60, taken=40, keep=0.4),
            QueryStatus(name="large", kind="subset", delivered=8, dropped=2),
        ),
    )


def dns(batch: int) -> Status:
    """Of a stream that has time."""
    return Status(
        at=1000.5 + 3 * batch,
        batch=batch,
        seconds=0.5,
        rows=10,
        arriving=10.0,
        capacity=40.0,
        demand=0.25,
        target=3.0,
        response=0.5,
        phase="exact",
        queries=(QueryStatus(name="dns", rows_in=10, taken=10, delivered=5),),
    )


def scene(webs: int, some: int) -> Scene:
    statuses = [*map(web, range(webs)), *map(dns, range(some))]
    return Scene(title="two", statuses=tuple(sorted(statuses, key=lambda one: one.at)))


# dns tells of its batch 1, which ended at 1003.5, after web has told of its batch 2, of 1004.
STEPS = [scene(0, 0), scene(2, 1), scene(3, 1), scene(3, 2), scene(9, 5)]


def test_every_batch_is_new_once():
    known: dict[str, int] = {}
    seen: list[tuple[str, int]] = []
    for step in STEPS:
        new = after(step.statuses, known)
        known = last_batches(step.statuses)
        seen += [(one.queries[0].name, one.batch) for one in new]
    assert sorted(seen) == [*(("dns", n) for n in range(5)), *(("web", n) for n in range(9))]
    assert known == {"web": 8, "dns": 4}


def test_the_network_is_all_of_its_parts():
    now = scene(4, 9).now  # the last batch to end is one of dns
    assert now is not None
    assert [query.name for query in now.queries] == ["web", "large", "dns"]
    assert (now.phase, now.reason, now.keep, now.response) == ("shedding", "too much", 0.4, 2.5)
    assert (now.rows, now.shed, now.arriving, now.backlog) == (110, 60, 60.0, 7.0)
    assert (now.demand, now.capacity) == (2.5, 24.0)
    assert (now.at, now.batch, len(now.drops)) == (1024.5, 8, 1)
    assert scene(9, 0).now == web(8)
    assert Scene(title="none").now is None


def test_lines_are_of_the_whole_and_do_not_jump_between_parts():
    statuses = STEPS[-1].statuses
    (response,) = [one for one in panels(statuses) if one.name == "response"]
    assert response.lines[0].values == (2.5,) * 14
    assert shedding(statuses) == [(0, 13)]
    assert [one.arriving for one in wholes(statuses)] == [50.0, *[60.0] * 13]
    assert wholes(scene(3, 0).statuses) == [web(0), web(1), web(2)]


def test_the_page_draws_the_whole():
    values = scene_values(scene(2, 1))["statuses"]
    drawn = [one.get("whole", one) for one in values]
    assert [one["at"] for one in drawn] == [1000.0, 1000.5, 1002.0]
    assert [one["arriving"] for one in drawn] == [50.0, 60.0, 60.0]
    assert [one["response"] for one in drawn] == [2.5] * 3


def test_counters_count_the_batches_of_all_parts():
    totals = Totals()
    for step in STEPS:
        shown = read(exposition(step, totals))
    assert shown["penstock_batches_total",] == 14
    assert shown["penstock_rows_total",] == 950
    assert shown["penstock_rows_lost_total",] == 540
    assert shown["penstock_demand_ratio",] == 2.5
    windows = {query: 8 if query == "large" else 5 for query in ("large", "dns")}
    for query, delivered in windows.items():
        of = ("fate", "delivered", "query", query)
        assert shown["penstock_windows_total", *of] == delivered


def test_the_page_is_told_of_each_batch_once():
    at, told, seen = [0], "{}", []
    with serve(lambda: STEPS[at[0]]) as page:
        for number in range(len(STEPS)):
            at[0] = number
            with urlopen(f"{page.url}scene.json?since={quote(told)}") as reply:  # noqa: S310
                values = json.loads(reply.read())
            told = json.dumps(values["told"])
            seen += [(one["at"], one["batch"]) for one in values["statuses"]]
    assert sorted(seen) == [(one.at, one.batch) for one in STEPS[-1].statuses]
    assert [query["name"] for query in values["now"]["queries"]] == ["web", "large", "dns"]


def test_a_log_has_a_line_for_each_batch():
    out = io.StringIO()
    view = View(Console(file=out))
    for step in STEPS:
        view.show(step, Moment(1.0))
    assert out.getvalue().count("\n") == 14


def test_a_report_has_all_queries_and_only_decisions_that_are_some():
    whole = STEPS[-1]
    assert [row[0] for row in query_rows(whole)] == ["web", "large", "dns"]
    assert [one.phase for one in decisions(whole)] == ["exact", "shedding"]
    assert (summary(whole).windows, summary(whole).missing) == (13, 2)

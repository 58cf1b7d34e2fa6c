"""Metrics are what Prometheus reads, have units, and only count forwards."""

import sys
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.control.status import QueryStatus, Status
from penstock.errors import UsageError
from penstock.view.metrics import Totals, exposition
from penstock.view.scene import Scene
from tests.view.scenes import NASTY, scene, status


def read(text: bytes) -> dict[tuple[str, ...], float]:
    """(name, label, value, ...) → the value of a metric, as Prometheus would read it."""
    return {
        (sample.name, *(part for label in sorted(sample.labels.items()) for part in label)): (
            sample.value
        )
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_they_say_how_the_run_does():
    shown, now = read(exposition(scene(100))), status(99)
    assert shown["penstock_response_seconds", "quantile", "0.95"] == now.response
    assert shown["penstock_response_seconds", "quantile", "0.5"] == now.median
    assert shown["penstock_latency_target_seconds",] == 3
    assert shown["penstock_arriving_rows_per_second",] == now.arriving
    assert shown["penstock_capacity_rows_per_second",] == 12_000
    assert shown["penstock_demand_ratio",] == now.demand
    assert shown["penstock_demand_ratio",] > 2  # before shedding: what an autoscaler has to know
    assert shown["penstock_backlog_rows",] == now.backlog
    assert shown["penstock_batch_seconds",] == now.seconds
    assert shown["penstock_keep_ratio", "query", "web_bytes_by_host"] == now.keep
    assert shown["penstock_windows_total", "fate", "dropped", "query", "web_large"] == 9
    assert shown["penstock_phase", "phase", "shedding"] == 1
    assert shown["penstock_phase", "phase", "exact"] == 0
    assert shown["penstock_problems_total",] == 1


def test_accounts_are_told_by_query_and_reason():
    shown, account = read(exposition(scene(100))), scene(100).accounts["web_bytes_by_host"]
    of = ("query", "web_bytes_by_host")
    shed = account["shed_at_stream"]
    assert shown["penstock_query_rows_total", *of] == account["rows_in"]
    assert shown["penstock_rows_shed_total", *of, "reason", "at_stream"] == shed > 0
    assert shown["penstock_rows_shed_total", *of, "reason", "on_the_way"] == 0
    assert shown["penstock_rows_taken_total", *of] == account["taken"]
    assert shown["penstock_rows_not_counted_total", *of, "reason", "late_lost"] == 3
    assert shown["penstock_accounts_balanced", *of] == 1


def test_accounts_that_do_not_balance_are_told():
    account = {"rows_in": 9, "shed_at_stream": 1, "shed_on_the_way": 0, "taken": 7}
    half = {"late_lost": 0}
    shown = read(exposition(Scene(title="t", accounts={"q": account, "half": half})))
    assert shown["penstock_accounts_balanced", "query", "q"] == 0
    assert ("penstock_accounts_balanced", "query", "half") not in shown  # nobody knows


def test_what_nobody_knows_is_not_told_as_zero():
    known = Status(at=0, batch=0, seconds=1, rows=5)
    shown = read(exposition(Scene(title="t", statuses=(known,))))
    assert ("penstock_demand_ratio",) not in shown
    assert ("penstock_backlog_rows",) not in shown
    assert ("penstock_response_seconds", "quantile", "0.95") not in shown
    assert shown["penstock_rows_total",] == 5


def test_before_the_first_batch_there_are_counters_only():
    assert read(exposition(Scene(title="t")))["penstock_rows_total",] == 0


def test_counters_go_on_when_the_scene_forgets_old_batches():
    totals, whole = Totals(), scene(100)
    rows = sum(one.rows for one in whole.statuses)
    for seen in (40, 70, 100):  # of which the scene has the last 35 only
        shorter = replace(whole, statuses=whole.statuses[:seen][-35:])
        first = read(exposition(shorter, totals))
        again = read(exposition(shorter, totals))
        assert first == again
    assert again["penstock_batches_total",] == 95  # the first five were gone at the first scrape
    forgotten = sum(one.rows for one in whole.statuses[:5])
    assert again["penstock_rows_total",] == rows - forgotten
    assert again["penstock_problems_total",] == 1


def test_names_are_escaped():
    named = Status(at=0, batch=0, seconds=1, rows=0, queries=(QueryStatus(name='a"\\\n' + NASTY),))
    shown = read(exposition(Scene(title=NASTY, statuses=(named,))))
    assert shown["penstock_keep_ratio", "query", 'a"\\\n' + NASTY] == 1
    assert shown["penstock_run_info", "title", NASTY] == 1


def test_each_has_a_help_text_and_a_type():
    for family in text_string_to_metric_families(exposition(scene(20)).decode()):
        assert family.documentation.endswith("."), family.name
        assert family.type in {"gauge", "counter"}, family.name


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(UsageError, match=r"^metrics need .* pip install 'penstock\[metrics\]'$"):
        exposition(scene(1))

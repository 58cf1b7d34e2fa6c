"""Computes windows that a stream has left out, exactly, and lands them.

    stretches of time ─► stored rows ─► the same query, as a batch ─► sink, with `revision` = N

Sinks get revision N under the number -N, which no batch has: so one that replaces what it wrote
under a number has each window once, however often a backfill is run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.drops.gaps import Span
from penstock.engine.backfill import Backfill, rows_in
from penstock.engine.backfill_log import Log, Revision
from penstock.engine.backfill_report import Backfilled
from penstock.engine.deliver import Sink, writes
from penstock.engine.exactly import Exact, exactly
from penstock.engine.stored import Tables, over
from penstock.engine.together import check_types, united
from penstock.engine.watching import Tell, watched
from penstock.errors import UsageError, complaint
from penstock.network.graph import Graph
from penstock.network.operators import Source
from penstock.network.reach import reach
from penstock.windows.durations import DAY

REVISION = "revision"
"""The column of backfilled answers that says which revision they are of."""

_log = logging.getLogger(__name__)

Land = Callable[[Mapping[str, DataFrame], int], None]
"""What is done with the answers of some queries, and the number of their revision."""


def backfilled(
    asked: Backfill,
    sink: Sink | None,
    sinks: Mapping[str, Sink],
    *,
    dry_run: bool = False,
    tell: Tell = lambda _what, _share: None,
) -> Backfilled:
    """Computes what is missing and can be computed, and lands it.

    Args:
        asked: which windows.
        sink: where the answers of queries go that have no sink of their own.
        sinks: query → where its answers go.
        dry_run: only say what would be done.
        tell: is told what is being done, and which share of it is.
    """
    found, gone = asked.possible()
    report = asked.report(found, gone)
    for name, windows in gone.items():
        _log.warning("%s: %d windows cannot be backfilled any more", name, len(windows))
    if dry_run:
        for kept in report.kept:
            if kept.until < time.time_ns() // 1000 + DAY:
                _log.warning("%s: records of the oldest gap are deleted soon", kept.stream)
        return replace(report, dry=True)
    if sink is None and (lacking := [name for name in report.windows if name not in sinks]):
        raise UsageError(complaint("backfill()", "needs a sink for every query", lacking))
    log = Log(asked.checkpoint)
    for one in found:
        log.write(one)
        parts = _computed(asked, one, tell)
        try:
            answers = {name: rows for part in parts for name, rows in part.answers.items()}
            _land(answers, one.number, sink, sinks)
        finally:
            for part in parts:
                part.frame.unpersist()
        log.write(replace(one, landed=frozenset(one.windows)))
    return report


def _computed(asked: Backfill, revision: Revision, tell: Tell) -> list[Exact]:
    tables = Tables(asked.stored or {})
    parts = _over(asked, revision, tables, tell)
    if missed := tables.missed():
        # What Kafka was asked for by its own times may not be all.
        _log.warning("%s: events are ahead of their records, all are read", ", ".join(missed))
        for part in parts:
            part.frame.unpersist()
        parts = _over(asked, revision, Tables(asked.stored or {}, whole=True), tell)
    return parts


def _over(asked: Backfill, revision: Revision, tables: Tables, tell: Tell) -> list[Exact]:
    """The answers of the revision's windows, computed and kept."""
    graph, kinds = asked.network.graph, asked.network.kinds
    needed: dict[Source, list[Span]] = {}
    for name, windows in revision.left.items():
        for source, spans in reach(rows_in(graph.queries[name]), windows).items():
            needed.setdefault(source, []).extend(spans)
    rows = {source: tables.rows(source, spans) for source, spans in needed.items()}
    nodes = {name: over(graph.queries[name], rows) for name in revision.left}
    parts = []
    for part in Graph(nodes).components():
        found = exactly(part.queries, kinds, {name: revision.left[name] for name in part.queries})
        what = f"revision {revision.number}: {', '.join(part.queries)}"
        with watched(asked.spark, what, tell):
            found.frame.count()
        parts.append(found)
    return parts


def _land(
    answers: Mapping[str, DataFrame], revision: int, sink: Sink | None, sinks: Mapping[str, Sink]
) -> None:
    marked = {n: rows.select("*", F.lit(revision).alias(REVISION)) for n, rows in answers.items()}
    common = {name: rows for name, rows in marked.items() if name not in sinks}
    for name, rows in marked.items():
        if name in sinks:
            writes(sinks[name])(rows, -revision)
    if common and sink is not None:
        check_types(common)
        writes(sink)(united(common), -revision)

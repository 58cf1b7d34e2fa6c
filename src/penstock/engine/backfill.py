"""The windows that a stream has left out: which they are, and which can still be computed.

ledger ─► gaps ─┬─► in a revision that has landed      nothing to do
                ├─► rows may have been deleted         gone
                └─► the next revision                  `backfilling` computes it
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from penstock.drops.gaps import Span, gaps
from penstock.engine.backfill_log import Log, Revision, revisions_to_do
from penstock.engine.backfill_report import Backfilled, Kept
from penstock.engine.ledger import entered
from penstock.engine.record import check_network
from penstock.engine.results import rows_of
from penstock.engine.stored import origin_of
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.network.operators import Operator, Source, inputs
from penstock.network.reach import reach
from penstock.sources.kafka import AHEAD, Kafka
from penstock.sources.kafka_log import held_by
from penstock.sources.retention import Held, complete_since, kept_until

if TYPE_CHECKING:
    from penstock.engine.network import Network


@dataclass(frozen=True)
class Backfill:
    """What is missing in a checkpoint, and what can be done about it.

    Args:
        network: the one that has run.
        checkpoint: its checkpointLocation.
        queries: those to be backfilled; none for all.
        since: only windows that end after this time, in microseconds.
        until: only windows that end by this time, in microseconds.
        again: whether windows are computed again that have been before.
        stored: stream → its rows as a table, where they are stored elsewhere.
    """

    network: Network
    checkpoint: str
    queries: Sequence[str] = ()
    since: int | None = None
    until: int | None = None
    again: bool = False
    stored: Mapping[str, DataFrame] | None = None

    def __post_init__(self) -> None:
        for what, names in (("query", self.queries), ("stored", self.stored or {})):
            known = self.network.queries if what == "query" else self._streams
            for name in names:
                if name not in known:
                    rule = "must be known in the network"
                    raise UsageError(complaint(what, rule, name, did_you_mean(name, known)))
        check_network(self.checkpoint, str(self.network))
        for source in self.network.graph.sources:
            if source.weight is not None:
                rule = "must have all rows, to be computed exactly, and they have a weight"
                raise UsageError(complaint(f"stream {source.name}", rule, source.weight))

    @cached_property
    def _streams(self) -> list[str]:
        return [source.name for source in self.network.graph.sources]

    @cached_property
    def spark(self) -> SparkSession:
        """The session of the network's streams."""
        return rows_of(self.network.graph.sources[0]).sparkSession

    @property
    def _folders(self) -> list[str]:
        """The checkpoints of its Spark streams, as a running network has them."""
        split = self.network.split
        if len(split.parts) + len(split.alone) == 1:
            return [self.checkpoint]
        return [f"{self.checkpoint}/part-{number}" for number in range(len(split.parts))]

    @cached_property
    def missing(self) -> dict[str, list[Span]]:
        """Query → the windows that the ledger has and the stream did not deliver."""
        entries = [entry for folder in self._folders for entry in entered(folder)]
        found = gaps(entries, since=self.since, until=self.until)
        wanted = self.queries or self.network.queries
        return {
            name: found[name] for name in self.network.queries if name in found and name in wanted
        }

    @cached_property
    def todo(self) -> list[Revision]:
        """What is to be computed."""
        wanted = self.queries or tuple(self.network.queries)
        known = Log(self.checkpoint).revisions()
        return revisions_to_do(known, self.missing, queries=wanted, again=self.again)

    @cached_property
    def held(self) -> dict[Source, list[Held]]:
        """Stream from Kafka that is read again → what its topics still have."""
        origins = {one: origin_of(one) for one in self.network.graph.sources}
        given = self.stored or {}
        return {
            source: held_by(origin, self.spark)
            for source, origin in origins.items()
            if isinstance(origin, Kafka) and source.name not in given
        }

    def _gone(self, name: str, window: Span, complete: Mapping[Source, int]) -> bool:
        """Whether a window may have had records that are deleted."""
        for source, spans in reach(rows_in(self.network.graph.queries[name]), [window]).items():
            if source in complete and min(spans)[0] <= complete[source]:
                return True
        return False

    def possible(self) -> tuple[list[Revision], dict[str, list[Span]]]:
        """What can be computed; and query → the windows that cannot be any more.

        A revision that has landed before, and cannot be computed whole, is left as it is.
        """
        now = time.time_ns() // 1000
        held = self.held if self.todo else {}
        since = {s: complete_since(have, ahead=AHEAD, now=now) for s, have in held.items()}
        complete = {source: at for source, at in since.items() if at is not None}
        if not complete:
            return self.todo, {}
        landed = {one.number for one in Log(self.checkpoint).revisions() if not one.left}
        found, gone = [], dict[str, list[Span]]()
        for one in self.todo:
            left = dict[str, list[Span]]()
            for name, windows in one.left.items():
                lost = {window for window in windows if self._gone(name, window, complete)}
                left[name] = [window for window in windows if window not in lost]
                if lost:
                    gone.setdefault(name, []).extend(sorted(lost))
            if left == one.left:
                found.append(one)
            elif any(left.values()) and one.number not in landed:
                rest = {n: windows for n, windows in {**one.windows, **left}.items() if windows}
                found.append(replace(one, windows=rest))
        return found, gone

    def report(self, found: Sequence[Revision], gone: Mapping[str, list[Span]]) -> Backfilled:
        """What is done, or would be.

        Args:
            found: what can be computed.
            gone: what cannot be any more.
        """
        windows: dict[str, list[Span]] = {}
        for one in found:
            for name, spans in one.left.items():
                windows.setdefault(name, []).extend(spans)
        counted = sum(map(len, self.missing.values()))
        asked = {(n, w) for one in self.todo for n, ws in one.left.items() for w in ws}
        before = sum((n, w) not in asked for n, ws in self.missing.items() for w in ws)
        return Backfilled(
            tuple(one.number for one in found), windows, gone, counted, before, self._kept(windows)
        )

    def _kept(self, windows: Mapping[str, Sequence[Span]]) -> tuple[Kept, ...]:
        """How long Kafka keeps the records of the oldest window."""
        oldest: dict[Source, int] = {}
        for name, spans in windows.items():
            for source, rows in reach(rows_in(self.network.graph.queries[name]), spans).items():
                oldest[source] = min(oldest.get(source, 1 << 62), *(start for start, _ in rows))
        found = []
        for source, held in (self.held if oldest else {}).items():
            until = kept_until(held, oldest[source]) if source in oldest else None
            if until is not None:
                found.append(Kept(source.name, until))
        return tuple(found)


def rows_in(node: Operator) -> Operator:
    """What the windows of a query are made of."""
    (fed_by,) = inputs(node)
    return fed_by

"""A network that runs: its parts are Spark streams; it can be watched, asked and stopped."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.control.prior import taking
from penstock.control.status import Status
from penstock.drops.plan import Plan
from penstock.engine.control_point import Control
from penstock.engine.failures import hiding
from penstock.engine.ledger import as_dataframe
from penstock.engine.measure import Measure
from penstock.engine.part import Part
from penstock.engine.pulse import ran
from penstock.engine.reading import Reading
from penstock.engine.rehearsal import Rehearsal
from penstock.engine.run import ACCOUNTS, Run, accounts_of
from penstock.engine.shed_accounts import ShedAccounts
from penstock.engine.shed_record import MODES, Mode
from penstock.engine.shedder import Shedder
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import StreamFailed, UsageError, complaint
from penstock.view.html import scene_html
from penstock.view.page import Page, serve
from penstock.view.parts import together
from penstock.view.plots import plot
from penstock.view.report import write_report
from penstock.view.scene import Scene
from penstock.windows.durations import Instant, parse_instant

if TYPE_CHECKING:
    from penstock.engine.network import Network

_TURN = 0.2
"""Seconds that each of several streams is waited for in turn."""


@dataclass(frozen=True)
class RunningPart:
    """A Spark stream of a network, the part that it computes, and what controls it."""

    run: Run
    part: Part | None
    queries: tuple[str, ...]
    control: Control | None = None
    rehearsal: Rehearsal | None = None

    @property
    def shedder(self) -> Shedder | None:
        """What drops; None if nothing may be."""
        return self.control.shedder if self.control is not None else None

    def shed_accounts(self, reports: list[dict[str, Any]] | None = None) -> ShedAccounts | None:
        """What became of rows that may be dropped; None where none may be.

        Args:
            reports: Spark's, of batches; None for the last ones.
        """
        if self.part is None or self.shedder is None:
            return None
        told = self.run.progress if reports is None else reports
        return ShedAccounts(self.part, told, self.shedder.dropping)

    @property
    def measure(self) -> Measure | None:
        """What learns from it."""
        return self.control.measure if self.control is not None else None


@dataclass(frozen=True)
class NetworkRun:
    """A running network.

    Args:
        network: what runs.
        parts: its Spark streams.
        title: what a view calls it.
    """

    network: Network
    parts: tuple[RunningPart, ...]
    title: str = "penstock"

    @property
    def streams(self) -> list[StreamingQuery]:
        """Spark's own handles."""
        return [part.run.query for part in self.parts]

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until all streams end; True if they have. A failure is raised as `StreamFailed`.

        Args:
            seconds: how long to wait at most; None for as long as it takes.
        """
        try:
            return self._wait(seconds)
        except StreamFailed as error:
            hide = hiding(self.network.graph.sources)  # Spark's message may have their secrets
            raise StreamFailed(hide(str(error)), trace=hide(error.trace)) from None
        finally:
            self._catch_up()

    def _wait(self, seconds: float | None) -> bool:
        if len(self.parts) == 1:
            return self.parts[0].run.wait(seconds)
        until = None if seconds is None else time.monotonic() + seconds
        while True:  # one after the other, so that the failure of any is seen
            if all([part.run.wait(_TURN) for part in self.parts]):  # noqa: C419 - each is asked
                return True
            if until is not None and time.monotonic() >= until:
                return False

    def stop(self) -> None:
        """Stops all streams; they can be started again from their checkpoint."""
        for part in self.parts:
            if part.rehearsal is not None:
                part.rehearsal.cancel()
            part.run.stop()
        self._catch_up()

    def _catch_up(self) -> None:
        """Learns from the last batches too, and enters them in the books."""
        for part in self.parts:
            if part.control is None:
                continue
            last, active = part.run.query.lastProgress, part.run.query.isActive
            newest = part.control.chronicle.newest
            told = -1 if last is None else last.batchId - (not ran(last.durationMs))
            if active and told == (-1 if newest is None else newest):
                continue  # this is asked often, and to read a hundred reports takes time
            reports = part.run.progress
            part.control.measure.take(reports)
            part.control.take(reports, ended=not active)

    def status(self) -> Status | None:
        """How it does, after the last batch of each stream; None before the first."""
        self._catch_up()
        return together(self.history)

    @property
    def history(self) -> tuple[Status, ...]:
        """The statuses of all batches so far, oldest first; of a long run the last 5,000."""
        found = [s for part in self.parts if part.control for s in part.control.chronicle.statuses]
        return tuple(sorted(found, key=lambda status: status.at))

    def scene(self) -> Scene:
        """All that is shown of the run now. From the first call on the latest answers are kept."""
        self._catch_up()
        answers: dict[str, Any] = {}
        gaps: dict[str, list[tuple[str, str]]] = {}
        for part in self.parts:
            if part.control is None:
                continue
            part.control.latest.wanted = True
            answers |= part.control.latest.answers
            if part.control.ledger is not None:
                for name, some in part.control.ledger.gaps.items():
                    gaps[name] = [(_time(end), fate) for end, fate in list(some)]
        return Scene(
            title=self.title,
            picture=self.network.svg(self._notes()),
            statuses=self.history,
            answers=answers,
            accounts=self.accounts,
            gaps=gaps,
            statistics=tuple(p.control.measure.statistics.now for p in self.parts if p.control),
        )

    def _notes(self) -> dict[Any, str]:
        """What is dropped where, to be written into the network's picture."""
        found: dict[Any, str] = {}
        plan = self.plan
        for operator, name in self.network.graph.names.items():
            ends = (name, taking(name))
            said = [f"keep {drop.keep:.2g}" for drop in plan.random if drop.arc.before in ends]
            said += [f"drop {drop.p:.2g}" for drop in plan.windows if drop.arc.before == name]
            if said:
                found[operator] = ", ".join(dict.fromkeys(said))
        return found

    def statistics(self) -> Reading:
        """What has been learnt of operators, streams and queries, up to the last batch."""
        self._catch_up()
        controls = (part.control for part in self.parts)
        return Reading(tuple(one.measure.statistics.now for one in controls if one is not None))

    def shed(
        self,
        keep: float | Mapping[str, float] = 1.0,
        drop: float | Mapping[str, float] = 0.0,
        *,
        mode: Mode | None = None,
    ) -> None:
        """Drops so much, from the next batch on that is not decided yet.

        Args:
            keep: the share of rows to keep, of all queries with approximate answers or of each by
                name.
            drop: the share of windows to drop, of all queries with subset answers or of each by
                name.
            mode: "on", "monitor" or "off"; None leaves it as it is.
        """
        for part in self.parts:
            if part.shedder is not None:
                these = mine(keep, part.queries), mine(drop, part.queries)
                part.shedder.ask(part.shedder.ordering.by_hand(*these))
        if mode is not None:
            self.set_mode(mode)

    def set_mode(self, mode: Mode) -> None:
        """Drops rows from the next batch on that is not decided yet, or only counts, or neither.

        Args:
            mode: "on", "monitor" or "off".
        """
        if mode not in MODES:
            raise UsageError(complaint("mode", f"must be one of {', '.join(MODES)}", mode))
        for part in self.parts:
            if part.shedder is not None:
                part.shedder.mode = mode

    def plot(self) -> Any:  # noqa: ANN401 - matplotlib is an extra, and need not be there
        """Pictures of the run, as a figure of matplotlib; in a notebook it is shown."""
        return plot(self.history)

    def serve(
        self,
        port: int = 0,
        *,
        host: str = "127.0.0.1",
        token: str | None = None,
        changes: bool = False,
    ) -> Page:
        """Serves the live page and /metrics at `url`, until `close()` or the end of a `with`.

        Args:
            port: to listen on; 0 for any that is free.
            host: the address to listen on; of another than this machine's own only with a token.
            token: what a browser has to know, at least 16 characters.
            changes: whether the page may change the mode; needs a token.
        """
        if changes and token is None:
            raise UsageError(complaint("changes", "needs a token", None))
        change = (lambda mode: self.set_mode(cast("Mode", mode))) if changes else None
        return serve(self.scene, host=host, port=port, token=token, change=change)

    def report(self, folder: str | Path) -> str:
        """Writes a report of the run so far; says what is missing in it, such as pictures.

        Args:
            folder: where to; files of an earlier report are replaced.
        """
        return write_report(folder, self.scene())

    def _repr_html_(self) -> str:
        return scene_html(self.scene())

    def skip_to(self, time: Instant) -> None:
        """Jumps over a backlog: rows before a time are read and dropped at once.

        Windows that begin before it are not delivered, whatever gap a query tolerates; the ledger
        has them as "skipped", for `Network.backfill`. A query whose answers must all come, exactly,
        does not allow it.

        Args:
            time: of the first event that counts again.
        """
        shedders = [part.shedder for part in self.parts]
        if None in shedders:
            names = [n for p in self.parts if p.shedder is None for n in p.queries]
            rule = "needs queries that may lose windows"
            raise UsageError(complaint("skip_to()", rule, names))
        until = parse_instant(time, "time")
        for shedder in shedders:
            if shedder is not None:
                shedder.skip_to(until)

    def ledger(self) -> DataFrame:
        """What became of every window of every query, where something may be dropped.

        Its fate is "delivered", "partly" (groups may be missing: per="group"), "dropped", "revoked"
        (dropped when it was open already), "empty", "unseen" (no row that was not dropped at random
        fell into it), "skipped" (jumped over), "lost" if it is not delivered because a record of
        the plan could not be read, or "kept" if the driver died before it was told whether it was
        delivered or empty; `decision` is the batch for which it was dropped, `batch` the one that
        closed it.
        """
        self._catch_up()
        controls = [part.control for part in self.parts if part.control is not None]
        books = [one.ledger for one in controls if one.ledger is not None]
        query = next(iter(self.network.queries.values()))
        stream = query.stream if isinstance(query, WindowQuery) else query
        assert isinstance(stream, Stream)  # noqa: S101 - a query is one or has one
        spark = stream.rows.sparkSession
        return as_dataframe(spark, [row for book in books for row in book.rows()])

    @property
    def plan(self) -> Plan:
        """What is asked to be dropped now."""
        plans = [part.shedder.plan for part in self.parts if part.shedder is not None]
        return Plan(
            tuple(drop for plan in plans for drop in plan.random),
            tuple(drop for plan in plans for drop in plan.windows),
            tuple(name for plan in plans for name in plan.closed),
        )

    @property
    def accounts(self) -> dict[str, dict[str, int]]:
        """Query → its rows, and those of them that count in no window or not in all of theirs.

        They are reported when the watermark has passed them.
        """
        self._catch_up()
        found: dict[str, dict[str, int]] = {}
        for running in self.parts:
            if running.control is None:
                progress = running.run.progress
                found[running.queries[0]] = {
                    name: sum(accounts_of(batch)[name] for batch in progress) for name in ACCOUNTS
                }
                continue
            for name in running.queries:
                totals: Mapping[str, int] = running.control.chronicle.totals.get(name, Counter())
                found[name] = dict(totals)
        return found


def mine(given: float | Mapping[str, float], names: tuple[str, ...]) -> float | Mapping[str, float]:
    """What is given for some queries by name; a number is for all of them."""
    if not isinstance(given, Mapping):
        return given
    return {name: share for name, share in given.items() if name in names}


def _time(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).isoformat(timespec="milliseconds")

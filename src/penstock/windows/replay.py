"""The naive evaluator of a stream that comes in batches, with Spark's watermark between them.

Let L(N) be the watermark of batch N, and L(-1) = L(0) = 0, the epoch. After batch N

    L(N + 1) = max(L(N), largest time seen so far, in whole milliseconds - slack).

In batch N, first every row is counted in those of its windows that are open, which are those with
an end above L(N - 1); then the windows with an end at or below L(N) are closed and emitted.

    batch          0            1                      2
    newest row     10 s         25 s                   (none)
    slack 2 s      L(0) = 0     L(1) = 8 s             L(2) = 23 s
    rows count     end > 0      end > L(0) = 0         end > L(1) = 8 s
    emitted        end <= 0     end <= L(1) = 8 s      end <= L(2) = 23 s

So a late row may still count in a window that the same batch closes. When the stream pauses after a
batch that moved the watermark, a batch without data closes what is due.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import SpecificationError, UsageError, complaint, did_you_mean
from penstock.windows.arithmetic import (
    first_wid,
    last_closed,
    last_wid,
    wids_at,
    window_bounds,
    window_end,
)
from penstock.windows.durations import MILLISECOND, Duration, parse_duration
from penstock.windows.kinds import DOMAIN_KINDS
from penstock.windows.oracle import Accounts, Aggregates, Result, fold_groups, label
from penstock.windows.positions import Row, positions
from penstock.windows.spec import WindowSpec

Late = Literal["generous", "consistent"]
"""What becomes of a late row: it counts in the windows still open, or only if all of its are."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What one batch did.

    Args:
        watermark: L(N) in µs since the epoch: windows that end by then are emitted.
        emitted: the results, in the order of their windows and keys.
        accounts: where the rows of the batch went.
    """

    watermark: int
    emitted: tuple[Result, ...]
    accounts: Accounts


@dataclass(frozen=True, slots=True)
class Replay:
    """A whole run: its batches, and what is left when they are over.

    Args:
        batches: one record for each batch, the batch without data at the end included.
        watermark: what the next batch would have, in µs since the epoch.
        open: results so far of the windows that are still open; of a landmark window, which has
            no last one, up to the first that has every row.
    """

    batches: tuple[BatchRecord, ...]
    watermark: int
    open: tuple[Result, ...]

    @property
    def emitted(self) -> list[Result]:
        """All results, in the order in which they came."""
        return [result for batch in self.batches for result in batch.emitted]

    @property
    def accounts(self) -> Accounts:
        """Where the rows of all batches went."""
        return sum((batch.accounts for batch in self.batches), Accounts())


def replay(
    batches: Iterable[Sequence[Row]],
    spec: WindowSpec,
    keys: Sequence[str],
    aggs: Aggregates,
    *,
    slack: Duration = 0,
    late: Late = "generous",
    final_no_data: bool = True,
) -> Replay:
    """The results that a stream gives batch by batch, and where each of its rows went.

    Args:
        batches: the rows of each batch in order of arrival; an empty one is a batch without data.
        spec: a sliding, tumbling, landmark or cumulative window over time.
        keys: the grouping columns.
        aggs: the aggregates by the name of their result.
        slack: how far the watermark stays behind the newest row: a duration of whole milliseconds,
            or µs as an int.
        late: "generous" counts a late row in those of its windows that are open, as Spark does;
            "consistent" counts it only if all of its windows are open.
        final_no_data: whether a batch without data follows the last one, if the watermark moved.

    >>> from penstock.windows import tumbling
    >>> from penstock.windows.aggregates import COUNT_ALL
    >>> from penstock.windows.durations import SECOND
    >>> stream = [[{"ts": 3 * SECOND}, {"ts": 12 * SECOND}], [{"ts": 4 * SECOND}]]
    >>> run = replay(stream, tumbling("10 s", on="ts"), [], {"n": (COUNT_ALL, None)})
    >>> run.emitted  # the row of the 4th second came in time: the window closed after its batch
    [{'window_start': 0, 'window_end': 10000000, 'n': 2}]
    >>> run.open
    ({'window_start': 10000000, 'window_end': 20000000, 'n': 1},)

    Li et al., SIGMOD 2005, §8.2 (consistent and generous slack).
    """
    stream = _Stream(spec, keys, aggs, _slack(slack), late)
    records = [stream.run(rows) for rows in batches]
    if final_no_data and stream.watermark > stream.previous:
        records.append(stream.run(()))
    return Replay(tuple(records), stream.watermark, tuple(stream.results(None)))


class _Stream:
    """The state between batches: two watermarks, and every row that counts somewhere."""

    def __init__(
        self, spec: WindowSpec, keys: Sequence[str], aggs: Aggregates, slack: int, late: Late
    ) -> None:
        if spec.kind not in DOMAIN_KINDS or spec.unit != "time":
            raise UsageError(complaint("replay", "needs a window over time", str(spec)))
        if late not in get_args(Late):
            hint = did_you_mean(str(late), get_args(Late))
            rule = "must be 'generous' or 'consistent'"
            raise SpecificationError(complaint("late", rule, late, hint))
        self.spec, self.keys, self.aggs, self.slack, self.late = spec, keys, aggs, slack, late
        self.watermark = 0  # L(N) of the next batch
        self.previous = 0  # L(N - 1)
        self.counted: list[tuple[int, Row]] = []  # time in µs, row

    def run(self, rows: Sequence[Row]) -> BatchRecord:
        times = positions(rows, self.spec)
        accounts = Accounts()
        for row, time in zip(rows, times, strict=True):
            accounts += self._take(row, time)
        emitted = tuple(self.results(self.watermark))
        record = BatchRecord(self.watermark, emitted, accounts)
        newest = max((t for t in times if t is not None), default=0)
        moved = newest // MILLISECOND * MILLISECOND - self.slack
        self.previous, self.watermark = self.watermark, max(self.watermark, moved)
        self.counted = [(t, row) for t, row in self.counted if self._may_count(t)]
        return record

    def results(self, limit: int | None) -> Iterator[Result]:
        """The windows that end after L(N - 1), and at or before `limit`, with what they have."""
        for w in sorted(self._occupied(limit)):
            start, end = window_bounds(w, self.spec)
            if end <= self.previous or (limit is not None and end > limit):
                continue
            # A row that came late for this window came after it had been emitted: no need to ask.
            rows = [
                row for time, row in self.counted if (start is None or start <= time) and time < end
            ]
            for group in fold_groups(rows, self.keys, self.aggs):
                yield {**label(w, self.spec), **group}

    def _take(self, row: Row, time: int | None) -> Accounts:
        """Keeps the row if it counts anywhere; says where it went."""
        if time is None:
            return Accounts(rows_in=1, no_time=1)
        first, last = first_wid(time, self.spec), last_wid(time, self.spec)
        before = self.spec.start is not None and time < self.spec.start
        if before or (last is not None and last < first):
            return Accounts(rows_in=1, in_no_window=1)
        all_open = window_end(first, self.spec) > self.previous
        if not (self._may_count(time) if self.late == "generous" else all_open):
            return Accounts(rows_in=1, late_lost=1)
        self.counted.append((time, row))
        return Accounts(rows_in=1, counted=1, late_partial=int(not all_open))

    def _may_count(self, time: int) -> bool:
        last = last_wid(time, self.spec)
        return last is None or window_end(last, self.spec) > self.previous

    def _occupied(self, limit: int | None) -> set[int]:
        """The windows that have a row; of landmark windows those up to `limit`."""
        times = [time for time, _ in self.counted]
        if not times:
            return set()
        if last_wid(times[0], self.spec) is not None:
            return {w for t in times for w in wids_at(t, self.spec)}
        last = max(first_wid(max(times), self.spec), last_closed(self.previous, self.spec) + 1)
        if limit is not None:
            last = last_closed(limit, self.spec)
        first = max(first_wid(min(times), self.spec), last_closed(self.previous, self.spec) + 1)
        return set(range(first, last + 1))


def _slack(slack: Duration) -> int:
    micros = parse_duration(slack, "slack")
    if micros % MILLISECOND:
        hint = "Spark's watermark has no finer steps"
        raise SpecificationError(complaint("slack", "must be whole milliseconds", slack, hint))
    return micros

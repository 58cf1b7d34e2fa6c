"""The window step: a DataFrame of rows in, a DataFrame of windows out, batch or stream.

    rows ─► tag (close, block) ─► group ─┬─► panes ─► tag (window_end) ─► group ─► windows
                                         └─► accounts           (direct: blocks are windows already)

    tall ladder:  panes ─► tag (close, rung, block) ─► group ─► blocks, which go on as panes do

All groupings are ordinary Spark aggregations; the time at which Spark may evict a group is a
column like any other (`close`, then `window_end`). A block of a tall ladder is evicted when the
first window that takes it is over, and not earlier: until then it is one group in state, afterwards
it is a part of many windows.

A row that is late for its pane may still count in windows that are open. It is grouped apart, in a
group that closes just after L, the watermark up to which windows are closed, and so it reaches the
open windows in time; the closed ones Spark drops. Rows that count nowhere, because they are late,
have no time or fall in no window, go into groups of their own, are counted, and end there.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import (
    EVENT_TIME,
    block_due,
    block_ends,
    block_first_end,
    block_starts,
    first_end,
    in_no_window,
    last_end,
    pane_ends,
    pane_first_end,
    window_start,
)
from penstock.engine.lowering import Lowered
from penstock.network.query import Query
from penstock.windows import Evaluation, Ladder, WindowSpec

CLOSE, BLOCK, ROWS = "penstock_close", "penstock_block", "penstock_rows"
RUNG, DUE = "penstock_rung", "penstock_due"
TIME, BLOCKS, MARK = "penstock_time", "penstock_blocks", "penstock_mark"
LATE, LATE_BEFORE, LOST_BEFORE = "penstock_late", "penstock_late_before", "penstock_lost_before"
PROBLEM, BROKEN = "penstock_problem", "penstock_broken"

_NOWHERE = -(1 << 63)
NO_TIME, IN_NO_WINDOW, LATE_LOST, LATE_PARTIAL = (_NOWHERE + code for code in range(4))
"""Blocks that are part of no window: rows that are only counted."""
_FIRST_BLOCK = _NOWHERE + 16


@dataclass(frozen=True, slots=True)
class Step:
    """How the windows of a query are computed.

    Args:
        query: window, keys and aggregates.
        lowered: the query's aggregates as Spark columns.
        evaluation: direct, or the rungs of a ladder.
        late: L and what follows from it (`late_watermark`); None for a batch: no row is late.
        accounts: under which name the rows that do not count are reported; None for no report.
        promised: whether rows below L break a promise, and are counted.
    """

    query: Query
    lowered: dict[str, Lowered]
    evaluation: Evaluation
    late: Column | None
    accounts: str | None
    promised: bool = False

    def windows(self, rows: DataFrame) -> DataFrame:
        """The windows of the rows, which have a watermark if they are a stream."""
        spec = self.query.spec
        time = F.unix_micros(F.col(quoted(spec.rattr)))
        rows = rows.select("*", time.alias(TIME))
        if self.late is not None:
            marks = {
                LATE: "late",
                LATE_BEFORE: "late_before",
                LOST_BEFORE: "lost_before",
                PROBLEM: "problem",
            }
            rows = rows.select("*", self.late.alias(MARK)).select(
                "*", *(F.col(MARK)[mark].alias(name) for name, mark in marks.items())
            )
        tagged = self._tag_blocks(rows) if self.evaluation.rungs else self._tag_windows(rows)
        panes = self._report(
            tagged.groupBy(CLOSE, *self._blocks, *self._keys()).agg(
                F.count(F.lit(1)).alias(ROWS),
                *([self._broken.alias(BROKEN)] if self._counts_broken else []),
                *(low.partial(self._counts).alias(name) for name, low in self._partials()),
            )
        )
        if self.evaluation.tall:
            panes = self._climb(panes)
        merged = self._merge(panes) if self.evaluation.rungs else self._rename(panes)
        return merged.select(
            F.timestamp_micros(window_start(F.unix_micros("window_end"), spec)).alias(
                "window_start"
            ),
            "window_end",
            *self._keys(),
            *(
                low.final(F.col(partial)).alias(name)
                for name, (partial, low) in zip(self.lowered, self._partials(), strict=True)
            ),
        )

    def _tag_windows(self, rows: DataFrame) -> DataFrame:
        """Direct: each row once for every window that it is in; a block is a window's end."""
        spec, t = self.query.spec, F.col(TIME)
        first, last = first_end(t, spec), last_end(t, spec)
        if spec.range is not None and spec.range <= spec.slide:
            tagged = rows.select("*", self._nowhere(first).alias(BLOCK))
        else:
            ends = F.sequence(first, last, F.lit(spec.slide))
            if self.late is not None and self.query.late == "generous":
                # Spark drops the row from its closed windows; that it was late is noted once.
                noted = F.concat(F.array(F.lit(LATE_PARTIAL)), ends)
                ends = F.when(t < F.col(LATE_BEFORE), noted).otherwise(ends)
            tagged = self._explode(rows, ends)
        return self._tag_close(tagged, F.col(BLOCK))

    def _tag_blocks(self, rows: DataFrame) -> DataFrame:
        """Panes and ladder: each row once for every rung; a tall ladder begins with panes."""
        spec = self.query.spec
        starts = block_starts(F.col(TIME), self._ladder)
        if self._by_rows:
            tagged = self._explode(rows, F.array(*starts), numbered=True)
            due = block_first_end(F.col(BLOCK), F.col(RUNG), self._ladder)
        else:
            tagged = rows.select("*", self._nowhere(starts[0]).alias(BLOCK))
            due = pane_first_end(F.col(BLOCK), spec)
        return self._tag_close(tagged, due if self.late is None else F.greatest(due, self._after))

    def _tag_close(self, rows: DataFrame, close: Column) -> DataFrame:
        if self.late is None:
            return rows.select("*", F.lit(0).alias(CLOSE))  # a batch evicts nothing
        at = F.when(F.col(BLOCK) < _FIRST_BLOCK, self._after).otherwise(close)
        return rows.select("*", F.timestamp_micros(at).alias(CLOSE, metadata=EVENT_TIME))

    def _explode(self, rows: DataFrame, blocks: Column, *, numbered: bool = False) -> DataFrame:
        nowhere = self._nowhere(F.lit(None).cast("bigint"))
        listed = F.when(nowhere.isNull(), blocks).otherwise(F.array(nowhere))
        # The list is never empty; a plain explode would be filtered for that, at twice the cost.
        each = F.explode_outer(BLOCKS).alias(BLOCK)
        if numbered:
            each = F.posexplode_outer(BLOCKS).alias(RUNG, BLOCK)
        return rows.select("*", listed.alias(BLOCKS)).select("*", each)

    def _nowhere(self, otherwise: Column) -> Column:
        """The block of a row that counts in no window, or else `otherwise`."""
        spec, t = self.query.spec, F.col(TIME)
        block = F.when(t.isNull(), NO_TIME)
        gap = in_no_window(t, spec)
        if gap is not None:
            block = block.when(gap, IN_NO_WINDOW)
        if self.late is not None:
            wrong = F.raise_error(F.col(PROBLEM)).cast("bigint")
            lost = F.when(F.col(PROBLEM).isNotNull(), wrong).otherwise(LATE_LOST)
            block = block.when(t < F.col(LOST_BEFORE), lost)
        return block.otherwise(otherwise)

    def _report(self, panes: DataFrame) -> DataFrame:
        """Counts the rows of the blocks that end here, and lets the others pass."""
        block = F.col(BLOCK)
        if self.accounts is None:
            return panes.where(block >= _FIRST_BLOCK)
        partial = block == LATE_PARTIAL
        if self.late is not None and self.evaluation.rungs:
            due = pane_first_end(block, self.query.spec)
            partial = (block >= _FIRST_BLOCK) & (F.unix_micros(CLOSE) > due)
            if self._by_rows:
                partial &= F.col(RUNG) == 0
        reported = {
            "no_time": block == NO_TIME,
            "in_no_window": block == IN_NO_WINDOW,
            "late_lost": block == LATE_LOST,
            "late_partial": partial,
        }
        sums = [
            F.coalesce(F.sum(F.when(which, F.col(ROWS))), F.lit(0)).alias(name)
            for name, which in reported.items()
        ]
        if self._counts_broken:
            sums.append(F.coalesce(F.sum(BROKEN), F.lit(0)).alias("broken"))
        return panes.observe(self.accounts, *sums).where(block >= _FIRST_BLOCK)

    def _rename(self, windows: DataFrame) -> DataFrame:
        return windows.select("*", _window_end(F.col(BLOCK)))

    def _climb(self, panes: DataFrame) -> DataFrame:
        """Each pane once for every rung of the ladder, merged into the block there."""
        starts = F.array(*block_starts(F.col(BLOCK), self._ladder))
        kept = [*map(quoted, self.query.keys), *(name for name, _ in self._partials()), CLOSE]
        climbed = panes.select(*kept, starts.alias(BLOCKS)).select(
            *kept, F.posexplode_outer(BLOCKS).alias(RUNG, BLOCK)
        )
        climbed = climbed.select("*", block_due(F.col(BLOCK), F.col(RUNG), self._ladder).alias(DUE))
        climbed = climbed.where(F.col(DUE).isNotNull())  # a block that no window takes
        if self.late is not None:
            # A pane that came late is evicted now, and so are its rows in blocks that were before.
            close = F.greatest(F.timestamp_micros(DUE), F.col(CLOSE))
            rest = [name for name in climbed.columns if name != CLOSE]
            climbed = climbed.select(*map(quoted, rest), close.alias(CLOSE, metadata=EVENT_TIME))
        return self._merged(climbed, CLOSE, RUNG, BLOCK)

    def _merge(self, blocks: DataFrame) -> DataFrame:
        """Each pane, or block, once for every window that takes it, merged."""
        start = F.col(BLOCK)
        if len(self.evaluation.rungs) > 1:
            ends = block_ends(start, F.col(RUNG), self._ladder)
        else:
            ends = pane_ends(start, self.query.spec)
        kept = [*map(quoted, self.query.keys), *(name for name, _ in self._partials())]
        spread = blocks.select(*kept, ends.alias(BLOCKS)).select(
            *kept, F.explode_outer(BLOCKS).alias(BLOCK)
        )
        ended = spread.where(F.col(BLOCK).isNotNull()).select(*kept, _window_end(F.col(BLOCK)))
        return self._merged(ended, "window_end")

    def _merged(self, partials: DataFrame, *by: str) -> DataFrame:
        return partials.groupBy(*by, *self._keys()).agg(
            *(
                low.merge(F.col(name)).alias(name)
                for name, low in self._partials()
                if low.merge is not None
            )
        )

    def _counts(self, x: Column) -> Column:
        """A value of a row that counts: those of other rows must not overflow, or fail."""
        return F.when(F.col(BLOCK) >= _FIRST_BLOCK, x)

    @property
    def _by_rows(self) -> bool:
        """Whether rows are folded into blocks at once."""
        return len(self.evaluation.rungs) > 1 and not self.evaluation.tall

    @property
    def _blocks(self) -> list[str]:
        return [RUNG, BLOCK] if self._by_rows else [BLOCK]

    @property
    def _counts_broken(self) -> bool:
        return self.promised and self.late is not None and self.accounts is not None

    @property
    def _broken(self) -> Column:
        below = F.col(TIME) < F.col(LATE)
        return F.count_if(below & (F.col(RUNG) == 0) if self._by_rows else below)

    @property
    def _after(self) -> Column:
        """Just after L: not late, and evicted as soon as the watermark moves on at all."""
        return F.col(LATE) + 1

    @property
    def _ladder(self) -> Ladder:
        return Ladder(self.query.spec, self.evaluation.rungs)

    def _keys(self) -> list[Column]:
        return [F.col(quoted(key)) for key in self.query.keys]

    def _partials(self) -> list[tuple[str, Lowered]]:
        return [(f"penstock_{i}", low) for i, low in enumerate(self.lowered.values())]


def quoted(name: str) -> str:
    """The name of a column, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _window_end(end: Column) -> Column:
    return F.timestamp_micros(end).alias("window_end", metadata=EVENT_TIME)


def count_lost(rows: DataFrame, query: Query) -> dict[str, int]:
    """Rows of a batch that count in no window, by reason.

    Args:
        rows: a batch.
        query: whose windows are meant.
    """
    t = F.unix_micros(F.col(quoted(query.window.rattr)))
    gap = in_no_window(t, query.window) if isinstance(query.window, WindowSpec) else None
    counted = rows.agg(
        F.count_if(t.isNull()).alias("no_time"),
        (F.lit(0) if gap is None else F.count_if(gap)).alias("in_no_window"),
    ).first()
    found = counted.asDict() if counted is not None else {}
    return {**found, "late_lost": 0, "late_partial": 0, "broken": 0}

"""Rows of large batches are dropped before the watermark, and where it can be before the parse.

    rows ─► stays and is wanted, or one in 64? ─► watermark ─► orders of the folds (`shed`) ─► …
                 ✗

What follows costs many times what this does: the watermark alone wants all columns of every row
that it sees. The price is that the watermark goes by the rows that stay and by one in 64 of the
others, so it may be a little lower, and windows close a little later; never earlier. In a batch of
few rows that could be much, so there rows go on to `shed`, which drops them behind the watermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine import arrivals
from penstock.engine.asking import Question, knows_before_parsing
from penstock.engine.frame import CHANCE, MARK
from penstock.engine.operators import as_column
from penstock.engine.orders import at_stream, below, chance, is_small, kept_warm, stays, wanting
from penstock.engine.progress import watermarked
from penstock.engine.results import rows_of
from penstock.engine.schema import OURS, own_watermark
from penstock.engine.step import quoted
from penstock.engine.tally import ONE_IN
from penstock.network.operators import Source
from penstock.sources.kafka import KEPT, Kafka

_EARLY, _WANTS, _KEPT = f"{OURS}early", f"{OURS}wants", f"{OURS}kept"
NEVER = -1
"""The random number of a row that is never dropped: it is below every threshold."""


@dataclass(frozen=True)
class Entrance:
    """Where the rows of a stream come in.

    Args:
        source: the stream.
        number: of the stream, from 0 on.
        late: what the batch is told (`late_watermark`), orders included.
        sampled: whether all that is dropped is dropped at random.
        metric: the name under which rows are counted; None if Spark tells how many come.
        asked: what rows are asked besides their random number.
        timed: whether they are asked also in which windows they are.
        kept: the name under which the rows that stay are counted, in batches that drop some here;
            None for not at all. Spark's generated code ends at the watermark, so this is where a
            count costs next to nothing.
    """

    source: Source
    number: int
    late: Column
    sampled: bool
    metric: str | None
    asked: Sequence[Question] = ()
    timed: bool = False
    kept: str | None = None

    def rows(self) -> DataFrame:
        """The rows with their watermark, counted, and fewer of them in a large batch."""
        source, plain = self.source, rows_of(self.source)
        time = source.event_time
        if time is None or not plain.isStreaming or own_watermark(plain, time) is not None:
            return self._counted(plain)  # what is below its watermark is not ours
        if source.progress is not None:
            return self._counted(watermarked(plain, time, source.slack, source.progress))
        fewer = watermarked(self._fewer(plain), time, source.slack, None)
        if self.kept is None:
            return fewer
        # Above the watermark: below, Spark would copy all rows once more to leave the column out.
        counted = fewer.observe(self.kept, F.count_if(F.col(_KEPT)).alias("rows"))
        return counted.select(*map(quoted, plain.columns))

    def _fewer(self, plain: DataFrame) -> DataFrame:
        source = self.source
        if self.sampled and knows_before_parsing(source):
            origin = source.origin.of if source.origin is not None else None
            assert isinstance(origin, Kafka)  # noqa: S101 - only there it is known
            names = tuple(KEPT[name] for name in origin.identity)
            raw = self._counted(origin.raw(plain.sparkSession))
            return origin.parsed(self._left(raw, names, time=None))
        names = source.identity or tuple(plain.columns)
        return self._left(self._counted(plain), names, time=source.event_time)

    def _counted(self, rows: DataFrame) -> DataFrame:
        return rows if self.metric is None else arrivals.counted(rows, self.metric)

    def _left(self, rows: DataFrame, names: Sequence[str], *, time: str | None) -> DataFrame:
        """The rows that stay, if the batch is a large one that drops some.

        Args:
            rows: all of them.
            names: the columns that tell them apart.
            time: the column with their event time; None if it is not known yet.
        """
        mark = F.col(MARK)
        order = at_stream(mark, self.number)
        u = F.col(CHANCE)
        small = u < order["below"]
        if time is not None:
            t = F.unix_micros(F.col(quoted(time)))
            small = is_small(order, u, t) if self.sampled else stays(order, u, t)
        # Spark would ask all this below whatever computes the columns, which it then writes out
        # for each question, if it were sure that this is the same each time.
        early = mark["early"] & (F.spark_partition_id() >= 0)
        number = F.when(mark["early"], random_number(self.source, names))
        marked = rows.select("*", self.late.alias(MARK)).select("*", number.alias(CHANCE))
        counted = []
        if self.kept is not None:
            marked = marked.select("*", F.coalesce(early & small, F.lit(False)).alias(_KEPT))
            small, counted = F.col(_KEPT), [_KEPT]
        asked = self.asked if time is not None else ()
        if time is not None and asked and self.timed:
            t = F.unix_micros(F.col(quoted(time)))
            wants = kept_warm(wanting(mark, self.number, t), mark["early"], u)
            wants = F.when(mark["early"], wants)
            marked = marked.select("*", wants.alias(_WANTS))
            # What the stream needs is what somebody wants: that is not looked up twice.
            sampled = any(question.sampled for question in asked)
            small = is_small(order, u, t) if sampled else u == NEVER
            small = (F.col(_WANTS) != 0) | small

        def left(of: DataFrame, stay: Column, *told: str) -> DataFrame:
            stays = F.when(early, stay | in_sample(u)).otherwise(F.lit(True)).alias(_EARLY)
            # What is told goes no further: all that follows would have to be able to copy it.
            rest = [quoted(name) for name in rows.columns]
            return of.select(*rest, *told, stays).where(F.col(_EARLY)).drop(_EARLY)

        if not asked:
            return left(marked, small, *counted)
        # Few are asked for what is in them: a column that is asked for more than once is computed
        # for every row that comes so far.
        told = [MARK, CHANCE, *counted, *([_WANTS] if self.timed else [])]
        return left(left(marked, small, *told), self._wanted(mark, u), *counted)

    def _wanted(self, mark: Column, u: Column) -> Column:
        """Whether some query wants a row; one that is never dropped is not asked."""
        asked = []
        # Who wants any row is asked first: where it stays for that one, it is not looked into.
        for i, question in sorted(enumerate(self.asked), key=lambda one: bool(one[1].predicates)):
            ways = []
            # Each look at what is told costs something, and a row that goes is asked all of it.
            if question.sampled or not self.timed:
                ways.append(u < below(mark, self.number, i))
            if self.timed:
                ways.append(F.col(_WANTS).bitwiseAND(F.lit(1 << i).cast("bigint")) != 0)
            asked.append(question.holds(reduce(Column.__or__, ways)))
        return reduce(Column.__or__, asked, u == NEVER)


def random_number(source: Source, names: Sequence[str]) -> Column:
    """The random number of each row, `NEVER` for one that is never dropped.

    Where a stream upstream has dropped rows by a hash of the same columns, only small ones are
    left, and no row would go here. It has given weights to those that stayed: so the weight is one
    of the columns, and where it has changed the number is another one.

    Args:
        source: the stream.
        names: the columns that tell its rows apart.
    """
    weight = [source.weight] if source.weight is not None and source.weight not in names else []
    u = chance([F.col(quoted(name)) for name in (*names, *weight)])
    if source.never_shed is not None:
        never = F.coalesce(as_column(source.never_shed), F.lit(False))
        u = F.when(never, NEVER).otherwise(u)
    return u


def in_sample(u: Column) -> Column:
    """Whether a row goes on in any case, to tell how many pass each operator, and what time it is.

    Args:
        u: its random number.
    """
    return u.bitwiseAND(F.lit(ONE_IN - 1)) == 0

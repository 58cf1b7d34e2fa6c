"""Session windows: Spark has an operator for them; rows that it would drop are counted first."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import EVENT_TIME
from penstock.engine.lowering import Lowered
from penstock.engine.step import quoted
from penstock.network.query import Query
from penstock.windows import SessionSpec

_TIME, _LATE = "penstock_time", "penstock_late"


def windows(
    rows: DataFrame,
    query: Query,
    lowered: dict[str, Lowered],
    late: Column | None,
    accounts: str | None,
) -> DataFrame:
    """The sessions of the rows, which have a watermark if they are a stream.

    Args:
        rows: batch or stream.
        query: one with a session window over time.
        lowered: its aggregates as Spark columns.
        late: L in microseconds since the epoch; None for a batch, where no row is late.
        accounts: under which name the rows that do not count are reported; None for no report.
    """
    spec = query.window
    assert isinstance(spec, SessionSpec)  # noqa: S101 - the caller has looked
    time, t = F.col(quoted(spec.rattr)), F.col(_TIME)
    tagged = rows.withColumn(_TIME, F.unix_micros(time))
    if late is not None and accounts is not None:
        tagged = tagged.withColumn(_LATE, late)
        lost = t + spec.gap <= F.col(_LATE)
        promised = query.progress is not None
        broken = F.count_if(t < F.col(_LATE)) if promised else F.lit(0)
        tagged = tagged.observe(
            accounts,
            F.count_if(t.isNull()).alias("no_time"),
            F.count_if(lost).alias("late_lost"),
            broken.alias("broken"),
        ).where(~lost)
    stamped = F.timestamp_micros(t)
    if rows.isStreaming:
        stamped = stamped.alias(_TIME, metadata=EVENT_TIME)
    stamped_rows = tagged.withColumn(_TIME, stamped).where(F.col(_TIME).isNotNull())
    window = F.session_window(_TIME, f"{spec.gap} microseconds").alias("penstock_session")
    partials = [
        low.partial(lambda x: x).alias(f"penstock_{i}") for i, low in enumerate(lowered.values())
    ]
    grouped = stamped_rows.groupBy(window, *(F.col(quoted(key)) for key in query.keys)).agg(
        *partials
    )
    bounds = F.col("penstock_session")
    return grouped.select(
        bounds["start"].alias("window_start"),
        bounds["end"].alias("window_end"),
        *(F.col(quoted(key)) for key in query.keys),
        *(
            low.final(F.col(f"penstock_{i}")).alias(name)
            for i, (name, low) in enumerate(lowered.items())
        ),
    )

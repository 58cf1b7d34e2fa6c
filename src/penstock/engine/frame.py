"""What the columns of a shared frame are called, on the way from rows to answers."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.engine.columns import EVENT_TIME
from penstock.windows import WindowSpec

AGGREGATE, GROUP, PANE, CLOSE = (
    f"penstock_{name}" for name in ("aggregate", "group", "pane", "close")
)
TIME, LATE, END, ENDS = (f"penstock_{name}" for name in ("time", "late", "end", "ends"))
MARK, FIRST, LAST, REASON = (f"penstock_{n}" for n in ("mark", "first", "last", "reason"))
START_OF, END_OF, TIME_OF = (f"penstock_{name}" for name in ("start_of", "end_of", "time_of"))

KEEP, KEEPS, CHANCE, STAYED, AT, ON = (
    f"penstock_{name}" for name in ("keep", "keeps", "chance", "stayed", "at", "on")
)
DROPS, COUNTING, BOOK, ORDERS = (
    f"penstock_{name}" for name in ("drops", "counting", "book", "orders")
)
WEIGHT = "penstock_weight"
"""How many rows a row stood for before it came here."""

TOTAL, SQUARES, COUNTED, LOWEST, HIGHEST = (
    f"penstock_{name}" for name in ("total", "squares", "counted", "lowest", "highest")
)
"""Sum and sum of squares of what a query sums, for its statistics."""

NO_TIME = -(1 << 63)
"""The pane of rows without a time."""

DUMMY = WindowSpec(range=1, slide=1, rattr="ts", sattr="ts")
"""What number 0 has in the arrays of parameters."""

Answers = dict[str, str]
"""Name of a key or result → the slot of the frame that it is in."""


def bits_at(number: int) -> str:
    """A column with bits of folds in which a row stays for its time."""
    return f"penstock_bits_{number}"


def stays_at(fold: int) -> str:
    """The column that says which rows stay on the way to a fold; its number is from 0 on."""
    return f"penstock_stays_{fold}"


def flags_of(columns: Iterable[str]) -> list[str]:
    """Those of the columns that say what becomes of a row, and nothing else."""
    flags, stays = (STAYED, COUNTING, DROPS, ON), stays_at(0)[:-1]
    return [name for name in columns if name in flags or name.startswith(stays)]


def window_end(micros: Column) -> Column:
    """The end of a window, by which Spark evicts its state."""
    return F.timestamp_micros(micros).alias("window_end", metadata=EVENT_TIME)

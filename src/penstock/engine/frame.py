"""What the columns of a shared frame are called, on the way from rows to answers."""

from __future__ import annotations

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

KEEP, KEEPS, CHANCE, AT = (f"penstock_{name}" for name in ("keep", "keeps", "chance", "at"))
BOOK, ORDERS = (f"penstock_{name}" for name in ("book", "orders"))
STAYED, COUNTING, DROPS, ON = range(4)
"""Bits of the first number of conditions (`flags_at`)."""
WAYS = 9
"""Folds for which it is looked in one piece of code whether rows stay."""
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


def flags_at(number: int) -> str:
    """A column with conditions of a row, as bits of a number.

    What one piece of code hands to the next are the parameters of a method, two for each condition:
    where these are fifty, Java's best compiler leaves the method as it is. The first such column
    has `STAYED`, `COUNTING`, `DROPS` and `ON`, each of the others the ways to some folds (`way`).
    """
    return f"penstock_flags_{number}"


def taken_at(number: int) -> str:
    """A column with the ways that a row goes, if it passes the filters on them, as `flags_at`.

    They are those to the folds for which it stays; all of them where rows are only counted.
    """
    return f"penstock_taken_{number}"


def flag(bit: int, column: str | None = None) -> Column:
    """A condition of a row.

    Args:
        bit: its number, such as `STAYED`.
        column: that has it; the first of `flags_at` if None.
    """
    return F.col(column or flags_at(0)).bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0


def way(fold: int) -> tuple[int, int]:
    """The number of the column that says which rows stay on the way to a fold, and the bit.

    Args:
        fold: its number, from 0 on.
    """
    number, bit = divmod(fold, WAYS)
    return number + 1, bit


def window_end(micros: Column) -> Column:
    """The end of a window, by which Spark evicts its state."""
    return F.timestamp_micros(micros).alias("window_end", metadata=EVENT_TIME)

"""Long code in pieces: Java leaves a method of more than 8,000 bytes as it is.

It then runs ten times slower than one that Java compiles. Spark writes the expressions of a frame
into one method, up to the next operator that may hand on several rows for one: so that is what
stands between the pieces, with one row for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.columns import BITS, bits
from penstock.engine.step import quoted

_ONE, _FLAGS = "penstock_one", "penstock_conditions"


def apart(frame: DataFrame, flags: Sequence[str] = ()) -> DataFrame:
    """The frame; what comes after is not in one method with what comes before.

    Args:
        frame: any.
        flags: its columns that hold conditions, none of them null. They go as bits of numbers, for
            what is handed on are parameters of a method, of which there may not be fifty
            (`frame.flags_at`).
    """
    cut = {f"{_FLAGS}_{at}": flags[at : at + BITS] for at in range(0, len(flags), BITS)}
    names = [quoted(name) for name in frame.columns if name not in flags]
    packed = [
        bits((bit, F.col(name)) for bit, name in enumerate(some)).alias(number)
        for number, some in cut.items()
    ]
    one = F.explode_outer(F.array(F.lit(0))).alias(_ONE)
    pieces = frame.select(*names, *packed).select("*", one).drop(_ONE)
    unpacked = [
        (F.col(number).bitwiseAND(F.lit(1 << bit).cast("bigint")) != 0).alias(name)
        for number, some in cut.items()
        for bit, name in enumerate(some)
    ]
    return pieces.select(*names, *unpacked) if unpacked else pieces

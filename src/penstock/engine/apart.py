"""Long code in pieces: Java leaves a method of more than 8,000 bytes as it is.

It then runs ten times slower than one that Java compiles. Spark writes the expressions of a frame
into one method, up to the next operator that may hand on several rows for one: so that is what
stands between the pieces, with one row for each.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_ONE = "penstock_one"


def apart(frame: DataFrame) -> DataFrame:
    """The frame; what comes after is not in one method with what comes before."""
    return frame.select("*", F.explode_outer(F.array(F.lit(0))).alias(_ONE)).drop(_ONE)

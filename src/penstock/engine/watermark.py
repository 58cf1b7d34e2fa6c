"""The watermark of the running batch, as a value that any expression of the stream can use.

Spark writes `offsets/N` in the checkpoint before it runs batch N, and the watermark is in it. A
subquery of one row reads it, once a batch and not for each row; a replayed batch reads what it read
the first time. The value is L(N - 1), by which Spark tells late rows in batch N.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import LongType

from penstock.engine.files import Folder
from penstock.errors import UsageError


def late_watermark(spark: SparkSession, checkpoint: str) -> Column:
    """L(N - 1) of the running batch N in microseconds since the epoch.

    Args:
        spark: the session of the stream.
        checkpoint: the stream's checkpointLocation.
    """

    def read(_: int) -> int:
        return read_late_watermark(checkpoint)

    # Not deterministic, or Spark would compute it once for the whole life of the stream.
    read_once = F.udf(read, LongType(), useArrow=False).asNondeterministic()
    one_row = spark.range(1, numPartitions=1)
    return one_row.select(read_once("id").alias("late")).scalar()


def read_late_watermark(checkpoint: str) -> int:
    """The watermark in the last but one entry of the offset log; the epoch before there is one."""
    log = Folder(checkpoint, "offsets")
    batches = sorted(int(name) for name in log.names() if name.isdigit())
    if not batches:
        message = (
            f"checkpoint must be the stream's checkpointLocation, got {checkpoint!r}, which has no "
            "offsets; give writeStream the same one"
        )
        raise UsageError(message)
    if len(batches) < 2 or batches[-2] != batches[-1] - 1:
        return 0
    entry = log.read(str(batches[-2])).decode()
    return int(json.loads(entry.splitlines()[1])["batchWatermarkMs"]) * 1000

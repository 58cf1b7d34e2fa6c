"""The watermark of the running batch, as a value that any expression of the stream can use.

Spark writes `offsets/N` in the checkpoint before it runs batch N, and the watermark is in it. A
subquery of one row reads it, once a batch and not for each row; a replayed batch reads what it read
the first time. The value is L(N - 1), by which Spark tells late rows in batch N.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from penstock.engine.files import Folder
from penstock.errors import UsageError
from penstock.network.query import Query
from penstock.windows import late_before, lost_before

_TYPE = "struct<late: bigint, late_before: bigint, lost_before: bigint>"


def late_watermark(spark: SparkSession, checkpoint: str, query: Query) -> Column:
    """What the running batch N has to know of L(N - 1), in microseconds since the epoch.

    Rows below `late_before` have a window that is closed, rows below `lost_before` count nowhere:
    a comparison for each row is all that lateness costs.

    Args:
        spark: the session of the stream.
        checkpoint: the stream's checkpointLocation.
        query: whose windows are meant.
    """
    spec, generous = query.window, query.late == "generous"

    def read(_: int) -> tuple[int, int, int]:
        late = read_late_watermark(checkpoint)
        partial = late_before(late, spec)
        return late, partial, lost_before(late, spec) if generous else partial

    # Not deterministic, or Spark would compute it once for the whole life of the stream.
    read_once = F.udf(read, _TYPE, useArrow=False).asNondeterministic()
    return spark.range(1, numPartitions=1).select(read_once("id")).scalar()


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
    before = batches[-1] - 1
    if before not in batches:
        return 0
    entry = log.read(str(before)).decode()
    return int(json.loads(entry.splitlines()[1])["batchWatermarkMs"]) * 1000

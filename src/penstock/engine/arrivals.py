"""How many rows a stream brought: as Spark tells, if all that it reads are rows of the stream.

Where a DataFrame filters or joins before it becomes a stream, its rows are counted. A source may
say that each record is a block of so many rows: then nothing has to be counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.engine.results import rows_of
from penstock.network.operators import Source
from penstock.sources.source import InBlocks

_ONE_TO_ONE = {"Project", "SubqueryAlias", "EventTimeWatermark", "CollectMetrics", "Union"}
_READ = {"StreamingRelation", "StreamingRelationV2"}
_UNPACKED = {"Generate"}


def is_as_read(source: Source) -> bool:
    """Whether the rows of a stream are those that Spark reads, one by one or in blocks."""
    if source.progress is not None:
        return False  # rows that tell how far the stream is are none of its data
    plan = rows_of(source)._jdf.queryExecution().analyzed()  # noqa: SLF001 - nothing else tells
    operators = set(_operators(plan))
    known = _ONE_TO_ONE | _READ | (_UNPACKED if block_of(source) > 1 else set())
    return bool(operators & _READ) and operators <= known


def block_of(source: Source) -> int:
    """Rows of each record that Spark reads."""
    origin = source.origin.of if source.origin is not None else None
    return origin.block if isinstance(origin, InBlocks) else 1


def _operators(plan: Any) -> Iterator[str]:  # noqa: ANN401 - an object of Java
    yield str(plan.nodeName())
    below = plan.children()
    for i in range(below.size()):
        yield from _operators(below.apply(i))


def arriving(metric: str, number: int) -> str:
    """The metric under which the rows of a stream are counted.

    Args:
        metric: of the network.
        number: of the stream, from 0 on.
    """
    return f"{metric}_s{number}"


def staying(metric: str, number: int) -> str:
    """The metric under which those rows of a stream are counted that stay where they enter.

    Args:
        metric: of the network.
        number: of the stream, from 0 on.
    """
    return f"{metric}_k{number}"


def counted(rows: DataFrame, metric: str) -> DataFrame:
    """The rows, which are counted under that name."""
    return rows.observe(metric, F.count(F.lit(1)).alias("rows"))


def rows_in(report: Mapping[str, Any], metric: str, scans: int, block: int = 1) -> int:
    """The rows of a stream in a batch.

    Args:
        report: what Spark says of the batch.
        metric: under which they are counted, if they are.
        scans: how often the batch reads them, if they are not.
        block: rows of a record.
    """
    seen = report.get("observedMetrics", {}).get(metric)
    if seen is not None:
        return int(seen["rows"] or 0)
    records = sum(int(source.get("numInputRows") or 0) for source in report["sources"])
    return records * block // scans


def rows_by_stream(
    report: Mapping[str, Any],
    scans: Mapping[str, int],
    counted: Mapping[str, str],
    blocks: Mapping[str, int],
) -> dict[str, float]:
    """The rows of each stream in a batch.

    Args:
        report: what Spark says of the batch.
        scans: stream → how often the batch reads it, as queries without an aggregate do once more.
        counted: stream → the metric under which its rows are counted, if they are.
        blocks: stream → rows of a record.
    """
    told = [float(source.get("numInputRows") or 0) for source in report["sources"]]
    told = [sum(told)] if len(scans) == 1 else told
    each = {name: blocks[name] / scans[name] for name in scans}
    found = {name: rows * each[name] for name, rows in zip(scans, told, strict=False)}
    # What is filtered or made before it is a stream, Spark does not tell.
    seen = report.get("observedMetrics", {})
    return found | {
        name: float(seen[metric]["rows"] or 0) for name, metric in counted.items() if metric in seen
    }

"""Some windows of queries over tables, exactly, whatever kind of answers the stream had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.drops.gaps import Span
from penstock.drops.kinds import AnswerKind, Approximate
from penstock.drops.linear import times
from penstock.engine.frame import AGGREGATE
from penstock.engine.part import Part
from penstock.engine.schema import OURS
from penstock.network.aggregates import count
from penstock.network.aggregates import sum as sum_of
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate, Expression, Map, Operator, Union, depth

_SAMPLE = "sample"


@dataclass(frozen=True)
class Exact:
    """The answers, which are computed once.

    Args:
        frame: all of them, to be persisted by who uses them.
        answers: those of each query, made from the frame.
    """

    frame: DataFrame
    answers: Mapping[str, DataFrame]


def exactly(
    queries: Mapping[str, Operator],
    kinds: Mapping[str, AnswerKind],
    windows: Mapping[str, Sequence[Span]],
) -> Exact:
    """Exact answers in the form that the stream's answers have.

    Args:
        queries: windows over tables, which have streams in common.
        kinds: query → what its answers were; approximate ones have bounds, here without width.
        windows: query → the windows that are asked for, in microseconds.
    """
    nodes = {name: _counted(node, kinds.get(name)) for name, node in queries.items()}
    part = Part(Graph(nodes))
    frame = part.frame()
    spark = frame.sparkSession
    wanted = {
        (part.shared.number[node], end)
        for name, node in nodes.items()
        for _, end in windows[name]
        if isinstance(node, Aggregate)
    }
    ends = spark.createDataFrame(sorted(wanted), "number int, end bigint")
    this = [
        F.col(AGGREGATE) == F.col("number"),
        F.col("window_end") == F.timestamp_micros(F.col("end")),
    ]
    frame = frame.join(F.broadcast(ends), reduce(Column.__and__, this), "left_semi").persist()
    found = {}
    for name, answers in part.answers(frame).items():
        kind, node = kinds.get(name), nodes[name]
        if isinstance(kind, Approximate) and isinstance(node, Aggregate):
            answers = _with_bounds(answers, node)  # noqa: PLW2901 - the same answers
        end = F.unix_micros("window_end")
        # Queries that ask the same have one aggregate, and maybe other gaps.
        mine = answers.where(end.isin([e for _, e in windows[name]])) if _shared(nodes) else answers
        found[name] = mine
    return Exact(frame, found)


def _shared(nodes: Mapping[str, Operator]) -> bool:
    return len(set(nodes.values())) < len(nodes)


def _counted(node: Operator, kind: AnswerKind) -> Operator:
    if not isinstance(kind, Approximate) or not isinstance(node, Aggregate):
        return node
    return _with_count(node, _SAMPLE)


def _with_count(node: Operator, name: str = f"{OURS}{_SAMPLE}") -> Operator:
    """The same answers with the number of their rows; windows over windows add up those below."""
    match node:
        case Union(inputs=several):
            return replace(node, inputs=tuple(map(_with_count, several)))
        case Map():
            columns = (*node.columns, (name, Expression(name)))
            return replace(node, input=_with_count(node.input), columns=columns)
        case Aggregate():
            below, rows = node.input, count()
            if depth(below):
                below, rows = _with_count(below), sum_of(f"{OURS}{_SAMPLE}")
            asked = {**node.query.aggregates, name: rows}
            return replace(node, input=below, query=replace(node.query, aggregates=asked))
    return node  # a filter or a join between windows has no approximate answers above it


def _with_bounds(answers: DataFrame, node: Aggregate) -> DataFrame:
    """As `Estimates` has them: each answer between its bounds, then how it came about."""
    columns = ["window_start", "window_end", *node.query.keys]
    values: list[Column] = []
    for name in node.query.aggregates:
        if name != _SAMPLE:
            value = F.col(f"`{name}`").cast("double")
            values += [value.alias(name), value.alias(f"{name}_low"), value.alias(f"{name}_high")]
    keys = [F.col(f"`{name}`") for name in columns]
    rows = F.ceil(F.col(_SAMPLE) / times(node)).cast("bigint").alias(_SAMPLE)
    kept = [F.lit(1.0).alias("keep"), rows, F.lit(True).alias("exact")]
    kept += [F.lit(0.0).alias("unseen")] if node.query.keys else []
    return answers.select(*keys, *values, *kept)

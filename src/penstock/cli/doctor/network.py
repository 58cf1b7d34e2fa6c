"""The network: does it compile, what may become of its answers, do drops stand where they must?"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.cli.doctor.check import Check, ok, warn, wrong
from penstock.drops.kinds import kind_name
from penstock.engine.network import Network
from penstock.engine.part import Part
from penstock.engine.watermark import late_watermark
from penstock.network.config import Config
from penstock.network.graph import Graph
from penstock.network.operators import Aggregate

WATERMARK = "EventTimeWatermark"
_METRIC = "penstock_doctor"


def answers(config: Config, network: Network) -> Iterator[Check]:
    """What may become of the answers of each query.

    Args:
        config: the file.
        network: what was made of it.
    """
    kinds = {name: kind_name(network.kinds.get(name)) for name in network.queries}
    exact = [name for name, kind in kinds.items() if kind != config.queries[name].answers]
    said = ", ".join(f"{name} {kind}" for name, kind in kinds.items() if name not in exact)
    if said:
        yield ok("answers", said)
    for name in exact:
        why = network.split.alone.get(name, "")
        asked = config.queries[name].answers
        says = f"query {name} cannot have {asked} answers, and is never shed"
        other = "subset" if asked == "approximate" else "approximate"
        mend = why or f'answers = "{other}" in [query.{name}] may do'
        yield warn("answers", says, mend)


def places(network: Network, spark: SparkSession, scratch: Path) -> Check:
    """Whether the drops stand above the watermark, which must see every row.

    Args:
        network: of streams.
        spark: the session.
        scratch: a folder.
    """
    shedding = [graph for graph in network.split.parts if set(graph.queries) & set(network.kinds)]
    if not shedding:
        return ok("drops", "nothing is ever dropped: all answers are exact")
    plans = [_plan(_frame(network, graph, spark, scratch)) for graph in shedding]
    if not all(WATERMARK in plan for plan in plans):
        return wrong("drops", "the plan has no watermark", "give the stream an event_time")
    below = [found for plan in plans for found in misplaced(plan)]
    if below:
        mend = "it would hold the watermark back: report it, with the plan"
        return wrong("drops", f"a filter stands below the watermark: {below[0]}", mend)
    return ok("drops", "stand above the watermark, which sees every row")


def misplaced(plan: str) -> list[str]:
    r"""The filters that stand below a watermark.

    Args:
        plan: of Spark, as a tree of lines.

    >>> misplaced("Project\n+- EventTimeWatermark ts\n   +- Filter (size > 3)\n      +- Scan")
    ['Filter (size > 3)']
    >>> misplaced("Filter (size > 3)\n+- EventTimeWatermark ts\n   +- Scan")
    []
    """
    found, inside = [], -1
    for line in plan.splitlines():
        text = re.sub(r"^[\s:+|-]*", "", line)
        depth = len(line) - len(text)
        if inside >= 0 and depth <= inside:
            inside = -1
        if inside < 0 and text.startswith(WATERMARK):
            inside = depth
        elif inside >= 0 and text.startswith("Filter"):
            found.append(text)
    return found


def _frame(network: Network, graph: Graph, spark: SparkSession, scratch: Path) -> DataFrame:
    """What the part would run; nothing is started, and no checkpoint is touched."""
    query = next(one.query for one in graph.operators if isinstance(one, Aggregate))
    kinds = {name: kind for name, kind in network.kinds.items() if name in graph.queries}
    checkpoint = str(scratch / "doctor")
    plain = Part(graph, late_watermark(spark, checkpoint, query), _METRIC, (), kinds)
    shared = plain.shared
    late = late_watermark(spark, checkpoint, query, shared.places, **shared.told)
    return Part(graph, late, _METRIC, (), kinds).frame()


def _plan(frame: DataFrame) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        frame.explain(extended=True)
    _, _, plan = said.getvalue().partition("== Optimized Logical Plan ==")
    return plan.partition("== Physical Plan ==")[0]

"""Fig. 1 of the paper as a file that runs."""

from __future__ import annotations

FIG1 = """
latency = "{latency}"

[run]
trigger = "{trigger}"

[control]
servers = "{servers}"
topic = "{control}"
mode = "{mode}"
name = "{name}"

[node.A]
[node.B]

[input.left]
rate = {rate}
most = {most}
source = "kafka"
event_time = "ts"
slack = "1 second"

[input.left.options]
servers = "{servers}"
topics = "{left}"
schema = "ts timestamp, n bigint"
starting = "earliest"

[input.right]
rate = {rate}
most = {most}
source = "kafka"
event_time = "ts"
slack = "1 second"

[input.right.options]
servers = "{servers}"
topics = "{right}"
schema = "ts timestamp, n bigint"
starting = "earliest"

[box.a1]
node = "A"
from = "left"
cost = {cost1}
cql = "SELECT ts, n FROM left WHERE {where}"

[box.a2]
node = "A"
from = "right"
cost = {cost2}
cql = "SELECT * FROM right"

[box.b1]
node = "B"
from = "a1"
cost = {cost3}
cql = "SELECT count(*) AS rows, sum(n) AS total FROM a1 [RANGE 2 seconds SLIDE 1 second WATTR ts]"

[box.b2]
node = "B"
from = "a2"
cost = {cost1}
cql = "SELECT count(*) AS rows, sum(n) AS total FROM a2 [RANGE 1 second SLIDE 1 second WATTR ts]"

[output.first]
from = "b1"
answers = "{answers}"{gap}{first}

[output.second]
from = "b2"
answers = "{other}"{other_gap}{second}
"""


def fig1(
    *,
    servers: str = "localhost:9092",
    control: str = "control",
    mode: str = "coordinator",
    left: str = "left",
    right: str = "right",
    answers: str = "subset",
    other: str = "",
    unit: float = 1.0,
    out: str = "",
    latency: str = "4 seconds",
    name: str = "fig1",
    trigger: str = "1 second",
    where: str = "n >= 0",
) -> str:
    """The text of the file.

    Args:
        other: what kind of answers the second query has; "" for the same.
        unit: seconds that the cheapest box takes for a row.
        out: a folder for the answers; "" for none.
        where: which rows of the first input count.
    """
    sinks = {
        name: f'\nsink = {{ format = "parquet", path = "{out}/{name}" }}' if out else ""
        for name in ("first", "second")
    }
    gap, other_gap = (
        "\nmax_gap = 3" if kind == "subset" else "" for kind in (answers, other or answers)
    )
    costs = {f"cost{times}": times * unit for times in (1, 2, 3)}
    rates = {"rate": 1 / unit, "most": 3 / unit}
    topics = {"left": left, "right": right, "control": control, "servers": servers}
    words = {
        "mode": mode,
        "answers": answers,
        "gap": gap,
        "other": other or answers,
        "other_gap": other_gap,
        "latency": latency,
        "name": name,
        "trigger": trigger,
        "where": where,
    }
    return FIG1.format(**sinks, **costs, **rates, **topics, **words)


_INNER = """
[box.a0]
node = "A"
from = "left"
cost = {cost}
selectivity = 0.5
cql = "SELECT * FROM left WHERE n % 2 = 0"

[box.b0]
node = "B"
from = "a2"
cost = {cost}
selectivity = 0.1
cql = "SELECT count(*) AS rows, sum(n) AS total FROM a2 [RANGE 1 second SLIDE 1 second WATTR ts]"
"""
_NESTED = (
    "SELECT sum(rows) AS rows, sum(total) AS total "
    "FROM b0 [RANGE 4 seconds SLIDE 2 seconds WATTR window_time]"
)


def inner(text: str, cost: float = 0.5) -> str:
    """Fig. 1 with boxes that feed others of their node.

    left ─► a0 (every other row) ─► a1 ─► b1        right ─► a2 ─► b0 ─► b2, windows over windows

    Args:
        text: of the file.
        cost: of each box that is added.
    """
    text = text.replace('from = "left"', 'from = "a0"').replace("FROM left", "FROM a0")
    text = text.replace('from = "a2"', 'from = "b0"')
    begin = text.index("SELECT count(*) AS rows, sum(n) AS total FROM a2")
    end = text.index('"', begin)
    return f"{text[:begin]}{_NESTED}{text[end:]}{_INNER.format(cost=cost)}"

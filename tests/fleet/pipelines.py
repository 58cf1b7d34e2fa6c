"""Fig. 1 of the paper as a file that runs."""

from __future__ import annotations

FIG1 = """
latency = "4 seconds"

[control]
servers = "{servers}"
topic = "{control}"
mode = "{mode}"
name = "fig1"

[node.A]
[node.B]

[input.left]
rate = 1.0
most = 3.0
source = "kafka"
event_time = "ts"
slack = "1 second"

[input.left.options]
servers = "{servers}"
topics = "{left}"
schema = "ts timestamp, n bigint"
starting = "earliest"

[input.right]
rate = 1.0
most = 3.0
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
cost = 1.0
cql = "SELECT ts, n FROM left WHERE n >= 0"

[box.a2]
node = "A"
from = "right"
cost = 2.0
cql = "SELECT * FROM right"

[box.b1]
node = "B"
from = "a1"
cost = 3.0
cql = "SELECT count(*) AS rows, sum(n) AS total FROM a1 [RANGE 2 seconds SLIDE 1 second WATTR ts]"

[box.b2]
node = "B"
from = "a2"
cost = 1.0
cql = "SELECT count(*) AS rows, sum(n) AS total FROM a2 [RANGE 1 second SLIDE 1 second WATTR ts]"

[output.first]
from = "b1"
answers = "{answers}"{gap}

[output.second]
from = "b2"
answers = "{answers}"{gap}
"""


def fig1(
    *,
    servers: str = "localhost:9092",
    control: str = "control",
    mode: str = "coordinator",
    left: str = "left",
    right: str = "right",
    answers: str = "subset",
) -> str:
    """The text of the file."""
    gap = "\nmax_gap = 3" if answers == "subset" else ""
    return FIG1.format(
        servers=servers,
        control=control,
        mode=mode,
        left=left,
        right=right,
        answers=answers,
        gap=gap,
    )

"""The five queries of the paper, as they stand there but for the quotes around seg-id."""

import pytest

from penstock.network.aggregates import count, max, min  # noqa: A004 - as in Spark's functions
from penstock.network.cql import Statement, parse, render
from penstock.network.cql.statement import Computed, PlainColumn
from penstock.windows import Kind, WindowSpec

SEG_ID = PlainColumn("seg-id", "seg-id")
COUNT = Computed("count(1)", count())

Q1 = (
    """
SELECT      `seg-id`, max(speed), min(speed)
FROM          Traffic [RANGE 300 seconds
                    SLIDE 60 seconds
                    WATTR ts]
GROUP BY     `seg-id`
""",
    Statement(
        select=(SEG_ID, Computed("max(speed)", max("speed")), Computed("min(speed)", min("speed"))),
        stream="Traffic",
        window=WindowSpec(range=300_000_000, slide=60_000_000, rattr="ts", sattr="ts"),
        group_by=("seg-id",),
    ),
    Kind.SLIDING,
)
Q2 = (
    """
SELECT      `seg-id`, count(*)
      FROM      Traffic [RANGE 1000 rows
                        SLIDE 10 rows
                        WATTR row-num]
      GROUP BY  `seg-id`
""",
    Statement(
        select=(SEG_ID, COUNT),
        stream="Traffic",
        window=WindowSpec(
            range=1000, slide=10, rattr="row-num", sattr="row-num", start=0, unit="rows"
        ),
        group_by=("seg-id",),
    ),
    Kind.TUPLE,
)
Q3 = (
    """
SELECT      `seg-id`, count(*)
      FROM      Traffic [RANGE 300 seconds
                        RATTR ts
                        SLIDE 1 row
                        SATTR row-num]
""",
    Statement(
        select=(SEG_ID, COUNT),
        stream="Traffic",
        window=WindowSpec(range=300_000_000, slide=1, rattr="ts", sattr="row-num"),
    ),
    Kind.SLIDE_BY_TUPLE,
)
Q4 = (
    """
SELECT      `seg-id`, count(*)
      FROM      Traffic [RANGE 1000 rows
                        SLIDE 10 rows
                        WATTR row-num
                        PATTR `seg-id`]
""",
    Statement(
        select=(SEG_ID, COUNT),
        stream="Traffic",
        window=WindowSpec(
            range=1000,
            slide=10,
            rattr="row-num",
            sattr="row-num",
            pattr=("seg-id",),
            start=0,
            unit="rows",
        ),
    ),
    Kind.PARTITIONED_TUPLE,
)
Q5 = (
    """
SELECT      `seg-id`, count(*)
      FROM      Traffic [RANGE 300 seconds
                        RATTR ts
                        SLIDE 5 rows
                        SATTR rank(ts)]
""",
    Statement(
        select=(SEG_ID, COUNT),
        stream="Traffic",
        window=WindowSpec(range=300_000_000, slide=5, rattr="ts", sattr="ts", rank=True),
    ),
    Kind.SLIDE_BY_RANK,
)


@pytest.mark.parametrize(
    ("text", "statement", "kind"), [Q1, Q2, Q3, Q4, Q5], ids=["Q1", "Q2", "Q3", "Q4", "Q5"]
)
def test_the_paper_s_queries_are_read(text, statement, kind):
    read = parse(text)
    assert read == statement
    assert read.window.kind is kind
    assert read.keys == ("seg-id",)
    assert parse(text.replace("`", '"')) == statement
    assert parse(render(statement)) == statement


def test_q1_in_canonical_text():
    assert render(parse(Q1[0])) == (
        "SELECT `seg-id`, max(speed), min(speed)\n"
        "FROM Traffic [RANGE 5 min SLIDE 1 min WATTR ts]\n"
        "GROUP BY `seg-id`"
    )


@pytest.mark.parametrize("query", [Q1, Q2, Q3, Q4, Q5])
def test_without_its_quotes_seg_id_is_refused_and_shown_with_them(query):
    with pytest.raises(ValueError, match="must be quoted: write `seg-id`") as caught:
        parse(query[0].replace("`", ""))
    assert (caught.value.line, caught.value.column) == (2, 13)  # type: ignore[attr-defined]

"""The table that a person reads while a network runs."""

from __future__ import annotations

import json
from pathlib import Path

from penstock.control import Answers, Flow, Moments, Observation, Statistics, Warmup
from penstock.control.prior import Prior

OPERATORS = {"parse": "parse", "web": "filter", "bytes": "aggregate"}
PRIOR = Prior(fixed=0.5, costs={"parse": 3e-6, "web": 1e-7, "bytes": 1e-6})


def statistics() -> Statistics:
    return Statistics(
        OPERATORS, ["packets"], ["web_bytes", "alarms"], prior=PRIOR, warmup=Warmup(0.0, 2)
    )


def run(batches: int) -> Statistics:
    found = statistics()
    for n in range(batches):
        rows = 100_000.0 * (1 + n % 4)
        kept = rows / 4 * (1 + n % 3) / 3
        found.observe(
            Observation(
                batch=n,
                seconds=0.4 + 3.5e-6 * rows + 2e-6 * kept,
                at=2.0 * n,
                period=2.0,
                rows={"packets": rows},
                backlog={"packets": 1234.0},
                operators={
                    "parse": Flow(rows, rows),
                    "web": Flow(rows, rows / 4),
                    "bytes": Flow(kept, 20.0),
                },
                queries={
                    "web_bytes": Answers(
                        Moments(50_000, 2.0e7, 1.6e10, 2),
                        {
                            ("10.0.0.1",): Moments(49_990, 19_994_000.0, 1.59e10, 2),
                            ("10.0.0.9",): Moments(10, 6000.0, 4.5e6, 2),
                        },
                    )
                },
            )
        )
    return found


def test_it_reads_as_a_table():
    expected = (Path(__file__).parent / "statistics.txt").read_text(encoding="utf-8")
    assert str(run(34)) + "\n" == expected


def test_before_anything_was_seen_it_says_so():
    assert str(statistics()).splitlines()[0] == "0 batches, none timed yet: costs are as believed"
    assert str(run(1)).splitlines()[0] == "1 batch, none timed yet: costs are as believed"


def test_every_record_is_a_row_of_the_table_and_all_of_it_is_json():
    found = run(10)
    rows = found.table()
    assert [(row["of"], row["name"]) for row in rows] == [
        ("stream", "packets"),
        *(("operator", name) for name in OPERATORS),
        ("query", "web_bytes"),
        ("query", "web_bytes"),
        ("query", "alarms"),
    ]
    again = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert again["table"] == rows
    assert again["batches"] == 10
    assert again["costs"]["fixed"] == found.costs.fixed


def test_what_is_infinite_is_none_in_json():
    found = statistics()
    cancels = Answers(Moments(2, 0.0, 2.0))
    found.observe(Observation(batch=0, seconds=1.0, at=0.0, queries={"alarms": cancels}))
    assert "∞" in str(found)
    row = json.loads(json.dumps(found.to_json(), allow_nan=False))["table"][-1]
    assert (row["name"], row["hardness"]) == ("alarms", None)

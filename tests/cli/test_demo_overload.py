"""The demo of an overload: its network, how its packets come, what it draws."""

from importlib.resources import files
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

from penstock.bench.feed import PUBLISHERS
from penstock.cli.demo.arriving import TICKS, packets
from penstock.cli.demo.overload import BEGIN, BURST, CALM, FILE, LENGTH, draw, schedule
from penstock.cli.main import app
from penstock.network.config import parse_config
from tests.view.bursts import burst


def test_its_network_is_that_of_the_seven_queries():
    config = parse_config((files("penstock.cli.demo") / FILE).read_text(), FILE)
    assert len(config.outline().queries) == 7
    assert config.latency == 5_000_000
    assert {query.answers for query in config.queries.values()} == {"approximate"}


@pytest.mark.parametrize("capacity", [5_000.0, 180_000.0])
def test_a_burst_is_several_times_what_was_measured(spark: SparkSession, capacity: float) -> None:
    seconds = [0, BEGIN - 1, BEGIN, BEGIN + LENGTH - 1, BEGIN + LENGTH]
    asked = spark.createDataFrame([(s,) for s in seconds], "second long")
    found = asked.select("second", schedule(capacity).per_tick(F.col("second")).alias("many"))
    rates = {row["second"]: row["many"] * TICKS * PUBLISHERS for row in found.collect()}
    times = [CALM, CALM, BURST, BURST, CALM]
    for second, many in zip(seconds, times, strict=True):
        assert rates[second] == pytest.approx(many * capacity, rel=0.1)


def test_each_tick_becomes_as_many_packets_each_at_its_time(spark: SparkSession) -> None:
    ticks = spark.range(7, 9).selectExpr("timestamp_millis(id * 10) AS timestamp", "id AS value")
    made = [packets(ticks, publisher, F.lit(50)) for publisher in range(PUBLISHERS)]
    rows = [row for one in made for row in one.collect()]
    assert len({row["packet"] for row in rows}) == len(rows) == 2 * PUBLISHERS * 50
    assert {row["protocol"] for row in rows} == {"tcp", "udp"}
    assert all((row["dst_port"] == 53) == (row["protocol"] == "udp") for row in rows)
    times = sorted({row["ts"].microsecond for row in rows})
    assert times == list(range(70_000, 90_000, 200))  # two ticks of 10 ms, 50 packets in each


def test_it_is_drawn_as_it_was_in_the_burst_with_its_summary(tmp_path: Path) -> None:
    draw(tmp_path / "demo.svg", burst())
    drawn = (tmp_path / "demo.svg").read_text().replace("&#160;", " ")
    assert "shedding" in drawn
    assert "balanced: every row of every query" in drawn


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["overlod"], "demo must be 'overload' or 'windows', got 'overlod'; did you mean"),
        (["overload", "--for", "9"], "--for must be left out of demo overload, got 9"),
        (["windows", "--report", "r"], "--report must be left out of demo windows, got 'r'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(arguments, said):
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {said}")

"""The demo of an overload: its network, how its packets come, what it draws."""

import io
from importlib.resources import files
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rich.console import Console
from typer.testing import CliRunner

from penstock import sources
from penstock.cli.demo.arriving import FLOW, Flows
from penstock.cli.demo.overload import (
    APART,
    BEGIN,
    BURST,
    CALM,
    FILE,
    LENGTH,
    SECONDS,
    STEPS,
    Remembering,
    draw,
    flows,
)
from penstock.cli.main import app
from penstock.network.config import parse_config
from penstock.sources.traffic import SLOT
from penstock.view.terminal import Moment
from tests.view.bursts import burst


def test_its_network_is_that_of_the_seven_queries():
    config = parse_config((files("penstock.cli.demo") / FILE).read_text(), FILE)
    assert len(config.outline().queries) == 7
    assert config.latency == 10_000_000
    assert {query.answers for query in config.queries.values()} == {"approximate"}


@pytest.mark.parametrize("capacity", [5_000.0, 180_000.0])
def test_a_burst_is_several_times_what_was_measured(capacity):
    traffic = flows(capacity).first.traffic
    per_second = [
        FLOW * traffic.expected(s * 1_000_000 // SLOT, (s + 1) * 1_000_000 // SLOT).sum()
        for s in range(SECONDS)
    ]
    assert per_second[:BEGIN] == pytest.approx([CALM * capacity] * BEGIN)
    rises, top = per_second[BEGIN : BEGIN + APART * STEPS], BEGIN + APART * (STEPS - 1)
    assert rises == sorted(rises)
    assert len({round(rate) for rate in rises}) == STEPS
    assert per_second[top : BEGIN + LENGTH] == pytest.approx(
        [BURST * capacity] * (BEGIN + LENGTH - top)
    )
    assert per_second[-1] == pytest.approx(CALM * capacity)


def test_each_packet_is_followed_by_others_which_are_as_many_as_wait(spark: SparkSession) -> None:
    one = sources.packets(40, burstiness=0.0, seed=3, length="2 seconds", batch=True)
    firsts, rows = one.dataframe(spark).collect(), Flows(one).dataframe(spark).collect()
    assert len({row["packet"] for row in rows}) == len(rows) == FLOW * len(firsts)
    began = {row["packet"]: row for row in firsts}
    for row in rows:
        first = began[row["packet"] // FLOW]
        assert (row["src_host"], row["dst_port"]) == (first["src_host"], first["dst_port"])
        assert 0 <= (row["ts"] - first["ts"]).total_seconds() < 0.125
    assert {row["size"] for row in rows} >= {1500}
    assert Flows(one).behind({"step": 0}, {"step": 8}) == pytest.approx(40 * FLOW)


def test_it_is_drawn_as_it_was_in_the_burst_with_its_summary(tmp_path: Path) -> None:
    view = Remembering(Console(file=io.StringIO()))
    for second in (BEGIN, BEGIN + LENGTH - 1, SECONDS):
        view.show(burst(50 if second < BEGIN + LENGTH else 80), Moment(second, SECONDS))
    assert view.burst is not None
    assert view.burst[1].elapsed == BEGIN + LENGTH - 1
    draw(tmp_path / "demo.svg", view.burst, burst())
    drawn = (tmp_path / "demo.svg").read_text().replace("&#160;", " ")
    assert "shedding" in drawn
    assert "balanced: every row of every query" in drawn


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["overlod"], "demo must be 'windows' or 'overload', got 'overlod'; did you mean"),
        (["overload", "--for", "9"], "--for must be left out of demo overload, got 9"),
        (["windows", "--report", "r"], "--report must be left out of demo windows, got 'r'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(arguments, said):
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {said}")

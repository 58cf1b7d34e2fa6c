"""The demo of an overload: its network, and how its packets come."""

from importlib.resources import files

import pytest
from typer.testing import CliRunner

from penstock import sources
from penstock.cli.demo.overload import BEGIN, BURST, CALM, FILE, LENGTH, SECONDS, Rates
from penstock.cli.main import app
from penstock.network.config import parse_config
from penstock.sources.traffic import SLOT


def test_its_network_is_that_of_the_seven_queries():
    config = parse_config((files("penstock.cli.demo") / FILE).read_text(), FILE)
    assert len(config.outline().queries) == 7
    assert config.latency == 3_000_000
    assert {query.answers for query in config.queries.values()} == {"approximate"}


@pytest.mark.parametrize("capacity", [5_000.0, 180_000.0])
def test_a_burst_is_several_times_what_was_measured(capacity):
    made = sources.packets(**{**Rates(capacity).options(), "burstiness": 0.0})
    per_second = [
        made.traffic.expected(s * 1_000_000 // SLOT, (s + 1) * 1_000_000 // SLOT).sum()
        for s in range(SECONDS)
    ]
    assert per_second[: BEGIN - 1] == pytest.approx([CALM * capacity] * (BEGIN - 1))
    burst = per_second[BEGIN + 1 : BEGIN + LENGTH - 1]
    assert burst == pytest.approx([BURST * capacity] * (LENGTH - 2))
    assert per_second[-1] == pytest.approx(CALM * capacity)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["overlod"], "demo must be 'windows' or 'overload', got 'overlod'; did you mean"),
        (["overload", "--for", "9"], "--for must be left out of demo overload, got 9"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(arguments, said):
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"penstock: {said}")

"""A TOML file as a network to run: kinds of answers, and sinks."""

from __future__ import annotations

import pytest

from penstock.drops.kinds import Approximate, Subset
from penstock.engine.toml_network import toml_network
from penstock.network.config import parse_config
from penstock.network.tables import ConfigError
from penstock.sinks.kafka import Kafka
from penstock.sinks.parquet import Parquet

WINDOW = "FROM packets [RANGE 60 seconds SLIDE 10 seconds WATTR ts]"
QUERIES = """
[query.n]
cql = 'SELECT count(*) AS n {WINDOW}'
[query.most]
cql = 'SELECT max(size) AS most {WINDOW}'
[query.rows]
cql = 'SELECT * FROM packets WHERE size > 1400'
""".replace("{WINDOW}", WINDOW)


def made(text, spark, packets, environ=None):
    stream = "[stream.packets]\nsource = 'files'\nevent_time = 'ts'\n"
    config = parse_config(text + "\n" + stream, "a.toml")
    return toml_network(config, spark, lambda *_: packets, environ or {})


def test_what_holds_for_all_holds_for_those_that_can(spark, packets):
    kinds = made(QUERIES, spark, packets).network.kinds
    assert kinds == {"n": Approximate()}


def test_a_query_has_the_kind_that_it_asks_for(spark, packets):
    text = QUERIES.replace("[query.most]", "weight = 2\nconfidence = 0.9\n[query.most]").replace(
        "[query.rows]", "answers = 'subset'\nmax_gap = 7\npriority = 2\n[query.rows]"
    )
    assert made(text, spark, packets).network.kinds == {
        "n": Approximate(0.9, weight=2.0),
        "most": Subset(7, priority=2),
    }


@pytest.mark.parametrize(
    ("before", "more", "message"),
    [
        (
            "[query.rows]",
            "answers = 'approximate'",
            "[query.most] answers: query 'most' has a",
        ),
        ("[query.rows]", "answers = 'subset'", "[query.most] max_gap must be given for a run, got"),
        (None, "answers = 'subset'\nmax_gap = 2", "[query.rows] answers: query rows must be wind"),
    ],
)
def test_what_a_query_asks_for_and_cannot_have_is_refused(spark, packets, before, more, message):
    text = QUERIES + more if before is None else QUERIES.replace(before, f"{more}\n{before}")
    with pytest.raises(ConfigError) as error:
        made(text, spark, packets)
    assert str(error.value).startswith(f"a.toml: {message}")


def test_sinks_are_made_and_their_secrets_are_not_shown(spark, packets):
    own = "[query.n.sink]\nformat = 'kafka'\nservers = 'a:1'\ntopic = 't'\noptions.token = '${T}'"
    text = QUERIES.replace("[query.most]", f"{own}\n[query.most]")
    text = "[run]\nsink = { format = 'parquet', path = '${WHERE}/answers' }\n" + text
    found = made(text, spark, packets, {"T": "swordfish", "WHERE": "here"})
    assert found.sink == Parquet("here/answers")
    assert isinstance(found.sinks["n"], Kafka)
    assert set(found.sinks["n"].options.values()) == {"swordfish"}
    assert "swordfish" not in repr(found.sinks)
    with pytest.raises(ConfigError, match=r"a.toml: \[query.n.sink\] options token needs a vari"):
        made(text, spark, packets, {"WHERE": "here"})


def test_without_a_sink_one_query_of_each_part_computes_the_answers_of_all(spark, packets):
    found = made(QUERIES, spark, packets)
    assert found.sink is None
    calls = [found.sinks[name].describe() for name in ("n", "most", "rows")]
    assert calls == ["the function _computed", "the function _nothing", "the function _nothing"]
    text = QUERIES.replace("[query.rows]", "sink = { format = 'memory' }\n[query.rows]")
    found = made(text, spark, packets)
    assert found.sinks["n"].describe() == "the function _nothing"

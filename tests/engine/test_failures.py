"""What Spark says when it fails goes to the user without the secrets of the sources."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.engine.failures import hiding
from penstock.errors import PenstockError
from penstock.network.config import parse_config
from penstock.network.operators import Handle, Source

NETWORK = """
[stream.packets]
source = "packets"
event_time = "ts"
[relation.hosts]
path = "nowhere/${PLACE}"
format = "csv"
options = { password = "${LOGIN}" }
[query.n]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 10 s WATTR ts]"
"""


def test_the_secrets_of_all_sources_are_taken_out_of_a_text():
    kafka = ps.sources.kafka("a:1", "t", options={"kafka.ssl.key.password": "hunter2"})
    files = ps.sources.files("in", options={"token": "swordfish"})

    def source(origin: object) -> Source:
        return Source("s", "ts", 0, "generous", None, ("ts",), (), Handle(origin), Handle(origin))

    hide = hiding([source(kafka), source(files), source(object())])
    assert hide("no such key: hunter2, swordfish") == "no such key: ***, ***"


def test_a_relation_that_cannot_be_read_does_not_show_what_variables_hold(spark):
    environ = {"PLACE": "hunter2", "LOGIN": "swordfish"}
    with pytest.raises(PenstockError, match=r"\[relation.hosts\] cannot be read: ") as failed:
        ps.toml_queries(parse_config(NETWORK, "a.toml"), spark, environ=environ)
    assert "hunter2" not in str(failed.value)
    assert failed.value.__cause__ is None


def test_a_running_network_hides_the_secrets_of_its_streams(spark, tmp_path):
    rows = spark.range(0, 60, 1, 1).selectExpr("timestamp_seconds(id) AS ts", "'swordfish' AS x")
    rows.write.parquet(str(tmp_path / "in"))
    source = ps.sources.files(str(tmp_path / "in"), options={"token": "swordfish"})
    stream = ps.stream(source, "ts", slack="1 s").where("cast(x AS int) > 0")
    network = ps.Network(n=stream.window("10 s").agg(n=ps.count()))
    run = network.start(
        str(tmp_path / "checkpoint"),
        sink=ps.sinks.memory("hidden"),
        trigger={"availableNow": True},
    )
    with pytest.raises(PenstockError, match=r"CAST_INVALID_INPUT.*'\*\*\*'") as failed:
        run.wait()
    assert "swordfish" not in str(failed.value)

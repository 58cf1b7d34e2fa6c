"""One broker for all tests that need Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.bench.kafka.broker import Broker
from penstock.bench.kafka.jars import jars
from tests.kafka.keys import admit, make_keys


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that runs; a test that kills it starts it again."""
    for name in ("connector", "broker"):
        found = jars(name)
        if isinstance(found, str):
            pytest.skip(found)
    found = jars("broker")
    assert not isinstance(found, str)
    keys = tmp_path_factory.mktemp("keys") / "keys.p12"
    make_keys(keys)
    broker = Broker(found, tmp_path_factory.mktemp("kafka"), keys)
    broker.start()
    admit(broker)
    yield broker
    broker.kill()

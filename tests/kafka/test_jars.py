"""Where there is no Maven the tests of Kafka say so, or fail where they must run."""

from __future__ import annotations

import pytest

from penstock.bench.kafka import jars as module


@pytest.fixture
def without_maven(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_KAFKA", raising=False)
    module.jars.cache_clear()
    yield
    module.jars.cache_clear()


def test_without_maven_there_is_a_reason(without_maven):
    assert module.jars("broker") == ("Maven is missing: a Kafka of our own needs `mvn` on the PATH")


def test_where_they_must_run_a_missing_maven_is_an_error(without_maven, monkeypatch):
    monkeypatch.setenv("PENSTOCK_KAFKA", "required")
    with pytest.raises(module.Unavailable, match="Maven is missing"):
        module.jars("broker")

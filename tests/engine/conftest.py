"""Rows that several tests ask for."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.engine.packets import make_hosts, make_packets


@pytest.fixture(scope="session")
def packets(spark: SparkSession) -> DataFrame:
    """Some packets, as a batch."""
    return make_packets(spark)


@pytest.fixture(scope="session")
def hosts(spark: SparkSession) -> DataFrame:
    """A stored relation of the hosts that they go to."""
    return make_hosts(spark)

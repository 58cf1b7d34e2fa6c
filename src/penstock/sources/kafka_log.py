"""Asks Kafka what its topics still have, by the client that Spark's connector brings along."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.errors import UsageError, complaint
from penstock.sources import said
from penstock.sources.kafka import Kafka
from penstock.sources.retention import Held

_PREFIX = "kafka."
_FOREVER = -1


def held_by(source: Kafka, spark: SparkSession) -> list[Held]:
    """Every partition of the topics, with its first record and how long it keeps one.

    Args:
        source: the topics.
        spark: a session with Spark's connector.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 - there is no other way to the connector's client
    try:
        settings = jvm.java.util.Properties()
        for name, value in source.settings().items():
            if name.startswith(_PREFIX):
                settings.put(name.removeprefix(_PREFIX), value)
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
        try:
            return _held(admin, jvm, source)
        finally:
            admin.close()
    except Py4JError as error:
        words = source.hide(said.words(error))
        # Without the cause: its text may hold what has just been taken out.
        raise UsageError(complaint(source.describe(), "must answer", words)) from None


def _held(admin: Any, jvm: Any, source: Kafka) -> list[Held]:  # noqa: ANN401 - Java's own
    client, common = jvm.org.apache.kafka.clients.admin, jvm.org.apache.kafka.common
    names = jvm.java.util.ArrayList()
    for name in source.topics or list(admin.listTopics().names().get()):
        if source.topics or re.fullmatch(source.pattern, name):
            names.add(name)
    topics = admin.describeTopics(names).allTopicNames().get()
    kind = getattr(common.config, "ConfigResource$Type").TOPIC
    resources = jvm.java.util.ArrayList()
    first, timed = jvm.java.util.HashMap(), jvm.java.util.HashMap()
    for name in list(names):
        resources.add(common.config.ConfigResource(kind, name))
        for one in topics[name].partitions():
            place = common.TopicPartition(name, one.partition())
            first.put(place, client.OffsetSpec.earliest())
            timed.put(place, client.OffsetSpec.forTimestamp(0))  # tells the time of that record
    configs = {r.name(): c for r, c in dict(admin.describeConfigs(resources).all().get()).items()}
    earliest, oldest = (dict(admin.listOffsets(m).all().get()) for m in (first, timed))
    found = []
    for place in list(first):
        keeps = int(configs[place.topic()].get("retention.ms").value())
        when, offset = oldest[place].timestamp(), earliest[place].offset()
        retention = None if keeps == _FOREVER else keeps * 1000
        at = when * 1000 if when >= 0 else None
        found.append(Held(place.topic(), place.partition(), offset, at, retention))
    return sorted(found, key=lambda one: (one.topic, one.partition))

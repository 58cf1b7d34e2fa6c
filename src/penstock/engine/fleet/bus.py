"""The control topic, and the topics between nodes, by the client of librdkafka."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from penstock.errors import PenstockError, UsageError, complaint
from penstock.fleet.pipeline import Control

try:
    import confluent_kafka as ck
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic
except ImportError:  # pragma: no cover - it is an extra
    ck = None  # type: ignore[assignment]

_log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds that a message may take."""


class BusDown(PenstockError):
    """The control topic cannot be reached now."""


class Bus:
    """Reads all that was ever said on a topic, and speaks on it.

    Args:
        control: of the pipeline, with variables of the environment filled in.
    """

    def __init__(self, control: Control) -> None:
        if ck is None:
            hint = "pip install 'penstock[nodes]'"
            raise UsageError(complaint("nodes", "need confluent-kafka", None, hint))
        self._control = control
        self._client: dict[str, Any] = {
            "bootstrap.servers": control.servers,
            "log_level": 0,
            "error_cb": lambda error: _log.debug("kafka: %s", error),
            **control.client,
        }
        self._producer = ck.Producer(
            {
                **self._client,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 2,
                "message.timeout.ms": int(_PATIENCE * 1000),
            }
        )
        self._consumer = ck.Consumer(
            {
                **self._client,
                "group.id": f"penstock-{control.name}",
                "enable.auto.commit": False,
                # Of a topic that has lost its beginning, what is left is read.
                "auto.offset.reset": "earliest",
            }
        )
        self._place = ck.TopicPartition(control.topic, 0, 0)
        self._consumer.assign([self._place])
        self._next = 0
        self._lock = threading.Lock()

    def create(self, topics: Sequence[str]) -> None:
        """Makes the topics that are not there; each has one partition.

        Args:
            topics: their names.
        """
        admin = AdminClient(self._client)
        try:
            there = admin.list_topics(timeout=_PATIENCE).topics
        except ck.KafkaException as error:
            raise BusDown(f"no Kafka at {self._control.servers}: {error}") from None
        for name in topics:
            if name in there and len(there[name].partitions) > 1:
                rule = "must have one partition, for its end to stand behind all of its rows"
                raise UsageError(complaint(f"topic {name}", rule, len(there[name].partitions)))
        new = [NewTopic(name, 1) for name in dict.fromkeys(topics) if name not in there]
        for name, done in (admin.create_topics(new) if new else {}).items():
            try:
                done.result(_PATIENCE)
            except ck.KafkaException as error:
                if error.args[0].code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise BusDown(f"topic {name} cannot be made: {error}") from None

    def send(self, messages: Sequence[bytes], *, surely: bool = False) -> None:
        """Says something on the control topic.

        Args:
            messages: in their order.
            surely: whether to wait until it is there, and to fail if it cannot be; otherwise what
                is lost is said again later.
        """
        self.put(self._control.topic, messages, surely=surely)

    def put(self, topic: str, values: Sequence[bytes], *, surely: bool = True) -> int | None:
        """Appends records to a topic.

        Args:
            topic: its name.
            values: of the records.
            surely: as for `send`.

        Returns:
            the place of the last one in the topic, if it was waited for.
        """
        failed: list[str] = []
        places: list[int] = []

        def note(error: object, record: Any) -> None:  # noqa: ANN401 - librdkafka has no types
            if error is not None:
                failed.append(str(error))
            else:
                places.append(record.offset())

        for value in values:
            try:
                self._producer.produce(topic, value, partition=0, on_delivery=note)
            except BufferError:
                failed.append("too much is waiting to be sent")
        if not surely:
            self._producer.poll(0)
            return None
        left = self._producer.flush(_PATIENCE)
        if failed or left:
            raise BusDown(f"topic {topic} took nothing: {failed[0] if failed else 'no answer'}")
        return max(places, default=None)

    def poll(self) -> list[bytes]:
        """What was said since the last look."""
        with self._lock:
            return self._read(until=None, patience=0.0)

    def catch_up(self) -> list[bytes]:
        """All that has been said until now; `BusDown` if that cannot be known."""
        with self._lock:
            return self._read(until=self._end(), patience=_PATIENCE)

    def _end(self) -> int:
        # A topic that was just made is not known to every broker, nor to this client, at once.
        new = {
            ck.KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - so librdkafka names its own
            ck.KafkaError._UNKNOWN_TOPIC,  # noqa: SLF001
            ck.KafkaError.UNKNOWN_TOPIC_OR_PART,
            ck.KafkaError.LEADER_NOT_AVAILABLE,
        }
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                _, end = self._consumer.get_watermark_offsets(self._place, timeout=_PATIENCE)
            except ck.KafkaException as error:
                if error.args[0].code() not in new or time.monotonic() > deadline:
                    raise BusDown(f"the control topic cannot be read: {error}") from None
                time.sleep(0.1)
            else:
                return int(end)

    def _read(self, until: int | None, patience: float) -> list[bytes]:
        found: list[bytes] = []
        deadline = time.monotonic() + patience
        while until is None or self._next < until:
            several = self._consumer.consume(500, timeout=0.05)
            for message in several:
                if message.error() is None:
                    self._next = (message.offset() or 0) + 1
                    found.append(message.value() or b"")
            if until is None and not several:
                break
            if until is not None and not several and time.monotonic() > deadline:
                raise BusDown(f"the control topic ends at {until}, and was read to {self._next}")
        return found

    def close(self) -> None:
        """Says what is left to say, and leaves."""
        self._producer.flush(1.0)
        with self._lock:
            self._consumer.close()

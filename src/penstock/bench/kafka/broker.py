"""A real Kafka broker on loopback, which can be started, killed and started again."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from penstock.errors import PenstockError

USER, PASSWORD = "reader", "open-sesame-4711"
"""Who may read at the addresses that ask for a password."""
_PROTOCOLS = {"PLAIN": "PLAINTEXT", "LOGIN": "SASL_PLAINTEXT", "SECURED": "SASL_SSL"}
"""Of the addresses; the last one is there if the broker has a key."""

_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={addresses},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={addresses}
listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=PLAIN
listener.name.login.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
log.dirs={folder}/log
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.enable=false
"""
_SECURED = """
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.ssl.keystore.location={keys}
listener.name.secured.ssl.keystore.password={password}
"""


class Broker:
    """One node in both roles.

    Args:
        jars: of the broker.
        folder: for its log.
        keys: a file with its key, the password of which is `PASSWORD`: there is an address with
            TLS then, `secured`.
    """

    def __init__(self, jars: Iterable[Path], folder: Path, keys: Path | None = None) -> None:
        self._classes = ":".join(map(str, jars))
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()
        names = ["PLAIN", "LOGIN", *(["SECURED"] if keys else [])]
        controller, *ports = _free_ports(1 + len(names))
        addresses = {name: f"127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)}
        self.servers, self.login = addresses["PLAIN"], addresses["LOGIN"]
        self.secured, self.keys = addresses.get("SECURED", ""), keys
        self._settings = folder / "server.properties"
        self._settings.write_text(
            (_SETTINGS + (_SECURED if keys else "")).format(
                addresses=",".join(f"{name}://{where}" for name, where in addresses.items()),
                protocols=",".join(f"{name}:{_PROTOCOLS[name]}" for name in names),
                controller=controller,
                folder=folder,
                user=USER,
                password=PASSWORD,
                keys=keys,
            )
        )
        cluster = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=").replace("-", "A")
        with self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c") as formatting:
            if formatting.wait(60):
                raise self._silent()

    def start(self) -> None:
        """Starts it if it does not run, and waits until it answers."""
        if self._process is not None and self._process.poll() is None:
            return
        self._process = self._java("kafka.Kafka")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(KafkaException):
                self._admin().list_topics(timeout=1)
                return
            if self._process.poll() is not None:
                break
        raise self._silent()

    def _silent(self) -> PenstockError:
        """That it does not run, with the last it has said."""
        lines = (self._folder / "out.txt").read_text(errors="replace").strip().splitlines()
        return PenstockError(f"the broker does not run: {lines[-1] if lines else 'no reason'}")

    def kill(self) -> None:
        """Ends it at once; what was acknowledged is in its log."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def topic(self, partitions: int = 2, name: str = "") -> str:
        """Makes a topic, and gives its name."""
        name = name or f"topic-{next(self._numbers)}"
        admin = self._admin()  # it must live until the answer is there
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    def send(self, topic: str, values: Iterable[bytes | None], partition: int = -1) -> None:
        """Appends records, and waits until they are acknowledged."""
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "linger.ms": 5})
        for number, value in enumerate(values):
            to = partition if partition >= 0 else number % 2
            producer.produce(topic, value, key=str(number), partition=to)
        if producer.flush(30):
            raise PenstockError(f"topic {topic} took nothing in 30 s")

    def records(self, topic: str, partitions: int = 2) -> list[tuple[Any, Any, dict[str, Any]]]:
        """All records of a topic: key, value, headers."""
        settings = {"bootstrap.servers": self.servers, "group.id": "tests"}
        consumer = Consumer(settings)
        found = []
        try:
            for partition in range(partitions):
                place = TopicPartition(topic, partition, 0)
                _, end = consumer.get_watermark_offsets(place, timeout=10)
                consumer.assign([place])
                while end > 0:
                    (message,) = consumer.consume(1, timeout=10)
                    headers = dict(message.headers() or [])
                    found.append((message.key(), message.value(), headers))
                    end -= 1
        finally:
            consumer.close()
        return found

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def _java(self, *command: str) -> subprocess.Popen[bytes]:
        memory = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        with (self._folder / "out.txt").open("ab") as out:
            return subprocess.Popen(  # noqa: S603 - our own command
                [_java(), *memory, "-cp", self._classes, *command, str(self._settings)],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
            )


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def _free_ports(count: int) -> Iterator[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
    return iter(ports)

"""What a run is asked to be: what its file says, but for what the options of the command say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyspark

from penstock import sources
from penstock.errors import UsageError, complaint, did_you_mean
from penstock.network.config import Config, read_config
from penstock.network.secrets import filled
from penstock.network.settings import MODES, RunSettings
from penstock.windows.durations import MILLISECOND, SECOND, format_duration, parse_duration

PACED = ("replay", "packets")
"""Sources that are played at a pace."""

EVERY = SECOND
"""From one batch to the next, if nothing is said."""

KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A run before it starts.

    Args:
        config: the file, with its table [run] as the options change it.
        speed: how many times faster recordings are played; None as their streams say.
    """

    config: Config
    speed: float | None

    @property
    def seconds(self) -> float | None:
        """How long it runs."""
        length = self.config.run.length
        return None if length is None else length / SECOND

    @property
    def latency(self) -> str | None:
        """The target, as `start` takes it."""
        micros = self.config.run.latency
        return None if micros is None else format_duration(micros)

    @property
    def trigger(self) -> dict[str, Any]:
        """As Spark takes it."""
        every = self.config.run.trigger
        if every == 0:
            return {"availableNow": True}
        return {"processingTime": f"{(every or EVERY) // MILLISECOND} milliseconds"}

    @property
    def spark(self) -> Mapping[str, str]:
        """Settings of the session; with the connector of Kafka if a stream or a sink needs it."""
        given, config = spark_settings(self.config.run, self.config.file), self.config
        sinks = [of.sink for of in config.queries.values()]
        formats = [one.get("format") for one in (*sinks, config.run.sink)]
        kinds = [of.source for of in config.streams.values()]
        return with_connector(given) if "kafka" in (*formats, *kinds) else given

    @property
    def checkpoint(self) -> str | None:
        """The folder that the run goes on from; None for one that goes with the run."""
        return checkpoint_of(self.config.run, self.config.file)

    def load(self, kind: str, options: Mapping[str, Any]) -> sources.Source:
        """A source of the file, at the speed that is asked for."""
        if self.speed is not None and kind in PACED:
            options = {**options, "speed": self.speed}
        return sources.named(kind, options)


def asked(
    file: Path,
    *,
    length: str | None,
    mode: str | None,
    latency: str | None,
    speed: float | None,
    checkpoint: str | None,
) -> Asked:
    """Reads a file, and puts the options of the command in the place of what it says.

    Args:
        file: the network.
        length: of the run.
        mode: "on", "monitor" or "off".
        latency: the target.
        speed: how many times faster.
        checkpoint: a folder.
    """
    if file.suffix != ".toml":
        hint = "such as penstock run examples/packets.toml"
        raise UsageError(complaint("run", "needs a network: a .toml file", str(file), hint))
    config = read_config(file)
    settings = config.run
    if length is not None:
        settings = replace(settings, length=lasting("--for", length))
    if latency is not None:
        settings = replace(settings, latency=lasting("--latency", latency))
    if mode is not None:
        if mode not in MODES:
            rule = "must be 'on', 'monitor' or 'off'"
            raise UsageError(complaint("--mode", rule, mode, did_you_mean(mode, MODES)))
        settings = replace(settings, mode=mode)
    if checkpoint is not None:
        settings = replace(settings, checkpoint=checkpoint)
    if speed is not None:
        _check_speed(speed, config)
    return Asked(replace(config, run=settings), speed)


def spark_settings(of: RunSettings, file: str) -> dict[str, str]:
    """The settings of Spark's session, with variables in the place of their names.

    Args:
        of: the table [run].
        file: what a message calls the file.
    """
    found: dict[str, str] = filled(dict(of.spark), os.environ, f"{file}: [run.spark]")
    return found


def checkpoint_of(of: RunSettings, file: str) -> str | None:
    """The checkpoint, with variables in the place of their names.

    Args:
        of: the table [run].
        file: what a message calls the file.
    """
    if of.checkpoint is None:
        return None
    return str(filled(of.checkpoint, os.environ, f"{file}: [run] checkpoint"))


def with_connector(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Settings of a session that has Spark's Kafka connector.

    Args:
        settings: which may name jars themselves.

    >>> with_connector({"spark.jars": "mine.jar"})
    {'spark.jars': 'mine.jar'}
    """
    given = any(name.startswith("spark.jars") for name in settings)
    return settings if given else {"spark.jars.packages": KAFKA, **settings}


def lasting(option: str, text: str) -> int:
    """A length of time in microseconds; a plain number is of seconds."""
    number = text.strip()
    plain = number.replace(".", "", 1).isdigit()
    found = parse_duration(f"{number} s" if plain else text, option)
    if found == 0:
        raise UsageError(complaint(option, "must be greater than 0", text))
    return found


def _check_speed(speed: float, config: Config) -> None:
    if not 0 < speed < float("inf"):
        raise UsageError(complaint("--speed", "must be greater than 0", speed))
    kinds = {one.source for one in config.streams.values()}
    if kinds.isdisjoint(PACED):
        rule = f"needs a stream that is played: {' or '.join(PACED)}"
        raise UsageError(complaint("--speed", rule, ", ".join(sorted(kinds))))

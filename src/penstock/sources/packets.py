"""Bursty packet traffic that needs no file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import SpecificationError, complaint
from penstock.sources import checks
from penstock.sources.pace import Clock, wall_clock
from penstock.sources.paced import Playing
from penstock.sources.traffic import PACKET, SLOT, Burst, Traffic
from penstock.windows.durations import SECOND, Duration, Instant, parse_duration, parse_instant

BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
_AT_ONCE = 50_000  # rows of an Arrow batch, about


@dataclass(frozen=True, slots=True)
class Made:
    """Traffic as a recording: it is made where it is read."""

    traffic: Traffic

    def timeline(self) -> Traffic:
        """Its slots."""
        return self.traffic

    def tables(self, start: int, end: int) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """The packets of some slots."""
        about = np.cumsum(self.traffic.expected(start, end)) // _AT_ONCE
        cuts = [start, *(start + 1 + np.flatnonzero(np.diff(about))), end]
        for since, until in itertools.pairwise(map(int, cuts)):
            yield self.traffic.table(since, until)


@dataclass(frozen=True, slots=True)
class Packets:
    """Traffic that is played.

    Args:
        traffic: what it is like.
        speed: how many times its own pace; None for all at once.
        most: rows that a batch takes at most; None for all that are due.
        partitions: tasks that make a batch.
        batch: whether all of it is made once, as a table.
        clock: the time in microseconds since the epoch.
    """

    traffic: Traffic
    speed: float | None
    most: int | None
    partitions: int
    batch: bool
    clock: Clock

    @property
    def identity(self) -> tuple[str, ...]:
        """The number of the packet."""
        return (PACKET,)

    def dataframe(self, spark: SparkSession) -> DataFrame:
        """The packets, with `scheduled`."""
        schema = spark.createDataFrame(self.traffic.table(0, 1)[0].slice(0, 0)).schema
        made = Made(self.traffic)
        playing = Playing(made, self.speed, self.most, self.partitions, self.clock)
        return playing.load(spark, schema, batch=self.batch)

    def stored(self, since: int, until: int) -> Packets:
        """The packets from the first to those of that time, made again."""
        del since
        slots = max(0, -(-(until - self.traffic.begin) // SLOT))
        if self.traffic.slots is not None:
            slots = min(slots, self.traffic.slots)
        return replace(self, traffic=replace(self.traffic, slots=slots), batch=True)

    def behind(self, read: Mapping[str, Any], newest: Mapping[str, Any]) -> float:
        """The packets that are due, but not made: to draw them would take too long."""
        return float(self.traffic.expected(read["step"], newest["step"]).sum())

    def describe(self) -> str:
        """One line for a report."""
        return (
            f"made-up packets, {self.traffic.rate:g} a second, "
            f"burstiness {self.traffic.burstiness:g}, seed {self.traffic.seed}"
        )


def packets(
    rate: float = 1_000,
    *,
    burstiness: float = 0.3,
    hosts: int = 100,
    bursts: Sequence[tuple[float, float, float]] = (),
    seed: int = 0,
    begin: Instant = BEGIN,
    length: Duration | None = None,
    speed: float | None = 1.0,
    most: int | None = None,
    partitions: int = 2,
    batch: bool = False,
    clock: Clock = wall_clock,
) -> Packets:
    """Bursty packet traffic: ts, src_host, dst_host, protocol, src_port, dst_port, size, packet.

    The traffic is self-similar: there are bursts on every scale from an eighth of a second to four
    minutes. The same seed gives the same packets, whatever the batches are.

    Args:
        rate: packets per second; the mean over each 256 s of the traffic.
        burstiness: from 0, where packets come as by chance (a Poisson process), to below 1.
        hosts: how many; some have much more traffic than others.
        bursts: overload by script: (start in seconds, length in seconds, times the rate).
        seed: another seed gives other packets.
        begin: the time of the first packet, or a little before.
        length: how much traffic there is; None if it never ends.
        speed: how many times its own pace; None for as fast as it can be made, up to `length`.
        most: rows that a batch takes at most; it has whole eighths of a second all the same.
        partitions: tasks that make a batch.
        batch: make all of it once, as a table; `scheduled` is null.
        clock: gives the time in microseconds since the epoch.

    >>> packets(5_000, bursts=[(60, 30, 4)], seed=7).describe()
    'made-up packets, 5000 a second, burstiness 0.3, seed 7'
    """
    checks.positive("rate", rate)
    if not isinstance(burstiness, int | float) or not 0 <= burstiness < 1:
        rule = "must be a number from 0 to below 1"
        raise SpecificationError(complaint("burstiness", rule, burstiness))
    for name, value in {"hosts": hosts, "partitions": partitions}.items():
        checks.whole(name, value)
    checks.whole("seed", seed, least=0)
    if most is not None:
        checks.whole("most", most)
    if speed is not None:
        checks.positive("speed", speed)
    slots = None if length is None else -(-parse_duration(length, "length") // SLOT)
    if slots is None and (batch or speed is None):
        rule = "must be given for a table, or where all comes at once"
        raise SpecificationError(complaint("length", rule, None, "such as '10 minutes'"))
    traffic = Traffic(
        float(rate),
        float(burstiness),
        hosts,
        tuple(_burst(burst) for burst in bursts),
        seed,
        parse_instant(begin, "begin"),
        slots,
    )
    return Packets(traffic, speed, most, partitions, batch, clock)


def _burst(burst: object) -> Burst:
    match burst:
        case (int() | float() as start, int() | float() as length, int() | float() as times) if (
            start >= 0 and length > 0 and times >= 0
        ):
            return Burst(round(start * SECOND), round(length * SECOND), float(times))
    rule = "must be (start in seconds, length in seconds, times the rate)"
    raise SpecificationError(complaint("bursts", rule, burst))

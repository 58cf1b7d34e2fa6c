"""Packets that are made up, slot by slot; the same seed gives the same packets.

A slot is an eighth of a second. How many packets it has is drawn around what the cascade says, and
everything about them from a generator of its own, so it does not matter who asks for which slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.sources.cascade import weights

SLOT = 125_000
"""The length of a slot, in microseconds."""
LEVELS = 11
"""A period has 2**LEVELS slots, that is 256 seconds: over each of them the mean rate holds."""

PACKET = "packet"
"""The column with the number of a packet: that of its slot, and its place in it."""
_IN_SLOT = 24  # bits for the place

_PORTS = np.array([443, 443, 443, 443, 80, 80, 53, 22, 25, 8080], dtype=np.int32)
_DNS = 53
_SIZES = np.array([40, 52, 576, 1500, 1500], dtype=np.int32)
_SPREAD = np.array([24, 200, 400, 1, 1], dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Burst:
    """A time in which there is more traffic, or less.

    Args:
        start: in microseconds from the start of the traffic.
        length: in microseconds.
        times: what the rate is multiplied by.
    """

    start: int
    length: int
    times: float


@dataclass(frozen=True, slots=True)
class Traffic:
    """Packets between hosts.

    Args:
        rate: packets per second, in the mean of a period.
        burstiness: from 0, where packets come as by chance (a Poisson process), towards 1.
        hosts: how many; some have much more traffic than others.
        bursts: overload by script, on top of that.
        seed: another seed gives other packets.
        begin: when the first packet may come, in µs since the epoch.
        slots: how many there are; None if they never end.
    """

    rate: float
    burstiness: float
    hosts: int
    bursts: tuple[Burst, ...]
    seed: int
    begin: int
    slots: int | None

    @property
    def steps(self) -> int | None:
        """A step is a slot."""
        return self.slots

    def due(self, elapsed: int) -> int:
        """The slots that are over by then."""
        return max(0, elapsed // SLOT)

    def within(self, start: int, end: int, rows: int) -> int:
        """The slot up to which there are at most so many packets."""
        total = np.cumsum([self._draw(*drawn)[1] for drawn in self._slots(start, end)])
        fits = int(np.searchsorted(total, rows, side="right"))
        return start + max(1, fits)

    def expected(self, start: int, end: int) -> NDArray[np.float64]:
        """How many packets slots are expected to have."""
        slots = np.arange(start, end, dtype=np.int64)
        mean = self.rate * SLOT / 1e6
        found = mean * weights(slots, LEVELS, 0.5 + self.burstiness / 2, self.seed)
        for burst in self.bursts:
            since = np.clip(slots * SLOT, burst.start, burst.start + burst.length)
            until = np.clip((slots + 1) * SLOT, burst.start, burst.start + burst.length)
            found *= 1 + (burst.times - 1) * (until - since) / SLOT
        return found

    def table(self, start: int, end: int) -> tuple[pa.Table, NDArray[np.int64]]:
        """The packets of some slots, with their times in µs from the start.

        Args:
            start: the first slot.
            end: the slot after the last.
        """
        drawn = [self._packets(slot, mean) for slot, mean in self._slots(start, end)]
        columns = {name: np.concatenate([d[name] for d in drawn]) for name in drawn[0]}
        times = columns.pop("time")
        names = pa.array([f"10.0.{i >> 8 & 255}.{i & 255}" for i in range(self.hosts)])
        protocols = pa.array(["tcp", "udp"])
        is_dns = (columns["dst_port"] == _DNS).astype(np.int8)
        found = {
            "ts": pa.array(self.begin + times).cast(pa.timestamp("us", tz="UTC")),
            "src_host": names.take(pa.array(columns["src"])),
            "dst_host": names.take(pa.array(columns["dst"])),
            "protocol": protocols.take(pa.array(is_dns)),
            "src_port": pa.array(columns["src_port"]),
            "dst_port": pa.array(columns["dst_port"]),
            "size": pa.array(columns["size"]),
            PACKET: pa.array(columns["number"]),
        }
        return pa.table(found), times

    def _slots(self, start: int, end: int) -> Iterator[tuple[int, float]]:
        return zip(range(start, end), self.expected(start, end), strict=True)

    def _draw(self, slot: int, mean: float) -> tuple[np.random.Generator, int]:
        """The slot's own generator, and the number of its packets."""
        key = np.array([self.seed, slot], dtype=np.uint64)
        generator = np.random.Generator(np.random.Philox(key=key))
        return generator, int(generator.poisson(mean))

    def _packets(self, slot: int, mean: float) -> dict[str, NDArray[np.int64]]:
        generator, n = self._draw(slot, mean)
        times = np.sort(generator.integers(0, SLOT, n))
        # Cubed, so that the first hosts have most of the traffic.
        src, dst = (generator.random((2, n)) ** 3 * self.hosts).astype(np.int64)
        kind = generator.integers(0, len(_SIZES), n)
        port = _PORTS[generator.integers(0, len(_PORTS), n)]
        kind = np.where(port == _DNS, 1, kind)
        return {
            "time": slot * SLOT + times,
            "src": src,
            "dst": dst,
            "src_port": generator.integers(1024, 65_536, n, dtype=np.int32),
            "dst_port": port,
            "size": _SIZES[kind] + generator.integers(0, _SPREAD[kind], dtype=np.int32),
            "number": (slot << _IN_SLOT) + np.arange(n),
        }

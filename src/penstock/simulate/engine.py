"""An engine of micro-batches: what batches cost, and what it tells of them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.control.checks import amount, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What batches cost, in seconds of work.

    Args:
        fixed: of a batch.
        cost: of a row that is kept.
        dropped: of a row that is dropped.
        overhead: seconds from the answers of a batch to the beginning of the next.
        interval: of the trigger, in seconds.
        noise: how much the duration of a batch is off, relative (one standard deviation).
        cold: how many times longer the first batches take, one by one.
        hiccup: the probability that a batch takes three times as long.
        believed: what a controller is told of the costs, as a multiple of the truth.
        tells_waiting: whether a controller is told how many rows wait.
        tells_response: whether it is told the response times.
    """

    fixed: float
    cost: float
    dropped: float = 0.0
    overhead: float = 0.0
    interval: float = 0.0
    noise: float = 0.0
    cold: tuple[float, ...] = ()
    hiccup: float = 0.0
    believed: float = 1.0
    tells_waiting: bool = False
    tells_response: bool = True

    def __post_init__(self) -> None:
        for name in ("fixed", "dropped", "overhead", "interval", "noise", "hiccup"):
            amount(name, getattr(self, name))
        positive("cost", self.cost)
        positive("believed", self.believed)

    def capacity(self, target: float, speed: float = 1.0, q: float = 0.95) -> float:
        """Rows per second that can be kept up with if the q-quantile is to meet the target.

        Args:
            target: in seconds.
            speed: of the machine.
            q: the quantile.
        """
        best = max(self.overhead, (target - q * self.overhead) / (1 + q))
        period = max(self.interval, best + self.overhead)
        if period == self.interval:
            best = target - q * self.interval
        return max(0.0, speed * best - self.fixed) / (self.cost * period)

"""Networks whose costs are known: counts flow down them, and durations follow with noise.

Each operator takes a tenth of the time or more: what takes less cannot be timed to a fifth of
itself, nor does it matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.control import Flow, Observation, Prior, default_prior

MICRO = 1e-6


@dataclass(frozen=True)
class Operator:
    """Seconds per row and rows out per row in; it reads a stream or the operators above it."""

    kind: str
    cost: float
    selectivity: float = 1.0
    above: tuple[str, ...] = ()


@dataclass(frozen=True)
class Network:
    """Operators from the streams down, and what the clock says of them.

    `wobble` is how much selectivities change from batch to batch, relative; `noise` how much the
    duration of a batch is off; `slower` how many times longer than it should everything takes.
    """

    operators: Mapping[str, Operator]
    fixed: float = 0.6
    wobble: float = 0.02
    noise: float = 0.02
    slower: float = 1.0
    drops: tuple[str, ...] = ()
    stream: str = "packets"
    kinds: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        kinds = {name: operator.kind for name, operator in self.operators.items()}
        object.__setattr__(self, "kinds", kinds)

    def with_(self, **changes: object) -> Network:
        return replace(self, **changes)  # type: ignore[arg-type]

    def counts(
        self, rows: float, keep: Mapping[str, float], rng: np.random.Generator | None = None
    ) -> dict[str, Flow]:
        """Rows in and out; a drop in front of an operator keeps rows with a probability."""
        flows: dict[str, Flow] = {}
        for name, operator in self.operators.items():
            brought = sum(flows[above].rows_out or 0.0 for above in operator.above)
            rows_in = (brought if operator.above else rows) * keep.get(name, 1.0)
            off = 1.0 if rng is None else float(np.exp(rng.normal(0, self.wobble)))
            flows[name] = Flow(rows_in, rows_in * operator.selectivity * off)
        return flows

    def seconds(self, flows: Mapping[str, Flow]) -> float:
        """What a batch takes in truth."""
        work = sum(self.operators[name].cost * flow.rows_in for name, flow in flows.items())
        return self.slower * (self.fixed + work)

    def batches(
        self,
        number: int,
        rng: np.random.Generator,
        *,
        rows: tuple[float, float] = (1e5, 8e5),
        keep: tuple[float, float] = (1.0, 1.0),
        first: int = 0,
    ) -> Iterator[Observation]:
        """Batches of random size; each sheds at one of the drops, with a random probability."""
        at = 60.0 * first
        for batch in range(first, first + number):
            arrived = float(rng.uniform(*rows))
            probabilities = {str(rng.choice(self.drops)): float(rng.uniform(*keep))}
            flows = self.counts(arrived, probabilities, rng)
            seconds = self.seconds(flows) * float(np.exp(rng.normal(0, self.noise)))
            at += seconds
            yield Observation(
                batch=batch, seconds=seconds, at=at, rows={self.stream: arrived}, operators=flows
            )

    def calibration(
        self, rng: np.random.Generator, times: int = 5, rows: float = 5e5
    ) -> list[tuple[dict[str, float], float]]:
        """Runs that stop before the first operator, after the first, after the second, …"""
        names, runs = list(self.operators), []
        for stop in [*range(len(names) + 1)] * times:
            flows = self.counts(rows, {}, rng)
            part = {name: flows[name] for name in names[:stop]}
            seconds = self.seconds(part) * float(np.exp(rng.normal(0, self.noise)))
            runs.append(({name: flow.rows_in for name, flow in part.items()}, seconds))
        return runs

    def believed(self, off_by: float, rng: np.random.Generator) -> Prior:
        """The true costs, each wrong by a random factor of up to `off_by` either way."""
        factors = off_by ** rng.uniform(-1, 1, len(self.operators) + 1)
        guess = default_prior(self.kinds)
        costs = {
            name: operator.cost * float(factor)
            for (name, operator), factor in zip(self.operators.items(), factors[1:], strict=True)
        }
        return Prior(self.fixed * float(factors[0]), costs, guess.spread)


PIPELINE = Network(
    {
        "read": Operator("source", 1.5 * MICRO),
        "parse": Operator("parse", 3.0 * MICRO, 1.0, ("read",)),
        "web": Operator("filter", 2.0 * MICRO, 0.6, ("parse",)),
        "hosts": Operator("join", 4.0 * MICRO, 0.9, ("web",)),
        "bytes": Operator("aggregate", 3.0 * MICRO, 0.01, ("hosts",)),
    },
    drops=("parse", "web", "hosts", "bytes"),
)
SHARED = Network(
    {
        "read": Operator("source", 1.5 * MICRO),
        "parse": Operator("parse", 2.0 * MICRO, 1.0, ("read",)),
        "web": Operator("filter", 1.5 * MICRO, 0.5, ("parse",)),
        "large": Operator("semi-join", 1.5 * MICRO, 0.4, ("parse",)),
        "by_host": Operator("aggregate", 3.0 * MICRO, 0.02, ("web",)),
        "by_port": Operator("aggregate", 4.0 * MICRO, 0.01, ("large",)),
    },
    drops=("parse", "web", "large", "by_host", "by_port"),
)
MERGED = Network(
    {
        "east": Operator("parse", 3.0 * MICRO, 0.7),
        "west": Operator("parse", 2.0 * MICRO, 0.5),
        "both": Operator("union", 1.5 * MICRO, 1.0, ("east", "west")),
        "count": Operator("aggregate", 2.0 * MICRO, 0.01, ("both",)),
    },
    drops=("east", "west", "both", "count"),
)
NETWORKS = {"pipeline": PIPELINE, "shared": SHARED, "merged": MERGED}

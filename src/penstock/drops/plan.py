"""A plan says what is dropped, and where; drops execute it, and it can be read.

    packets ─┬─0.4─► filter 1 ─► web            a random drop stands on an arc of the network
             └─1.0─► traffic                    and says which share of rows is kept up to there

One random number u belongs to each row, and all drops on its way compare it with their own keep
probability: a row gets through if u is below the smallest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.drops.checks import named, probability, whole
from penstock.drops.sealed import seal, unseal
from penstock.errors import PenstockError, RecordDamaged, SpecificationError, complaint
from penstock.windows import format_duration

_VERSION = 1


@dataclass(frozen=True, slots=True, order=True)
class Arc:
    """Where a drop can stand: between two operators, named as in `Graph.names`.

    Args:
        after: the operator whose rows pass.
        before: the operator or query that they go to.
    """

    after: str
    before: str

    def __post_init__(self) -> None:
        named("the beginning of an arc", self.after)
        named("the end of an arc", self.before)

    def __str__(self) -> str:
        return f"{self.after} ─► {self.before}"


@dataclass(frozen=True, slots=True)
class RandomDrop:
    """A share of the rows.

    Args:
        arc: where it stands.
        keep: the share of the stream's rows that is kept up to here, drops before it included.
    """

    arc: Arc
    keep: float

    def __post_init__(self) -> None:
        probability(f"keep on {self.arc}", self.keep)

    def __str__(self) -> str:
        return f"keep {self.keep:.4g} of the rows"


@dataclass(frozen=True, slots=True)
class WindowDrop:
    """Whole windows of everything downstream, WinDrop(ω, δ, p, B) of the paper.

    Args:
        arc: where it stands.
        range: ω, in microseconds.
        slide: δ, in microseconds.
        p: the probability that a batch of windows is dropped.
        batch: B, the windows of a batch.
        queries: those whose windows are dropped.
    """

    arc: Arc
    range: int
    slide: int
    p: float
    batch: int
    queries: tuple[str, ...]

    def __post_init__(self) -> None:
        whole(f"range on {self.arc}", self.range, least=1)
        whole(f"slide on {self.arc}", self.slide, least=1)
        whole(f"batch on {self.arc}", self.batch, least=1)
        probability(f"p on {self.arc}", self.p)
        _different(f"the queries of the window drop on {self.arc}", self.queries)
        if not self.queries:
            name = f"the window drop on {self.arc}"
            raise SpecificationError(complaint(name, "must name its queries", self.queries))

    def __str__(self) -> str:
        window = f"RANGE {format_duration(self.range)} SLIDE {format_duration(self.slide)}"
        batches = "single windows" if self.batch == 1 else f"batches of {self.batch} windows"
        return f"drop {self.p:.4g} of {batches} of {', '.join(self.queries)} ({window})"


@dataclass(frozen=True, slots=True)
class Plan:
    """All drops of a network.

    Args:
        random: random drops.
        windows: window drops.
        closed: queries that are shut down, since their gap tolerance cannot be met.

    >>> arc = Arc("packets", "web")
    >>> plan = Plan((RandomDrop(arc, 0.4),), closed=("alarms",))
    >>> print(plan)
    random   packets ─► web   keep 0.4 of the rows
    closed   alarms           all windows are dropped
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    random: tuple[RandomDrop, ...] = ()
    windows: tuple[WindowDrop, ...] = ()
    closed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _different("arcs with a random drop", [str(drop.arc) for drop in self.random])
        keys = [f"{drop.arc}: {', '.join(sorted(drop.queries))}" for drop in self.windows]
        _different("window drops", keys)
        _different("closed queries", self.closed)

    def __str__(self) -> str:
        rows = [
            *(("random", str(drop.arc), str(drop)) for drop in self.random),
            *(("window", str(drop.arc), str(drop)) for drop in self.windows),
            *(("closed", query, "all windows are dropped") for query in self.closed),
        ]
        width = max((len(place) for _, place, _ in rows), default=0)
        lines = [f"{kind}   {place:{width}}   {what}" for kind, place, what in rows]
        return "\n".join(lines) or "nothing is dropped"

    def values(self) -> dict[str, Any]:
        """Plain values, as JSON has them."""
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Plan:
        """The plan of what `values` gave; `RecordDamaged` if there is none."""
        try:
            return cls(
                tuple(RandomDrop(Arc(**d["arc"]), d["keep"]) for d in values["random"]),
                tuple(
                    WindowDrop(**{**d, "arc": Arc(**d["arc"]), "queries": tuple(d["queries"])})
                    for d in values["windows"]
                ),
                tuple(values["closed"]),
            )
        except (LookupError, TypeError, PenstockError) as error:
            raise RecordDamaged(complaint("a plan", "must be one that can be", values)) from error

    def to_json(self) -> str:
        """One line of JSON with a version and a checksum."""
        return seal("plan", _VERSION, self.values())

    @classmethod
    def from_json(cls, text: str | bytes) -> Plan:
        """What `to_json` gave; `RecordDamaged` if it is truncated or was changed."""
        return cls.of(unseal("plan", _VERSION, text))


def _different(what: str, names: Iterable[str]) -> None:
    several = tuple(names)
    if len(set(several)) < len(several):
        raise SpecificationError(complaint(what, "must be different", several))
    for name in several:
        named(what, name)

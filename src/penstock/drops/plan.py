"""A plan says what is dropped, and where; drops execute it, and it can be read.

    packets ─┬─0.4─► filter 1 ─► web            a random drop stands on an arc of the network
             └─1.0─► traffic                    and says which share of rows is kept up to there

One random number u belongs to each row, and all drops on its way compare it with their own keep
probability: a row gets through if u is below the smallest of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Arc:
    """Where a drop can stand: between two operators, named as in `Graph.names`.

    Args:
        after: the operator whose rows pass.
        before: the operator or query that they go to.
    """

    after: str
    before: str

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


@dataclass(frozen=True, slots=True)
class Plan:
    """All drops of a network.

    Args:
        random: random drops.
        windows: window drops.
        closed: queries that are shut down, since their gap tolerance cannot be met.
    """

    random: tuple[RandomDrop, ...] = ()
    windows: tuple[WindowDrop, ...] = ()
    closed: tuple[str, ...] = ()

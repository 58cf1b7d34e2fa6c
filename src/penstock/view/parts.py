"""The parts of a network, each a Spark stream of its own, which numbers its batches from 0.

web, mail   0     1        2      3         statuses in the order in which batches ended,
dns            0      1        2            told in any order: each with the one after it
               └──────┴── now: the last of each part, as one
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.control.status import Phase, Status

_PHASES: tuple[Phase, ...] = ("shedding", "monitor", "warm-up", "exact", "off")
"""What the whole does is the first of these that one of its parts does."""


def part_of(status: Status) -> str:
    """What tells the parts apart: the first query, which belongs to one of them only.

    Args:
        status: of a batch.
    """
    return status.queries[0].name if status.queries else ""


def last_batches(statuses: Iterable[Status]) -> dict[str, int]:
    """Part → its last batch.

    Args:
        statuses: of any parts.
    """
    return {name: one.batch for name, one in _last(statuses).items()}


def after(statuses: Iterable[Status], known: Mapping[str, int]) -> list[Status]:
    """The statuses that are new.

    Args:
        statuses: of any parts.
        known: part → its last batch that is known already.
    """
    return [one for one in statuses if one.batch > known.get(part_of(one), -1)]


def together(statuses: Sequence[Status]) -> Status | None:
    """How the whole network does: the last status of each of its parts as one; None for none.

    Rows and rates add up; the demand, the response time and what is kept are those of the part that
    does worst, and the capacity is the rate at which that one would just keep up.

    Args:
        statuses: oldest first.
    """
    last = list(_last(statuses).values())
    return _as_one(last) if last else None


def wholes(statuses: Sequence[Status]) -> Sequence[Status]:
    """How the whole network did after each batch: a line through these does not jump between parts.

    Args:
        statuses: oldest first.
    """
    last: dict[str, Status] = {}
    found = []
    for one in statuses:
        last[part_of(one)] = one
        found.append(_as_one(list(last.values())))
    return found


def _as_one(last: Sequence[Status]) -> Status:
    if len(last) == 1:
        return last[0]
    arriving, demand = _sum([one.arriving for one in last]), _most([one.demand for one in last])
    return replace(
        max(last, key=lambda one: one.at),
        seconds=max(one.seconds for one in last),
        rows=sum(one.rows for one in last),
        shed=sum(one.shed for one in last),
        arriving=arriving,
        taking=sum(one.taking for one in last),
        capacity=arriving / demand if arriving and demand else None,
        demand=demand,
        backlog=_sum([one.backlog for one in last]),
        target=_most([one.target for one in last]),
        response=_most([one.response for one in last]),
        median=_most([one.median for one in last]),
        keep=min(one.keep for one in last),
        phase=min((one.phase for one in last), key=_PHASES.index),
        reason="; ".join(dict.fromkeys(one.reason for one in last if one.reason)),
        drops=tuple(drop for one in last for drop in one.drops),
        queries=tuple(query for one in last for query in one.queries),
        problems=tuple(line for one in last for line in one.problems),
    )


def _last(statuses: Iterable[Status]) -> dict[str, Status]:
    found: dict[str, Status] = {}
    for one in statuses:
        name = part_of(one)
        if name not in found or one.batch >= found[name].batch:
            found[name] = one
    return found


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _most(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)

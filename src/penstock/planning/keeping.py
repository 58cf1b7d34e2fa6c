"""Which queries are kept now: at every moment the work of those whose windows are kept must fit.

    work │          ░░░ web            a coin for each query would have all of them now, and none
         │▒▒▒▒▒▒▒▒▒▒▒▒▒ tcp            then; windows are longer than any latency target, so what is
         │█████████████ dns            too much for a minute is too late for a minute
         └───────────── time

Kept are those with the fewest rows for their weight, as many as fit; those that are kept already
before others, for a window that is given up half way was work for nothing. One that has
not been answered for long comes before all: of those that must have a window before B are missing,
the last moment to begin is found from the last deadline backwards, so that they come one by one.

Tatbul and Zdonik, VLDB 2006, §2.3: the largest total share of answers; here at every moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.drops.standing import Standing
from penstock.planning.taken import Filters, Work

_ROOM = 0.9  # of the capacity: what is opened must fit with so much,
_FIT = 0.95  # what stays when some have to go with so much,
OVER = 1.05  # and what stays anyway is only looked at when it takes more than this,
_AT_ONCE = 1.25  # twice in a row, or more than this once,
_SETTLED = 1.6  # or than this where batches were in time with it
_HALF = 0.5  # of what is kept fits, or more: the smallest of them stays
ABOUT = 1.1  # times the rows that were in time are as many, too


@dataclass(frozen=True, slots=True)
class Moment:
    """What the choice goes by, besides the load.

    Args:
        ratio: of the capacity that lasts to that of the next batch alone.
        admits: of the capacity by which queries are closed to that of the next batch alone: what a
            tolerance promises is not given up for a few batches that are late.
        standings: of each query whose windows may be dropped.
        dropped: names of those whose windows are dropped so far.
        barred: names of those that are not opened now, unless all fit.
        pressed: whether there was too much already one batch ago.
        settled: whether what is kept was in time for some batches: the clock knows best.
        trial: name of one that is opened though it is not believed to fit; None for none.
        filters: what rows are asked where they enter.
        asking: what it costs to ask them, as in `Work`.
        fits: the share of what is kept that fits by the clock, after a batch that was far too long;
            1 if there was none.
        closing: names of those that go because they were opened last, and there is too much.
        proven: rows a second that were taken in a short while ago, and all was in time: as many may
            be taken in again at once. Of more, one query is opened at a time.
    """

    ratio: float = 1.0
    admits: float = 1.0
    standings: Mapping[str, Standing] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()
    barred: frozenset[str] = frozenset()
    pressed: bool = False
    settled: bool = False
    trial: str | None = None
    filters: Filters = field(default_factory=dict)
    fits: float = 1.0
    asking: Mapping[str, float] = field(default_factory=dict)
    closing: frozenset[str] = frozenset()
    proven: float = 0.0


def due(standings: Mapping[str, Standing]) -> list[str]:
    """The queries that must be kept now if none is to miss more than it tolerates, in order.

    Args:
        standings: of all queries whose windows may be dropped.

    >>> some = {name: Standing(left, False, 10.0, 30.0) for name, left in (("a", 3), ("b", 5))}
    >>> due(some), due({**some, "c": Standing(5, False, 10.0, 30.0)})
    ([], ['a'])
    """
    begin, starts = float("inf"), {}
    for name in sorted(standings, key=lambda name: (-standings[name].deadline, name)):
        begin = min(standings[name].deadline, begin - standings[name].length)
        starts[name] = begin
    return sorted((name for name, at in starts.items() if at <= 0), key=lambda name: starts[name])


def chosen(work: Work, queries: Sequence[int], capacity: float, moment: Moment) -> list[int]:
    """The numbers of the queries that are kept.

    Args:
        work: of any set of them.
        queries: the numbers of those whose windows may be dropped.
        capacity: seconds per second for these queries and the others.
        moment: what else it goes by.
    """
    asked = work.load.queries
    if moment.closing:
        go = moment.dropped | (moment.closing - {*due(moment.standings)})
        return [n for n in queries if asked[n].name not in go]
    tried = [n for n in queries if asked[n].name == moment.trial]
    if tried:
        # What it takes is not known, or it would not be tried: the clock says whether it fits.
        rest = [n for n in queries if n not in tried]
        both = {*chosen(work, rest, capacity, replace(moment, trial=None)), *tried}
        return [n for n in queries if n in both]
    number = {asked[n].name: n for n in queries}
    cheap = work.cheapest(queries)
    now = [n for n in cheap if asked[n].name not in moment.dropped]
    must = [number[name] for name in due(moment.standings) if name in number]
    kept = _staying(work, now, must, capacity, moment)
    if moment.fits < 1:
        # Some have to go, whatever they are believed to cost, and none comes.
        most = int(moment.fits * len(now))
        least = now[:1] if len(now) > 1 and moment.fits >= _HALF else []
        stay = {*(kept[:most] or least), *(n for n in kept if n in must)}
        return [n for n in queries if n in stay]
    if work.of(queries) <= _FIT * capacity:
        return list(queries)
    opened = 0
    for n in cheap:
        free = n not in kept and asked[n].name not in moment.barred
        known = free and 0 < work.rows([*kept, n]) <= ABOUT * moment.proven
        if known or (free and not opened and work.of([*kept, n]) <= _ROOM * capacity):
            kept.append(n)
            opened += asked[n].name in moment.dropped
    return [n for n in queries if n in kept]


def _staying(
    work: Work, now: Sequence[int], must: Sequence[int], capacity: float, moment: Moment
) -> list[int]:
    """Those of the queries that are kept now that stay, and those that must come."""
    asked = work.load.queries
    limit = capacity * (_SETTLED if moment.settled else OVER if moment.pressed else _AT_ONCE)
    if set(must) <= set(now) and work.of(now) <= limit:
        return list(now)
    kept: list[int] = []
    for n in must:
        # One that is held has work to do whatever is planned; the others may have to wait.
        if moment.standings[asked[n].name].held or work.of([*kept, n]) <= capacity:
            kept.append(n)
    for n in now:
        if n not in kept and work.of([*kept, n]) <= _FIT * capacity:
            kept.append(n)
    return kept

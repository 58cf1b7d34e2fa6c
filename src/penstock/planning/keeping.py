"""Which queries are kept now: at every moment the work of those whose windows are kept must fit.

    work │          ░░░ web            a coin for each query would have all of them now, and none
         │▒▒▒▒▒▒▒▒▒▒▒▒▒ tcp            then; windows are longer than any latency target, so what is
         │█████████████ dns            too much for a minute is too late for a minute
         └───────────── time

Kept are those that take the least work for their weight, as many as fit; those that are kept
already before others, for a window that is given up half way was work for nothing. One that has
not been answered for long comes before all: of those that must have a window before B are missing,
the last moment to begin is found from the last deadline backwards, so that they come one by one.

Whether one fits that was opened is only seen when its rows come, with its next window that has lost
none. Until then no other is opened; and if it is too much then, it is this one that goes:

    opened ─► … ─► its rows come ─► in time for long: it stays, and another may come
                                 └► too late: it goes, and for a while none comes with which
                                    as many rows, or more, would be taken in

Tatbul and Zdonik, VLDB 2006, §2.3: the largest total share of answers; here at every moment.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.drops.standing import Standing
from penstock.planning.taken import Filters, Work

_ROOM = 0.9  # of the capacity: what is opened must fit with so much,
_FIT = 0.95  # what stays when some have to go with so much,
OVER = 1.05  # and what stays anyway is only looked at when it takes more than this,
_AT_ONCE = 1.25  # twice in a row, or more than this once,
_SETTLED, _HELD = 1.6, 3  # or than this where so many batches in a row were in time with it
_WAIT = 8  # batches until another query is opened: the work of the last one must be seen first
_PAUSE, _LONGEST = 10, 160  # batches for which one that had to go is not opened again
_CALM, _EARLY = 10, 0.8  # batches in a row that took less than this share of the target: then one
_TRIAL = 25  # is tried that is not believed to fit, and for so many batches the clock decides
_FORGOTTEN = 80  # batches after which it is no longer known what a query cost: Java gets warm
_SOON = 40  # batches after it was opened: it should not have been, and waits twice as long
_NEW = 25  # batches with its rows: if there is too much, it is for the one that was opened last
_FORESEEN, _TWICE, _SURELY = 1.05, 2, 1.25  # times the target, twice in a row, or once
_UNSEEN = 120  # batches for which its rows are waited for
_LIMITED, _NEARLY = 40, 0.95  # batches for which so many of the rows that were too much are, too
_KNOWN, _ABOUT = 160, 1.1  # batches for which as many rows as were in time are believed to be so
_FAR = 4.0  # times as many: no query is tried with which so many would be taken in
_HALF = 0.5  # of what is kept fits, or more: the smallest of them stays


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
        known = free and work.rows([*kept, n]) <= _ABOUT * moment.proven
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


@dataclass
class Keeping:
    """Remembers from batch to batch what was chosen, so that it is not chosen anew in each."""

    dropped: frozenset[str] = frozenset()
    pressed: bool = False
    trial: str | None = None
    _calm: int = 0
    _held: int = 0
    _late: int = 0
    _ends: int = 0
    _seen: dict[str, int] = field(default_factory=dict)
    _step: int = 0
    _wait: int = 0
    _opened: dict[str, int] = field(default_factory=dict)
    _pause: dict[str, int] = field(default_factory=dict)
    _until: dict[str, int] = field(default_factory=dict)
    _flowing: dict[str, int] = field(default_factory=dict)
    _limit: float = 0.0
    _limited: int = 0
    _life: int = 0
    _heavy: frozenset[str] = frozenset()
    _foreseen: int = 0
    _proven: float = 0.0
    _since: int = 0

    @property
    def barred(self) -> frozenset[str]:
        """The queries that are not opened now."""
        if self._step < self._wait:
            return self.dropped
        paused = (n for n in self.dropped if self._step < self._until.get(n, 0))
        return frozenset(paused) | (self._heavy & self.dropped)

    @property
    def new(self) -> frozenset[str]:
        """The queries that were opened last: if there is too much now, it is for them."""
        opened = self._opened.keys() - self.dropped
        return frozenset(n for n in opened if self._step - self._flowing.get(n, self._step) < _NEW)

    @property
    def proven(self) -> float:
        """Rows a second that were taken in a short while ago, and all was in time."""
        return self._proven if self._step - self._since < _KNOWN else 0.0

    @property
    def tested(self) -> bool:
        """Whether rows of those that were opened last have come."""
        return bool(self.new & self._flowing.keys())

    @property
    def settled(self) -> bool:
        """Whether the last batches were in time with what is kept now."""
        return self._held >= _HELD and len(self.dropped) > 0

    def foreseen(self, lateness: float) -> bool:
        """Whether it is clear that what is kept now is too much; one batch may be an accident.

        Args:
            lateness: the response time of the next batch over its target, as it is expected.
        """
        self._foreseen = self._foreseen + 1 if lateness > _FORESEEN else 0
        return self._foreseen >= _TWICE or lateness > _SURELY

    def look(
        self,
        lateness: float | None,
        cheapest: Sequence[str],
        *,
        beyond: Container[str] = (),
        timed: bool = True,
        flows: Container[str] | None = None,
        adds: Mapping[str, float] | None = None,
        taken: float = 0.0,
    ) -> None:
        """Tries a query if response times have been far below the target for long.

        What a query costs is only told by batches that have its rows: where none is kept, its cost
        is as believed, and may never be found out. What is believed then is what queries cost when
        Java was cold: so once in a long while the cheapest is tried, whatever it is believed to
        take.

        Args:
            lateness: the response time of the batch that ended over its target, if it is known.
            cheapest: names of all queries, those first that are believed to take the least work.
            beyond: those that are believed to take far more than there is, each alone; they are
                tried only while nothing is known of what any query costs, or none is kept.
            timed: whether batches tell by now what queries cost.
            flows: names of those whose rows come now; None for all that are kept.
            adds: of each that is not kept, the rows a second that are taken in if it is, too.
            taken: rows a second that are taken in for those that are kept.
        """
        self._see(flows)
        limit = _NEARLY * self._limit if self._step < self._limited else 0.0
        self._heavy = frozenset(n for n, rows in (adds or {}).items() if limit and rows >= limit)
        if timed:
            self._seen |= dict.fromkeys((n for n in cheapest if n not in self.dropped), self._step)
        if lateness is None:
            return
        self._calm = self._calm + 1 if lateness < _EARLY else 0
        self._held = self._held + 1 if lateness <= 1 else 0
        self._late = self._late + 1 if lateness > 1 else 0
        if self._held >= _HELD and not self.new and taken >= self.proven:
            self._proven, self._since = taken, self._step
        if self.trial is not None:
            if self._late or self._step >= self._ends:
                self.trial = None
        elif self._calm >= _CALM and self._step >= self._wait:
            none = self.dropped >= set(cheapest)

            def forgotten(name: str) -> bool:
                far = bool(self._seen) and name in beyond
                long_ago = self._step - (_LONGEST if far else _FORGOTTEN)
                return (none or not far) and self._seen.get(name, long_ago) <= long_ago

            most = _FAR * self.proven

            def near(name: str) -> bool:
                return not most or (adds or {}).get(name, 0.0) <= most

            closed = (n for n in cheapest if n in self.dropped - self.barred)
            free = (n for n in closed if forgotten(n) and near(n))
            self.trial = next(free, None)
            self._ends, self._calm = self._step + _TRIAL, 0

    def _see(self, flows: Container[str] | None) -> None:
        """Notes whose rows come, and waits with all else for those of one that was opened."""
        for name in self._opened.keys() - self.dropped - self._flowing.keys():
            if flows is None or name in flows:
                self._flowing[name] = self._step
            elif self._step < self._opened[name] + _UNSEEN:
                self._wait = max(self._wait, self._step + _WAIT)
                if name == self.trial:
                    self._ends = self._step + _TRIAL

    def note(self, dropped: frozenset[str], *, over: bool, taken: float = 0.0) -> None:
        """What was chosen.

        Args:
            dropped: names of the queries whose windows are dropped from now on.
            over: whether those that are kept take more than lasts.
            taken: rows a second that were taken in with those that were kept so far.
        """
        self._step += 1
        accident = taken <= _ABOUT * self.proven  # as many were in time
        if taken > 0 and self.tested and self.new & dropped and not accident:
            again = self._step < self._limited + self._life
            self._life = min(_LONGEST, 2 * self._life) if again else _LIMITED
            self._limit = min(taken, self._limit) if self._step < self._limited else taken
            self._limited = self._step + self._life
        for name in dropped:
            self._flowing.pop(name, None)
        for name in self.dropped - dropped:
            self._opened[name] = self._step
            self._wait = self._step + _WAIT
        for name in dropped - self.dropped:
            soon = self._step - self._opened.get(name, -_SOON) < _SOON
            pause = min(_LONGEST, 2 * self._pause.get(name, _PAUSE)) if soon else _PAUSE
            self._pause[name] = pause
            self._until[name] = self._step + (0 if accident and self._proven else pause)
        self.dropped, self.pressed = dropped, over

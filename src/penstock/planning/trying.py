"""What was chosen, tried and found too much: which queries are opened does not change by the batch.

Whether a query fits that was opened is only seen when its rows come, with its next window that has
lost none. Until then no other is opened; and if it is too much then, it is this one that goes:

    opened ─► … ─► its rows come ─► in time for long: it stays, and another may come
                                 └► too late: it goes, and for a while none comes with which
                                    as many rows, or more, would be taken in

By rows, for how many are taken in is known, and what they cost is only believed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.planning.keeping import ABOUT

_WAIT = 8  # batches until another query is opened: the work of the last one must be seen first
_UNSEEN = 120  # batches for which its rows are waited for
_NEW = 25  # batches with its rows: if there is too much, it is for the one that was opened last
_FORESEEN, _TWICE, _SURELY = 1.05, 2, 1.25  # times the target, twice in a row, or once
_PAUSE, _LONGEST = 10, 160  # batches for which one that had to go is not opened again
_SOON = 40  # batches after it was opened: it should not have been, and waits twice as long
_LIMITED, _NEARLY = 40, 0.95  # batches for which so many of the rows that were too much are, too
_HELD = 3  # batches in a row that were in time: the clock knows best
_KNOWN = 160  # batches for which as many rows as were in time are believed to be in time again,
_DOUBT = 100  # and that many less if they are not once
_CALM, _EARLY = 10, 0.8  # batches in a row that took less than this share of the target: then one
_TRIAL = 25  # is tried that is not believed to fit, and for so many batches the clock decides
_FORGOTTEN = 80  # batches after which it is no longer known what a query cost: Java gets warm
_FAR = 4.0  # times the rows that were in time: no query is tried with which so many are taken in


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

    def too_much(self, lateness: float, *, late: bool) -> frozenset[str]:
        """Names of those that go, because they were opened last and there is too much now.

        Args:
            lateness: as for `foreseen`.
            late: whether the batch that ended was far too long.
        """
        clear = self.foreseen(lateness)
        if not self.tested or not (clear or late):
            return frozenset()
        self.trial = None
        return self.new

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
            cheapest: names of all queries, those first that take in the fewest rows.
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
        # Where nothing is dropped, rows are not asked what is in them: that proves nothing.
        if self._held >= _HELD and self.dropped and not self.new and taken >= self.proven:
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
        # As many were in time: it may be an accident, but not time and again.
        accident = 0 < taken <= ABOUT * self.proven
        failed = self.tested and bool(self.new & dropped)
        if failed and accident:
            self._since -= _DOUBT
        elif failed and taken:
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
            self._until[name] = self._step + (_PAUSE if accident else pause)
        self.dropped, self.pressed = dropped, over

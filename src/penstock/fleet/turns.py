"""Streams that take turns on the cores of one node, and how much all of them may bring.

    stream 0   ├─── batch ───┤├───── batch ─────┤
    stream 1      ├────── batch ──────┤├──── batch ────┤
    rounds     │←──────── one ───────→│←──── another ──→│

A batch waits for those of the other streams. A controller of one stream alone takes that for the
cost of its own rows, or believes that what it brings itself will soon be done: none of them sheds
while all are late, or one sheds for the others. So a round, in which each stream has had a batch,
is to the node what a batch is to a stream, and all streams keep the same share.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.costs import Costs

MOST = 4
"""Batches of one stream, after which a round is over whether or not others have had one: a stream
that brings nothing has none."""

_ROUNDS, _NEW, _CHANGED = 5, 2, 1.5
"""Rounds over which it is counted how many rows come; and how many of them, if they are off by more
than so many times, and to the same side, are another rate."""

_PATIENCE = 4
"""Rounds within which what the warm-up has held up must be over, if nothing is to be shed for it:
the first batches of several streams wait for each other, and take longest."""

_FAR = 2.0
"""Targets: of response times above it, no more is waited for."""

_LEAST = 0.01
"""The share that is kept whatever happens, so that there is something to measure."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A batch of a stream, at its control point.

    Args:
        stream: its number.
        began: when the batch did, in seconds.
        ended: the control point.
        rows: of each box, those that came.
        planned: of each box, the share that would be kept if the node itself held nothing back.
        kept: of each box, the share that was kept in this batch.
        overhead: seconds until the next batch begins.
        collected: seconds in which its rows arrived; None if nobody knows.
        response: the 95th percentile of its response times, in seconds.
    """

    stream: int
    began: float
    ended: float
    rows: Mapping[str, float]
    planned: Mapping[str, float]
    kept: Mapping[str, float]
    overhead: float = 0.0
    collected: float | None = None
    response: float | None = None


_Told = tuple[Turn, float | None]
"""A turn, and the seconds in which its rows arrived; None if nobody knows."""


class Turns:
    """Holds the response times of all streams of a node at their target.

    Args:
        streams: how many there are.
        target: for the 95th percentile of response times, in seconds.
        interval: of the trigger, in seconds.
        own: the share of what is planned that the node can bear.
        last: what was decided last; None before the first round.
    """

    def __init__(self, streams: int, target: float, interval: float = 0.0) -> None:
        self._streams = streams
        self._control = SeamlessBatches(
            target, interval=interval, patience=_PATIENCE, steepest=1.0, spare=0.005, smooth=1.0
        )
        self._round: list[_Told] = []
        self._recent: deque[list[_Told]] = deque(maxlen=_ROUNDS)
        self._began: dict[int, float] = {}
        self._cut = float("-inf")
        self.own = 1.0
        self.last: Admitted | None = None

    def take(self, turn: Turn, costs: Costs) -> float:
        """The share of what is planned that the next batch of this stream may bring.

        Args:
            turn: the batch that is ending.
            costs: of boxes; the fixed one is that of a batch of each stream.
        """
        # One that brought nothing is not told of: rows have come since the last one that did.
        before = self._began.get(turn.stream)
        self._began[turn.stream] = turn.began
        self._round.append((turn, turn.collected if before is None else turn.began - before))
        told = [one.stream for one, _ in self._round]
        if len(set(told)) == self._streams or told.count(turn.stream) >= MOST:
            self._step(costs)
            self._cut = max(one.ended for one, _ in self._round)
            self._round = []
        return self.own

    def _step(self, costs: Costs) -> None:
        turns = [one for one, _ in self._round]
        spans = [(max(one.began, self._cut), one.ended) for one in turns]
        streams = [one.stream for one in turns]
        # One stream may have had several batches, and another none.
        times = max(map(streams.count, streams))
        seconds = busy(span for span in spans if span[1] > span[0]) / times
        known = [one for one in self._round if one[1]]
        if not known or seconds <= 0:
            return
        collected = sum(span or 0.0 for _, span in known) / len(known)
        planned = {box: share for one in turns for box, share in one.planned.items()}
        rates = self._arriving(known, costs)
        rows = sum(rates.values())
        asks = sum(costs.per_row[box] * rate * planned.get(box, 1.0) for box, rate in rates.items())
        if asks <= 0:
            return
        done = sum(
            costs.per_row[box] * count * one.kept[box]
            for one in turns
            for box, count in one.rows.items()
        )
        late = max(one.response or 0.0 for one in turns)
        batch = costs.fixed / self._streams
        # How long a round takes varies with what others hand on, and when: one says little of the
        # pace, or of the target. Where there are several streams, costs are learnt over rounds.
        alone = self._streams == 1
        self.last = self._control.step(
            Batch(
                rows=rows * collected,
                collected=collected,
                seconds=seconds,
                nominal=batch + done if alone else seconds,
                fixed=batch * len(set(streams)),
                cost=asks / rows,
                overhead=max(one.overhead for one in turns),
                response=late or None if alone else None,
            )
        )
        if self.last.good:
            self.own = max(_LEAST, self._share(self.last, late))

    def _share(self, admitted: Admitted, response: float) -> float:
        """What all may keep. It holds for some streams a batch later than for others.

        A decision about the next batch alone would come too late for half of them, and be made
        good twice. So one that is not far off is about all that follow.
        """
        if not admitted.sheds:
            return 1.0
        far = response > _FAR * self._control.target
        if self._streams == 1 or far or not admitted.overload:
            return admitted.share
        return min(1.0, 1 / admitted.overload)

    def _arriving(self, known: list[_Told], costs: Costs) -> dict[str, float]:
        """Rows per second of each box, over the last few rounds.

        A node upstream hands on all of a batch at once: a round gets none, one or two such lots,
        and by itself says little. Two in a row that differ from those before are another rate.
        """

        def work(rounds: Iterable[list[_Told]]) -> float:
            rates = _rates(one for some in rounds for one in some)
            return sum(costs.per_row[box] * rate for box, rate in rates.items())

        self._recent.append(known)
        rounds = list(self._recent)
        usual, two = work(rounds[:-_NEW]), rounds[-_NEW:]
        if usual > 0:
            now = [work([one]) for one in two]
            if min(now) > _CHANGED * usual or max(now) * _CHANGED < usual:
                self._recent = deque(two, maxlen=_ROUNDS)
        return _rates(one for some in self._recent for one in some)


def _rates(turns: Iterable[_Told]) -> dict[str, float]:
    """Rows per second of each box."""
    rows: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for one, span in turns:
        for box, count in one.rows.items():
            rows[box] = rows.get(box, 0.0) + count
            seconds[box] = seconds.get(box, 0.0) + (span or 0.0)
    return {box: count / seconds[box] for box, count in rows.items()}


def busy(spans: Iterable[tuple[float, float]]) -> float:
    """The time in which anything ran.

    Args:
        spans: when it began and ended, in seconds.

    >>> busy([(0, 2), (1, 3), (4, 5)])
    4.0
    """
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total

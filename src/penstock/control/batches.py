"""SEaMLeSS for micro-batches: the default.

A batch takes all that waits, so no queue is carried over: the plant is y = q P + d, where P is how
long rows were collected, d how long their batch takes, and q = 0.95 since a row of the 95th
percentile came when 5 % of P had gone. Batches that follow each other at once have P = d. So the
target D is met if a batch takes d* = D/(1+q): a shorter one would pay the fixed cost more often,
and that is loss. (With time between batches, or a trigger, P is longer and d* shorter.)

What is decided during one batch holds for the next. After one that took too long P is more than d*,
the error is e = D - (q P + d*), and

    d = d* + b e                  seconds that the next batch may take
    v = H d - fixed               seconds of work that it may do: u + H T of the paper, T being d*

The gain b makes half of the error good. All of it, b = 1, would have long and short batches
take turns for ever (-q is the pole of that loop), and would shed for every accident. Batches vary
by a fifth, and where half of d* is fixed, what is left for rows varies by twice as much: so the
rows that may be kept, v / cost, are smoothed, and change by steps while rows are shed. (The share
of rows does not: in a burst it falls at once, by as much as there are more of them.)

H is the work that a second of the clock does, as in the paper found by itself; here from each
batch, as its duration is there to be read (see `pace`). What then remains of the distance between
the response time and its target while shedding, such as the time that a sink takes after the
control point, is made good by H ← H · D/D' in the paper, and here by D ← D · D/D', more of it at
once after a batch that was late than after one that was not. From the start, D is the target less
what costs next to nothing: batches vary, and it is for nearly all rows.

The rows that are decided about have come while the last batch ran, and its rate is that of the time
before. A rate that has risen twice is believed to rise on:

    rate      1     2     4    (8)          of one that doubles, half would be seen; one that
    batch     1     2     3     4           has jumped once has jumped
                        decides ┘
"""

from __future__ import annotations

from collections import deque

from penstock.control.admitted import Admitted
from penstock.control.batch import Batch
from penstock.control.checks import amount, positive
from penstock.control.pace import Pace
from penstock.control.period import FLOOR, as_before
from penstock.control.whole import Whole

Q = 0.95
_GAIN = 0.5  # of the error of one batch that the next makes good
_SMOOTH = 0.5  # of the difference to what could be kept before that is believed at once
_WORK = 1.25  # times the fixed cost: a batch is never made so short that nothing is done in it,
_LEAST = 0.05  # nor shorter than this share of the target
_AIM, _SPARE = 0.8, 0.015  # of the target, at least; of what can be done, at most
_LATE, _EARLY = 0.5, 0.15  # of the distance to the target that is made good after a batch …
_DOWN, _UP = 0.93, 1.01  # … but no more than that after a late one, and no less after another
_TRIMMED, LONGEST = 0.7, 1.1  # of the target, at least and at most
_STEP_DOWN, _STEP_UP = 0.7, 1.35  # times the rows that could be kept before, while rows are shed
_FEWEST = 0.4  # of the rows that could be kept before, at least, after a batch that was late
_PATIENCE = 2  # batches: what is over by then was an accident and nothing is shed for it
_FOREVER = 50
_KEPT_UP = 1.1  # times what can be kept up with, or less: late batches are accidents …
_LASTING, _LATELY = 3, 8  # … unless so many of the last so many were late …
_TWICE = 2.0  # … or one took longer than that many times what it should have
_FAR = 1.5  # times as long as a batch should take: the next one cannot be in time
_IN_A_ROW = 4  # late batches: what takes a little too long for that many is no accident
_RISES, _STEEPEST = 1.15, 2.0  # times the rate of the batch before: no accident; at most
_SOON = 3  # batches in which response times shall be back within the target
_LASTS, _ROOM = 8, 0.95  # batches later they are as they will stay; of the target, for they vary
_HALVINGS = 12


class SeamlessBatches:
    """How much the next batch may bring, for the response time to stay within the target.

    Args:
        target: for the 95th percentile of response times, in seconds.
        interval: of the trigger, in seconds; 0 if batches follow each other at once.
        headroom: what is believed before the first batch that counts.
        longest: how far above the target one may aim, where response times stay below it; 1 where
            that is because what is dropped comes in large pieces.
        warmup: batches at the start that are not learnt from. In them, and until the delay that
            they have caused is over, only what cannot end well is shed.
        patience: batches within which that delay has to be over by itself.
        steepest: times its rate that the rows of the next batch may be believed to come at; 1 where
            rates are means over time, which rise after what they are means of.
        spare: of what can be done, at most, that is given up for aiming below the target.
        smooth: of the difference to what could be kept before that is believed at once; 1 where
            batches vary less than what is smoothed.

    >>> control = SeamlessBatches(target=3.9, warmup=0)
    >>> batch = Batch(rows=6e5, collected=2, seconds=2, nominal=2, fixed=0.5, cost=5e-6)
    >>> f"{control.step(batch).keep:.2f}"
    '0.44'
    """

    def __init__(
        self,
        target: float,
        *,
        interval: float = 0.0,
        headroom: float = 1.0,
        longest: float = LONGEST,
        warmup: int = 3,
        patience: int = _FOREVER,
        steepest: float = _STEEPEST,
        spare: float = _SPARE,
        smooth: float = _SMOOTH,
    ) -> None:
        positive("target", target)
        amount("interval", interval)
        amount("warmup", warmup)
        amount("patience", patience)
        self.target = target
        self.interval = interval
        self._pace = Pace(headroom)
        self._warmup, self._patience = warmup, patience
        self._patient = True
        self._trim, self._longest = 1.0, longest
        self._let_pass = self._late = 0
        self._lately: deque[bool] = deque(maxlen=_LATELY)
        self._rate: float | None = None
        self._grew, self._steepest, self._spare = 1.0, steepest, spare
        self._may: float | None = None
        self._smooth = smooth
        self._whole = Whole()
        self._last: Admitted | None = None

    @property
    def headroom(self) -> float:
        """Seconds of work that a second of the clock does."""
        return self._pace.value

    def step(self, batch: Batch) -> Admitted:
        """What the next batch may bring, and why."""
        if wrong := batch.nonsense:
            return as_before(self._last, wrong, self.headroom)
        if self._warmup > 0:
            self._warmup -= 1
        else:
            self._learn(batch)
        self._late = self._late + 1 if self._is_late(batch) else 0
        self._lately.append(self._is_late(batch))
        self._last = self._decide(batch)
        return self._last

    def fits(self, batch: Batch) -> float:
        """The share of what a batch did that could have been done; 1 of one that was not too long.

        By the clock alone. What rows cost by the model is known a batch later, and by then rows of
        all the time that it took have come: batches of 3, 6, 12 and 24 s follow each other. One
        that is a little too long is believed to be an accident, unless several have been late;
        after that late ones are counted anew.

        Args:
            batch: the one that has ended.
        """
        best = self._best(batch)
        lasts = self._late >= _IN_A_ROW
        if batch.nonsense or batch.seconds <= (1.0 if lasts else _FAR) * best:
            return 1.0
        self._late = 0  # those that are left have as many batches to be in time again
        fixed = min(batch.fixed / self.headroom, 0.9 * best)
        took = max(batch.seconds - fixed, 0.0) / max(batch.collected or batch.seconds, best)
        return min(1.0, (best - fixed) / best / took) if took > 0 else 1.0

    def _is_late(self, batch: Batch) -> bool:
        return batch.response is not None and batch.response > self.target

    def _learn(self, batch: Batch) -> None:
        self._pace.learn(batch)
        if batch.whole:
            self._whole.learn(batch.rows, batch.seconds, late=self._is_late(batch))
        else:
            self._whole.passes()
        last = self._last
        held = self._best(batch) > _WORK * batch.fixed / self.headroom  # else no trim would help
        if batch.response and held and last is not None and FLOOR < last.keep < 1:
            off = self.target / batch.response
            times = max(_DOWN, off**_LATE) if off < 1 else max(_UP, off**_EARLY)
            self._trim = min(max(self._trim * times, _TRIMMED), self._longest)

    def _best(self, batch: Batch) -> float:
        """d*: how long a batch should take when there is too much, in seconds."""
        target = self.target * self._trim
        target *= self._aim(batch, (target - Q * batch.overhead) / (1 + Q))
        best = (target - Q * batch.overhead) / (1 + Q)
        if best + batch.overhead < self.interval:
            best = target - Q * self.interval
        return max(best, _WORK * batch.fixed / self.headroom, _LEAST * self.target)

    def _aim(self, batch: Batch, best: float) -> float:
        """How far below the target one may aim for next to nothing: batches vary.

        Shorter ones pay the fixed cost more often; of what can be done, a share of fixed / best.
        """
        if not batch.fixed:
            return _AIM
        return max(_AIM, 1 / (1 + self._spare * max(best, 0.0) * self.headroom / batch.fixed))

    def _decide(self, batch: Batch) -> Admitted:
        best, h = self._best(batch), self.headroom
        period = batch.collecting(self.interval)
        growth = self._growth(batch)
        rows = batch.coming(self.interval) * growth
        usual = max(best + batch.overhead, self.interval)
        may_take = best + _GAIN * Q * (usual - period)
        load = self._rows(batch, may_take) * batch.cost
        demand = rows * batch.cost
        would_take = (batch.fixed + demand) / h
        late = demand > load
        in_time = late and self._is_in_time(batch, period)
        capacity = (h * best - batch.fixed) / (batch.cost * usual)
        overload = batch.rate / capacity if batch.rate is not None and capacity > 0 else None
        passes = in_time or (late and self._passes(batch, would_take))
        soon = None if overload is None else overload * growth
        passes = passes or (late and self._is_accident(batch, best, soon))
        self._let_pass = self._let_pass + 1 if passes else 0
        if not (self._warmup or passes):
            self._patient = False
        keep = 1.0 if passes or not late else batch.keep(load, rows)
        if in_time and overload is not None:
            overload = min(overload, 1.0)  # whatever the cost model says of it
        reason = (
            f"seamless: {rows:,.0f} rows come and would take {would_take:.3g} s at headroom "
            f"{h:.3g}, {(batch.fixed + load) / h:.3g} s may be, since rows were collected for "
            f"{period:.3g} s of {self.target:.3g} s"
            + ("" if overload is None else f"; {overload:.2f} times what can be kept up with")
            + ("; it will pass" if passes else f"; keeps {keep:.3g}" if keep < 1 else "")
        )
        return Admitted(
            load=max(load, batch.load(keep, rows)),
            demand=demand,
            keep=keep,
            headroom=h,
            soon=self._soon(batch, period),
            overload=overload,
            reason=reason,
        )

    def _rows(self, batch: Batch, may_take: float) -> float:
        """The rows that the next batch may keep.

        After one that was late they are no more than it had time for: what it took is what rows
        cost now, be it an accident, and one more that is too long is worse than a few rows lost.

        Args:
            batch: the one that has ended.
            may_take: seconds that the next one may take.
        """
        rows = self._smoothed(max(0.0, self.headroom * may_take - batch.fixed) / batch.cost)
        if not self._is_late(batch) or self._warmup:
            return rows
        pace = min(self.headroom, batch.nominal / batch.seconds)
        fits = max(0.0, pace * may_take - batch.fixed) / batch.cost
        # By one batch alone next to nothing fits where half of it is fixed; it may be an accident.
        return min(rows, max(fits, _FEWEST * rows if self._smooth < 1 else 0.0))

    def _smoothed(self, rows: float) -> float:
        """The rows that may be kept, with what could be kept before; in the warm-up as they are.

        While rows are shed they change by steps: whatever a fit says of one batch, Java has to get
        warm with a plan that is quite another, and the batches in between tell nothing.
        """
        if self._may is None or self._warmup:
            self._may = rows
        before = self._may
        self._may += self._smooth * (rows - before)
        if self._smooth < 1 and self._last is not None and FLOOR < self._last.keep < 1:
            self._may = min(max(self._may, _STEP_DOWN * before), _STEP_UP * before)
        return self._may

    def _growth(self, batch: Batch) -> float:
        """How many times as many rows come as would at the rate of the last batch."""
        before, self._rate = self._rate, batch.rate
        grew, self._grew = self._grew, 1.0
        if not before or not batch.rate or batch.waiting is not None:
            return 1.0
        self._grew = batch.rate / before
        return min(self._grew, self._steepest) if min(grew, self._grew) >= _RISES else 1.0

    def _passes(self, batch: Batch, would_take: float) -> bool:
        """Whether response times are back within the target soon, if nothing is shed."""
        patience = self._patience if self._patient else _PATIENCE - self._let_pass
        if batch.rate is None:
            return self._patient
        period = max(self.interval, would_take + batch.overhead)
        return self._is_back(batch, period, 1.0, patience)

    def _is_accident(self, batch: Batch, best: float, overload: float | None) -> bool:
        """Whether all can be kept up with, so that what is late for a batch or two is soon over.

        Nothing is lost for it; where rows are shed already, they are as long as it is needed.

        Args:
            batch: the one that has ended.
            best: how long it should have taken.
            overload: rows that will arrive, in multiples of those that can be kept up with.
        """
        if overload is None or overload > _KEPT_UP or not self._is_late(batch):
            return False
        whole = self._last is None or self._last.keep == 1
        return whole and batch.seconds <= _TWICE * best and sum(self._lately) < _LASTING

    def _is_in_time(self, batch: Batch, period: float) -> bool:
        """Whether response times would be within the target if nothing were shed any more.

        By what batches took of which nothing was shed, if there were enough, with as many rows.

        Args:
            batch: the one that has ended.
            period: seconds in which the rows of the next one were collected.
        """
        responses = []
        for _ in range(_LASTS):
            takes = self._whole.seconds((batch.rate or 0.0) * period)
            if batch.rate is None or takes is None:
                return False
            responses.append(Q * period + takes)
            period = max(self.interval, takes + batch.overhead)
        return max(responses[_PATIENCE - 1 :]) <= _ROOM * self.target

    def _soon(self, batch: Batch, period: float) -> float:
        """The greatest share of the work with which they are back within the target soon."""
        if batch.rate is None or self._is_back(batch, period, 1.0, _SOON):
            return 1.0
        least, most = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (least + most) / 2
            if self._is_back(batch, period, middle, _SOON):
                least = middle
            else:
                most = middle
        return least

    def _is_back(self, batch: Batch, period: float, share: float, patience: int) -> bool:
        """Whether one of the next batches is in time, if each does this share of its work.

        Args:
            batch: the one that has ended.
            period: seconds in which the rows of the first of them were collected.
            share: of the work of its rows that each does.
            patience: how many of them there are.
        """
        work = (batch.rate or 0.0) * batch.cost * share
        for _ in range(patience):
            takes = (batch.fixed + period * work) / self.headroom
            if Q * period + takes <= self.target:
                return True
            period = max(self.interval, takes + batch.overhead)
        return False

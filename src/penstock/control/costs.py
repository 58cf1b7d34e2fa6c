"""The cost model: a batch takes a fixed time, and each operator a time for each row it takes in.

    seconds = fixed + Σ cost · rows in

It is fitted anew after each batch, to the batches that it remembers (see `fitting`). Old ones count
less: half as much for every half-life, of batches that are like them. While all rows are dropped
nothing new is heard of what queries cost, and what is known of it must not fade:

    rows for   reading    queries                     a batch is like another if rows are shared out
    batch 1    ████       ████████   fades with 4     among operators as in the other, by their
    batch 2    ████                  fades with 3     believed work
    batch 3    █████
    batch 4    ███        ███████

A batch that sheds is worth the most, since it changes what operators take in while the stream stays
the same: only then can their costs be told apart.

A batch that is new, unlike all before it or far larger, is learnt from at once: nothing was known
of it. One of which something was known, but that the model cannot explain, is held back until it is
clear what it was. One alone is an accident, and is all but ignored. Two in a row that are off by
the same factor are a machine that has become slower or faster: what is remembered of batches like
them is restated at its new speed, so that the model follows at once and yet forgets nothing of how
costs stand to each other. (Not of others: where all rows are dropped batches may become faster as
Java gets warm with that.) Learnt from at once, they would say that rows cost nothing: a machine
becomes slower, fewer rows are kept, and batches take as long as before. If they are off by
different factors, costs have changed, and are fitted anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.control.checks import amount, frozen, known, positive
from penstock.control.fitting import Fit, fit, lowest
from penstock.control.nonnegative import Floats
from penstock.control.prior import Prior
from penstock.errors import UsageError, complaint

HALF_LIFE = 30.0  # batches
_REMEMBERED = 5  # half-lives: what is older would count for 3 % at most
_KNOWN = 10  # batches, before which any can be explained by what is not yet known
_IN_A_ROW = 2
_HELD = 4
_OFF = 0.25  # by a quarter, and by twice the noise
_ALIKE = 0.15
_COLD = 0.05  # of what a batch counts, at least: one that was timed before the engine was warm
_ROWS = 0.01  # of what batches take is for their rows, at least
_SHORTEST = 0.1  # of the batches are as short as that or shorter: no batch's fixed cost is more
_SAME = 0.9  # the cosine between the work of two batches that are the same for the machine's speed
_LARGER = 2  # times the work of any before it: what was expected of such a batch was a guess
_SHARPLY = 3  # the power of the cosine by which a later batch makes an earlier one fade


@dataclass(frozen=True, slots=True)
class Costs:
    """What a batch costs, as far as is known.

    Args:
        fixed: seconds of a batch without rows.
        per_row: of each operator, seconds for a row that it takes in.
        fixed_deviation: how far `fixed` may be off, in seconds (one standard deviation).
        deviations: how far each cost per row may be off, in seconds. It is wide where the batches
            so far cannot tell an operator from others: then the cost is as believed.
        noise: how far a batch may be off from its prediction, relative.
        batches: how many the model has seen; at 0 all is belief.
    """

    fixed: float
    per_row: Mapping[str, float]
    fixed_deviation: float
    deviations: Mapping[str, float]
    noise: float
    batches: int

    def predict(self, rows_in: Mapping[str, float]) -> float:
        """Seconds that a batch will take.

        Args:
            rows_in: of each operator, the rows it will take in; 0 for one that is not named.
        """
        known("operator", rows_in, self.per_row)
        return self.fixed + sum(self.per_row[name] * rows for name, rows in rows_in.items())


class CostModel:
    """Learns the costs of operators from the durations of batches.

    Args:
        prior: the costs as believed; it names the operators.
        half_life: after that many batches a batch counts half.
        steady: whether batches that are off by the same factor say nothing of the machine: where
            most of the time is waited, or batches of others are in it.

    >>> model = CostModel(Prior(fixed=1.0, costs={"web": 1e-6, "bytes": 1e-6}))
    >>> for rows in (1e6, 2e6, 3e6, 1e6, 2e6, 3e6):
    ...     model.observe({"web": rows, "bytes": rows / 10}, seconds=0.5 + 3e-6 * rows)
    >>> f"{model.costs.predict({'web': 4e6, 'bytes': 4e5}):.0f} s"
    '12 s'
    """

    def __init__(self, prior: Prior, half_life: float = HALF_LIFE, *, steady: bool = False) -> None:
        positive("half_life", half_life)
        self.prior, self._steady = prior, steady
        self._fade = 0.5 ** (1 / half_life)
        self._believed = prior.believed
        self._size = int(np.ceil(_REMEMBERED * half_life)) + _HELD
        self._counts: list[Floats] = []
        self._seconds: list[float] = []
        self._trust: list[float] = []
        self._held: list[tuple[Floats, float, float]] = []
        self._seen = 0
        self.costs = self._named(self._fit())

    def observe(self, rows_in: Mapping[str, float], seconds: float, *, warm: float = 1.0) -> None:
        """Learns from a batch.

        Args:
            rows_in: of every operator, the rows that it took in.
            seconds: how long the batch took.
            warm: how warm the engine is, up to 1. A batch of a cold one says what is better than
                nothing; it hardly counts beside those that come after it.
        """
        known("operator", rows_in, self.prior.costs)
        for name in self.prior.costs.keys() - rows_in.keys():
            raise UsageError(complaint("rows_in", "must name every operator", list(rows_in), name))
        amount("seconds", seconds)
        for name, rows in rows_in.items():
            amount(f"rows_in of {name!r}", rows)
        if warm < 1:
            self._remember(self.prior.counts(rows_in), float(seconds), max(_COLD, warm**3))
            self.costs = self._named(self._fit())
            return
        self._seen += 1
        off = seconds / max(self.costs.predict(rows_in), np.finfo(float).tiny)
        self._held.append((self.prior.counts(rows_in), float(seconds), off))
        if self._explained(off) or self._is_new() or self._understood():
            for counts, took, _ in self._held:
                self._remember(counts, took, 1.0)
            self._held = []
        self.costs = self._named(self._fit())

    def _remember(self, counts: Floats, seconds: float, trust: float) -> None:
        self._counts.append(counts)
        self._seconds.append(seconds)
        self._trust.append(trust)
        if len(self._seconds) > self._size:
            least = int(np.argmin(self._weights()))
            del self._counts[least], self._seconds[least], self._trust[least]

    def _weights(self) -> Floats:
        """How much each batch counts: less for each later one that is like it."""
        later = np.triu(self._cosines(self._counts) ** _SHARPLY, k=1).sum(axis=1)
        weights: Floats = self._fade**later * np.array(self._trust)
        return weights

    def _cosines(self, others: Sequence[Floats]) -> Floats:
        """How much each batch that is remembered is like each of the others; at most 1."""
        mine, theirs = (self._directions(those) for those in (self._counts, others))
        cosines: Floats = mine @ theirs.T
        return cosines

    def _directions(self, counts: Sequence[Floats]) -> Floats:
        """How the work for rows is shared out; batches without rows are like each other only."""
        work = np.array(counts).reshape(-1, self._believed.size) * self._believed
        work[:, 0] = np.where(work[:, 1:].any(axis=1), 0.0, 1.0)
        directions: Floats = work / np.linalg.norm(work, axis=1, keepdims=True)
        return directions

    def _explained(self, off: float) -> bool:
        """Whether a batch took about as long as was expected."""
        limit = 1 + max(_OFF, 2 * self.costs.noise)
        return sum(self._trust) < _KNOWN or 1 / limit <= off <= limit

    def _is_new(self) -> bool:
        """Whether there was no batch like the last one, or none with half as much work for rows."""
        last = self._held[-1][0]
        like = self._cosines([last])[:, 0] >= _SAME
        work = (np.array(self._counts) * self._believed)[like, 1:].sum(axis=1)
        return bool(_LARGER * work.max(initial=0.0) < (last * self._believed)[1:].sum())

    def _understood(self) -> bool:
        """Whether it is clear by now why batches took as long as they did."""
        offs = [off for _, _, off in self._held]
        if not self._steady and len(offs) >= _IN_A_ROW and (min(offs) > 1 or max(offs) < 1):
            alike = max(offs) <= min(offs) * (1 + max(_ALIKE, self.costs.noise))
            if alike:
                self._restate(float(np.median(offs)))
                return True
        return len(offs) >= _HELD

    def believe(self, prior: Prior) -> None:
        """Takes another belief, as from a calibration; what was learnt of batches stays.

        Args:
            prior: of the same operators.
        """
        if list(prior.costs) != list(self.prior.costs):
            rule = "must name the same operators"
            raise UsageError(complaint("prior", rule, list(prior.costs)))
        self.prior, self._believed = prior, prior.believed
        self.costs = self._named(self._fit())

    def _fit(self) -> Fit:
        work = np.array(self._counts).reshape(-1, self._believed.size) * self._believed
        seconds, weights = np.array(self._seconds), self._weights()
        found = fit(work, seconds, weights, self.prior.spreads)
        if not work[:, 1:].any():
            return found
        some = work[:, 1:].any(axis=1)
        shortest = lowest(seconds[some], weights[some], _SHORTEST)
        return replace(found, factors=_not_free(work, found.factors, shortest))

    def _restate(self, change: float) -> None:
        """Batches like those that are held took so many times as long on the machine as it is."""
        like = self._cosines([counts for counts, _, _ in self._held]).max(axis=1)
        for batch in np.flatnonzero(like >= _SAME):
            self._seconds[batch] *= change

    def _named(self, found: Fit) -> Costs:
        costs, deviations = found.factors * self._believed, found.deviations * self._believed
        return Costs(
            fixed=float(costs[0]),
            per_row=frozen(dict(zip(self.prior.costs, costs[1:].tolist(), strict=True))),
            fixed_deviation=float(deviations[0]),
            deviations=frozen(dict(zip(self.prior.costs, deviations[1:].tolist(), strict=True))),
            noise=found.noise,
            batches=self._seen,
        )


def _not_free(work: Floats, factors: Floats, shortest: float) -> Floats:
    """The factors, with some of the fixed cost as costs of rows where these would cost too little.

    While a stream brings about as many rows in each batch, nothing tells the two apart, and an
    accident may say that rows are free: then a burst would be seen by nobody. But no batch takes
    less than the fixed cost.

    Args:
        work: a row per batch, a column per cost; the first is the fixed one.
        factors: of each cost.
        shortest: seconds of the shortest batches with rows.
    """
    mean = work.mean(axis=0)
    rows, believed = float(mean[1:] @ factors[1:]), float(mean[1:].sum())
    fixed = float(mean[0] * factors[0])
    missing = min(fixed, max(_ROWS * (fixed + rows) - rows, fixed - shortest))
    if missing <= 0:
        return factors
    return np.concatenate([[(fixed - missing) / mean[0]], factors[1:] + missing / believed])

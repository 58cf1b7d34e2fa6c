"""The cost model: a batch takes a fixed time, and each operator a time for each row it takes in.

    seconds = fixed + Σ cost · rows in

It is fitted anew after each batch, to the batches that it remembers (see `fitting`). Old ones count
less: half as much for every half-life. A batch that sheds is worth the most, since it changes what
operators take in while the stream stays the same: only then can their costs be told apart.

A batch that the model cannot explain is held back until it is clear what it was. One alone is an
accident, and is all but ignored. Two in a row that are off by the same factor are a machine that
has become slower or faster: what is remembered is restated at its new speed, so that the model
follows at once and yet forgets nothing of how costs stand to each other. Learnt from at once, they
would say that rows cost nothing: a machine becomes slower, fewer rows are kept, and batches take as
long as before. If they are off by different factors, costs have changed, and are fitted anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.control.checks import amount, frozen, known, positive
from penstock.control.fitting import Fit, fit
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
_ROWS = 0.01  # of what batches take is for their rows, at least


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

    >>> model = CostModel(Prior(fixed=1.0, costs={"web": 1e-6, "bytes": 1e-6}))
    >>> for rows in (1e6, 2e6, 3e6, 1e6, 2e6, 3e6):
    ...     model.observe({"web": rows, "bytes": rows / 10}, seconds=0.5 + 3e-6 * rows)
    >>> f"{model.costs.predict({'web': 4e6, 'bytes': 4e5}):.0f} s"
    '12 s'
    """

    def __init__(self, prior: Prior, half_life: float = HALF_LIFE) -> None:
        positive("half_life", half_life)
        self.prior = prior
        self._fade = 0.5 ** (1 / half_life)
        self._believed = prior.believed
        size = int(np.ceil(_REMEMBERED * half_life)) + _HELD
        self._counts: deque[Floats] = deque(maxlen=size)
        self._seconds: deque[float] = deque(maxlen=size)
        self._held: list[tuple[Floats, float, float]] = []
        self._seen = 0
        self.costs = self._named(self._fit())

    def observe(self, rows_in: Mapping[str, float], seconds: float) -> None:
        """Learns from a batch.

        Args:
            rows_in: of every operator, the rows that it took in.
            seconds: how long the batch took.
        """
        known("operator", rows_in, self.prior.costs)
        for name in self.prior.costs.keys() - rows_in.keys():
            raise UsageError(complaint("rows_in", "must name every operator", list(rows_in), name))
        amount("seconds", seconds)
        for name, rows in rows_in.items():
            amount(f"rows_in of {name!r}", rows)
        self._seen += 1
        off = seconds / max(self.costs.predict(rows_in), np.finfo(float).tiny)
        self._held.append((self.prior.counts(rows_in), float(seconds), off))
        if self._explained(off) or self._understood():
            for counts, took, _ in self._held:
                self._counts.append(counts)
                self._seconds.append(took)
            self._held = []
        self.costs = self._named(self._fit())

    def _explained(self, off: float) -> bool:
        """Whether a batch took about as long as was expected."""
        limit = 1 + max(_OFF, 2 * self.costs.noise)
        return len(self._seconds) < _KNOWN or 1 / limit <= off <= limit

    def _understood(self) -> bool:
        """Whether it is clear by now why batches took as long as they did."""
        offs = [off for _, _, off in self._held]
        if len(offs) >= _IN_A_ROW and (min(offs) > 1 or max(offs) < 1):
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
        ages = np.arange(len(self._seconds))[::-1]
        work = np.array(self._counts).reshape(-1, self._believed.size) * self._believed
        found = fit(work, np.array(self._seconds), self._fade**ages, self.prior.spreads)
        return replace(found, factors=_not_free(work, found.factors))

    def _restate(self, change: float) -> None:
        """What was remembered took so many times as long on the machine as it is now."""
        for batch in range(len(self._seconds)):
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


def _not_free(work: Floats, factors: Floats) -> Floats:
    """The factors, with some of the fixed cost as costs of rows where these would cost nothing.

    While a stream brings as many rows in each batch, nothing tells the two apart, and an accident
    may say that rows are free: then a burst would be seen by nobody.

    Args:
        work: a row per batch, a column per cost; the first is the fixed one.
        factors: of each cost.
    """
    if not len(work):
        return factors
    mean = work.mean(axis=0)
    rows, believed = float(mean[1:] @ factors[1:]), float(mean[1:].sum())
    missing = _ROWS * float(mean @ factors) - rows
    if missing <= 0 or believed <= 0:
        return factors
    less = max(0.0, factors[0] - missing / mean[0])
    return np.concatenate([[less], factors[1:] + missing / believed])

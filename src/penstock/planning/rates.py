"""How many rows come in a second, by the batches of late.

A source may hand on rows in lumps: a batch takes seven of them, the next one eight, and by one
batch alone an eighth more seems to come. So rates are means, but for a jump, which is seen at once:

    rate of a batch    7 8 7 8 7 8 │ 15 16 15    7 8 9 10
    mean               7 7 7 7 7 8 │ 15 16 15    7 8 8 10

Nor is a rate that has risen, or fallen, three times in a row one of lumps: a mean would lag behind.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise

_LATELY, _LASTING = 5, 3  # batches: for what comes next, and for choices that last
_JUMP = 1.3  # times the rate of the batches before: that is no lump
_TREND = 4  # batches, each with a higher rate than the one before, or each with a lower one


class Rates:
    """Rows a second of each stream.

    >>> rates = Rates()
    >>> for rows in (7, 8, 7):
    ...     rates.learn({"packets": rows}, 1.0)
    >>> rates.lately
    {'packets': 7.333333333333333}
    >>> rates.learn({"packets": 15}, 1.0)
    >>> rates.lately, rates.lasting
    ({'packets': 15.0}, {'packets': 10.0})
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[Mapping[str, float], float]] = deque(maxlen=_LATELY)
        self._jumped = 0

    def learn(self, rows: Mapping[str, float], seconds: float) -> None:
        """One more batch.

        Args:
            rows: of each stream.
            seconds: in which they came.
        """
        this = _total(rows) / seconds if seconds > 0 else math.nan
        if not math.isfinite(this):
            return  # a controller says that it makes no sense
        before = _total(self.lately)
        self._jumped += 1
        if not before / _JUMP < this < before * _JUMP:
            self._jumped = 1
        self._seen.append((rows, seconds))

    @property
    def lately(self) -> dict[str, float]:
        """The rates since the last jump, or now if they have been going up or down."""
        each = [_total(rows) / seconds for rows, seconds in list(self._seen)[-_TREND:]]
        up = [after > before for before, after in pairwise(each)]
        down = [after < before for before, after in pairwise(each)]
        trend = len(each) == _TREND and (all(up) or all(down))
        return _mean(list(self._seen)[-1:] if trend else list(self._seen)[-self._jumped :])

    @property
    def lasting(self) -> dict[str, float]:
        """The rates of some batches, whether one of them was a jump or not."""
        return _mean(list(self._seen)[-_LASTING:])


def _mean(seen: Iterable[tuple[Mapping[str, float], float]]) -> dict[str, float]:
    some = list(seen)
    seconds = sum(took for _, took in some)
    names = some[-1][0] if some else ()
    return {name: sum(rows.get(name, 0.0) for rows, _ in some) / seconds for name in names}


def _total(rates: Mapping[str, float]) -> float:
    return sum(rates.values())

"""count, sum, avg, min and max with Spark's meaning: missing values are skipped, ANSI overflow.

Of missing values only, the answer is missing (None), and count is 0. Whole numbers and decimals
are added exactly, so the order does not matter; the result is checked against its type at the end.
Spark checks after every addition and may refuse a sum whose parts overflow and come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

from penstock.errors import ArithmeticOverflow, complaint
from penstock.windows.fold import Fold

Number = int | float | Decimal

_LONGS: Final = range(-(2**63), 2**63)
_DECIMAL_DIGITS: Final = 38
# Python's default context rounds sums to 28 digits.
_EXACT: Final = Context(prec=120, rounding=ROUND_HALF_UP)


def _plus(left: Number, right: Number) -> Number:
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        return _EXACT.add(left, right)  # type: ignore[arg-type]  # of one column, so never a float
    return left + right


def _sum_incr(state: Number | None, value: Number | None) -> Number | None:
    if state is None or value is None:
        return value if state is None else state
    return _plus(state, value)


def _sum_final(total: Number | None) -> Number | None:
    if isinstance(total, int) and total not in _LONGS:
        raise ArithmeticOverflow(complaint("sum", "must fit in 64 bits", total, "cast to decimal"))
    if isinstance(total, Decimal) and len(total.as_tuple().digits) > _DECIMAL_DIGITS:
        raise ArithmeticOverflow(complaint("sum", "must fit in 38 digits", total))
    return total


_Mean = tuple[Number | None, int]


def _avg_incr(state: _Mean, value: Number | None) -> _Mean:
    return state if value is None else (_sum_incr(state[0], value), state[1] + 1)


def _avg_merge(left: _Mean, right: _Mean) -> _Mean:
    return _sum_incr(left[0], right[0]), left[1] + right[1]


def _avg_final(state: _Mean) -> float | Decimal | None:
    total, number = state
    if total is None:
        return None
    if isinstance(total, Decimal):
        scale = -int(total.as_tuple().exponent)
        step = Decimal(1).scaleb(-min(scale + 4, _DECIMAL_DIGITS))
        return _EXACT.quantize(_EXACT.divide(total, Decimal(number)), step)
    return total / number


def _rank(value: Any) -> tuple[bool, Any]:  # noqa: ANN401 - numbers, text, dates
    # NaN compares false with everything; to Spark it is the largest number.
    nan = isinstance(value, float) and math.isnan(value)
    return nan, 0.0 if nan else value


def _extreme(name: str, choose: Callable[..., Any]) -> Fold[Any]:
    def pick(state: Any, value: Any) -> Any:  # noqa: ANN401 - numbers, text, dates
        if state is None or value is None:
            return value if state is None else state
        return choose(state, value, key=_rank)

    return Fold(name, lambda: None, pick, pick, lambda state: state)


COUNT_ALL: Final[Fold[int]] = Fold(
    "count(*)", int, lambda n, _: n + 1, lambda a, b: a + b, lambda n: n
)
"""The number of rows, missing values included."""

COUNT: Final[Fold[int]] = Fold(
    "count", int, lambda n, value: n + (value is not None), lambda a, b: a + b, lambda n: n
)
"""The number of values that are not missing."""

SUM: Final[Fold[Number | None]] = Fold("sum", lambda: None, _sum_incr, _sum_incr, _sum_final)
"""The total; `ArithmeticOverflow` where it does not fit 64 bits, or 38 digits of a decimal."""

AVG: Final[Fold[_Mean]] = Fold("avg", lambda: (None, 0), _avg_incr, _avg_merge, _avg_final)
"""The mean: a float, or of decimals a decimal with 4 more places (38 at most), rounded half up."""

MIN: Final[Fold[Any]] = _extreme("min", min)
"""The smallest value; NaN is larger than every number."""

MAX: Final[Fold[Any]] = _extreme("max", max)
"""The largest value; NaN is larger than every number."""

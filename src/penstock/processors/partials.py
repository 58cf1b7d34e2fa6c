"""Partial aggregates of many groups at once, as arrays: folded from rows, merged, finished.

A state is a tuple of arrays, each with one place for every group. Whole numbers, floats and times
are computed by numpy; what it has no type for (decimals, text, the user's own) by a `Fold`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from penstock.errors import ArithmeticOverflow, complaint
from penstock.windows import Fold

_AT_ONCE = 1 << 15

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
State = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Values:
    """One column of some rows.

    Args:
        data: numbers, or objects for what numpy has no type for; what is missing is any number, or
            None.
        known: which values are not missing; None if all are known.
    """

    data: Array
    known: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.data)

    def take(self, rows: Indices) -> Values:
        """The values of these rows, in their order."""
        return Values(self.data[rows], None if self.known is None else self.known[rows])


class Partial(Protocol):
    """An aggregate over arrays; it is to many groups what `Fold` is to one."""

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """The state of each group.

        Args:
            values: one for each row.
            group: to which group each row belongs, from 0.
            groups: how many groups there are; each has a row.
        """

    def merge(self, left: State, right: State) -> State:
        """The states of groups, place by place, with those of as many others."""

    def final(self, state: State) -> Values:
        """The answers."""


class CountRows:
    """count(*)."""

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """The number of rows."""
        del values
        return (np.bincount(group, minlength=groups),)

    def merge(self, left: State, right: State) -> State:
        """Counts add up."""
        return (left[0] + right[0],)

    def final(self, state: State) -> Values:
        """The count."""
        return Values(state[0])


class CountValues(CountRows):
    """count(x)."""

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """The number of values that are known."""
        return (_numbers(values, group, groups),)


@dataclass(frozen=True, slots=True)
class SumOfWhole:
    """The sum of whole numbers, in 64 bits.

    It wraps around, and a float runs beside it: the two are far apart if the sum does not fit.

    Args:
        checked: whether a sum that does not fit is refused (ANSI), or wrapped.
    """

    checked: bool = True

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """Sum, about the sum, number of values."""
        data, group = _only_known(values, group)
        total = np.zeros(groups, np.int64)
        np.add.at(total, group, data.astype(np.int64, copy=False))
        about = np.bincount(group, weights=data, minlength=groups)
        return total, about, np.bincount(group, minlength=groups)

    def merge(self, left: State, right: State) -> State:
        """Sums add up."""
        return tuple(a + b for a, b in zip(left, right, strict=True))

    def final(self, state: State) -> Values:
        """The sum, missing where there was no value."""
        total, about, number = state
        wrong = np.abs(total - about) > 2.0**62
        if self.checked and wrong.any():
            got = f"about {about[wrong][0]:.6g}"
            raise ArithmeticOverflow(complaint("sum", "must fit in 64 bits", got, "cast to double"))
        return Values(total, number > 0)


class SumOfFloats:
    """The sum of floats."""

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """Sum and number of values."""
        data, group = _only_known(values, group)
        number = np.bincount(group, minlength=groups)
        return np.bincount(group, weights=data, minlength=groups), number

    def merge(self, left: State, right: State) -> State:
        """Sums add up."""
        with np.errstate(invalid="ignore"):  # inf - inf is not a number, as in Spark
            return left[0] + right[0], left[1] + right[1]

    def final(self, state: State) -> Values:
        """The sum, missing where there was no value."""
        return Values(state[0], state[1] > 0)


class Mean(SumOfFloats):
    """avg."""

    def final(self, state: State) -> Values:
        """The mean, missing where there was no value."""
        return Values(state[0] / np.maximum(state[1], 1), state[1] > 0)


@dataclass(frozen=True, slots=True)
class Extreme:
    """min or max; NaN is greater than any number.

    Args:
        pick: np.fmin, which passes over NaN where it can, or np.maximum, which does not.
    """

    pick: np.ufunc

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """The value, and whether there is one."""
        data, group = _only_known(values, group)
        found = np.full(groups, self._nothing(data.dtype), data.dtype)
        self.pick.at(found, group, data)
        return found, np.bincount(group, minlength=groups) > 0

    def merge(self, left: State, right: State) -> State:
        """The extreme of both."""
        return self.pick(left[0], right[0]), left[1] | right[1]

    def final(self, state: State) -> Values:
        """The value, missing where there was none."""
        return Values(*state)

    def _nothing(self, of: np.dtype[Any]) -> float | int | bool:
        """What every value wins over."""
        least = self.pick is np.fmin
        if of.kind == "f":
            return np.nan if least else -np.inf
        if of.kind == "b":
            return least
        return int(np.iinfo(of).max if least else np.iinfo(of).min)


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance and standard deviation from (n, mean, m2), as `penstock.windows.spread`.

    Args:
        less: what is taken from n before m2 is divided by it.
        root: whether the standard deviation is asked.
    """

    less: int
    root: bool

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """In two passes: the means, then the squared deviations from them."""
        data, group = _only_known(values, group)
        data = data.astype(np.float64)
        n = np.bincount(group, minlength=groups).astype(np.float64)
        with np.errstate(invalid="ignore"):
            mean = np.bincount(group, weights=data, minlength=groups) / np.maximum(n, 1)
            apart = (data - mean[group]) ** 2
        return n, mean, np.bincount(group, weights=apart, minlength=groups)

    def merge(self, left: State, right: State) -> State:
        """As Chan, Golub and LeVeque do; a side without values leaves the other as it is."""
        (n, mean, m2), (k, other, k2) = left, right
        total = np.maximum(n + k, 1)
        with np.errstate(invalid="ignore"):
            apart = other - mean
            merged = mean + apart * k / total, m2 + k2 + apart * apart * n * k / total
        both = (n > 0) & (k > 0)
        return n + k, *(
            np.where(both, new, np.where(k > 0, b, a))
            for new, a, b in zip(merged, (mean, m2), (other, k2), strict=True)
        )

    def final(self, state: State) -> Values:
        """The spread, missing where n is too small for it."""
        n, _, m2 = state
        spread = m2 / np.maximum(n - self.less, 1)
        return Values(np.sqrt(spread) if self.root else spread, n > self.less)


@dataclass(frozen=True, slots=True)
class Folded:
    """Any `Fold`; a state of its own kind is kept for every group.

    Args:
        of: the aggregate.
        dumps: makes bytes of a state, where a merge may change the states that it is given; None
            if it may not, and states are kept as they are.
        loads: the way back.
    """

    of: Fold[Any]
    dumps: Callable[[Any], bytes] | None = None
    loads: Callable[[bytes], Any] = pickle.loads

    def fold(self, values: Values, group: Indices, groups: int) -> State:
        """Row by row, in their order."""
        states = [self.of.init() for _ in range(groups)]
        incr = self.of.incr
        for place, value in zip(group.tolist(), _objects(values), strict=True):
            states[place] = incr(states[place], value)
        return (self._written(states),)

    def merge(self, left: State, right: State) -> State:
        """Pair by pair."""
        pairs = zip(self._read(left[0]), self._read(right[0]), strict=True)
        return (self._written([self.of.merge(a, b) for a, b in pairs]),)

    def final(self, state: State) -> Values:
        """The answers, None where they are missing."""
        return Values(_array([self.of.final(s) for s in self._read(state[0])]))

    def _written(self, states: list[Any]) -> Array:
        return _array(states if self.dumps is None else [self.dumps(s) for s in states])

    def _read(self, states: Array) -> Iterable[Any]:
        return states if self.dumps is None else map(self.loads, states)


def take(states: Sequence[State], places: Indices | slice) -> list[State]:
    """The states in these places, of every aggregate.

    Args:
        states: one of each aggregate.
        places: indices; for a slice, nothing is copied.
    """
    return [tuple(array[places] for array in state) for state in states]


def concatenate(*parts: Sequence[State]) -> list[State]:
    """The states of some groups and then those of others, of every aggregate.

    Args:
        parts: one state of each aggregate in every part.
    """
    return [
        tuple(np.concatenate(arrays) for arrays in zip(*states, strict=True))
        for states in zip(*parts, strict=True)
    ]


def merge_spans(
    partials: Sequence[Partial], states: Sequence[State], low: Indices, high: Indices
) -> list[State]:
    """The states from `low` to before `high` merged, for many such spans at once.

    Merges have no inverse, so spans that overlap cannot be had by subtraction. Each is put together
    from pieces of 1, 2, 4, … places, the last one first, and all spans share the pieces:

        span 5 .. 12  =  [5 6 7 8] [9 10] [11]        7 = 4 + 2 + 1

    Args:
        partials: the aggregates.
        states: one of each.
        low: where each span begins.
        high: where it ends; after `low`.
    """
    if not len(low):
        return take(states, low)
    # Some spans at a time, so that what they share stays in the processor's cache.
    some = max(_AT_ONCE, 4 * int((high - low).max()))
    parts = []
    for begin in range(0, len(low), some):
        here = slice(begin, begin + some)
        least, most = int(low[here].min()), int(high[here].max())
        near = take(states, slice(least, most))
        parts.append(_merge_some(partials, near, low[here] - least, high[here] - least))
    return parts[0] if len(parts) == 1 else concatenate(*parts)


def _merge_some(
    partials: Sequence[Partial], states: Sequence[State], low: Indices, high: Indices
) -> list[State]:
    # The length that all spans have is taken for all at once: where spans end next to each other,
    # so do their pieces, and nothing has to be looked up.
    common, at = int((high - low).min()), high.copy()
    rest = high - low - common
    merged: list[State] | None = None
    if rest.any():  # their last place is there before the rest is merged with it
        common, at = common - 1, at - 1
        merged = take(states, at)
    longest = max(common, int(rest.max()))
    pieces, size = list(states), 1
    while size <= longest:
        if common & size:
            at -= size
            some = take(pieces, _slice(at))
            merged = some if merged is None else _merge_all(partials, some, merged)
        here = np.flatnonzero(rest & size)
        if here.size and merged is not None:
            at[here] -= size
            some = _merge_all(partials, take(pieces, _slice(at[here])), take(merged, here))
            for state, new in zip(merged, some, strict=True):
                for array, values in zip(state, new, strict=True):
                    array[here] = values
        size *= 2
        if size <= longest:
            # A piece reaches `size // 2` on: the last ones have no partner, and begin no piece.
            first = [tuple(a[: len(a) - size // 2] for a in state) for state in pieces]
            second = [tuple(a[size // 2 :] for a in state) for state in pieces]
            pieces = _merge_all(partials, first, second)
    assert merged is not None  # noqa: S101 - no span is empty
    return merged


def _slice(places: Indices) -> Indices | slice:
    """The same places as a slice, if they are equally far apart."""
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    if step < 1 or not (np.diff(places) == step).all():
        return places
    return slice(int(places[0]), int(places[-1]) + 1, step)


def _merge_all(
    partials: Sequence[Partial], left: Sequence[State], right: Sequence[State]
) -> list[State]:
    return [p.merge(a, b) for p, a, b in zip(partials, left, right, strict=True)]


def _numbers(values: Values, group: Indices, groups: int) -> Array:
    return np.bincount(_only_known(values, group)[1], minlength=groups)


def _only_known(values: Values, group: Indices) -> tuple[Array, Indices]:
    if values.known is None:
        return values.data, group
    return values.data[values.known], group[values.known]


def _objects(values: Values) -> list[Any]:
    data: list[Any] = values.data.tolist()
    if values.known is None:
        return data
    return [x if known else None for x, known in zip(data, values.known.tolist(), strict=True)]


def _array(objects: list[Any]) -> Array:
    """Numpy would make a table of objects that are lists."""
    array = np.empty(len(objects), object)
    for place, value in enumerate(objects):
        array[place] = value
    return array

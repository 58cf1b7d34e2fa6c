"""An aggregate is four functions; it knows nothing of windows, rows or keys.

    init()  ->  incr(state, value)  …  ->  merge(state, state)  ->  final(state)

Folding a list gives what merging the folds of its parts gives, however it is parted: that is what
lets panes stand for rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Fold(Generic[State]):
    """An aggregate function as init, incr, merge and final.

    Args:
        name: its name in SQL.
        init: the state before any value.
        incr: the state with one more value; None is a missing value.
        merge: the state of two parts together.
        final: the answer.

    >>> longest = Fold("longest", int, lambda n, s: max(n, len(s)), max, lambda n: n)
    >>> longest.of(["pen", "stock"])
    5

    Tatbul and Zdonik, VLDB 2006, §2.2 (init, incr, final); merge is what panes need.
    """

    name: str
    init: Callable[[], State]
    incr: Callable[[State, Any], State]
    merge: Callable[[State, State], State]
    final: Callable[[State], Any]

    def partial(self, values: Iterable[Any]) -> State:
        """The state after the values, in their order."""
        state = self.init()
        for value in values:
            state = self.incr(state, value)
        return state

    def of(self, values: Iterable[Any]) -> Any:  # noqa: ANN401 - as wide as the values of a column
        """The answer for the values, in their order."""
        return self.final(self.partial(values))

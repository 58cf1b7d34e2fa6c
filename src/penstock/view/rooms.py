"""Which part of a picture gets how many lines: those first without which it says nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

_FIXED = 5  # the head, three lines of numbers, the line above the plot
_WISHES = (
    ("queries", 4),
    ("drops", 1),
    ("queries", 99),
    ("plot", 3),
    ("drops", 3),
    ("reason", 2),
    ("gaps", 3),
    ("plot", 5),
    ("drops", 99),
    ("answers", 99),
    ("plot", 9),
)


@dataclass(frozen=True, slots=True)
class Rooms:
    """Lines of each part.

    Args:
        plot: of the plot of response times.
        drops: of the drops that are in force.
        queries: of the table of queries, its head left out.
        reason: of the last decision.
        problems: of what went wrong.
        gaps: that stay empty between parts.
        answers: of the latest answers, their head left out.
    """

    plot: int = 2
    drops: int = 0
    queries: int = 1
    reason: int = 1
    problems: int = 0
    gaps: int = 0
    answers: int = 0


def rooms(height: int, *, drops: int, queries: int, problems: int, answers: int) -> Rooms:
    """The lines of each part, as many as there is room for.

    Args:
        height: of the whole picture.
        drops: that are in force.
        queries: of the network.
        problems: to be shown.
        answers: lines of answers that there are.

    >>> rooms(23, drops=2, queries=7, problems=0, answers=40)
    Rooms(plot=3, drops=2, queries=7, reason=2, problems=0, gaps=3, answers=0)
    """
    found = Rooms(problems=min(problems, 2))
    most = {"drops": max(1, drops), "queries": queries, "answers": answers}
    left = height - _FIXED - 1 - found.plot - found.queries - found.reason - found.problems
    for part, wish in _WISHES:
        has = getattr(found, part)
        give = min(wish, most.get(part, wish)) - has
        if part == "answers" and has == 0 and give > 0:
            left -= 2  # its head, and a line before it
        give = max(0, min(left, give))
        left -= give
        found = replace(found, **{part: has + give})
    return found

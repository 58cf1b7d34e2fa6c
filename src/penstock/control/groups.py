"""The values of a query in the recent past, in all and by group, in bounded memory.

The error of a sampled answer is the greatest for its hardest group, so that is the one to plan for.
Where there are more groups than may be kept, the easiest ones go: they come again with the next
batch, and none of them will be the worst. A group that has not been seen for long has faded away.
"""

from __future__ import annotations

import heapq

from penstock.control.fading import share
from penstock.control.moments import NOTHING, Answers, Group, Moments

_GONE = 0.05  # of a window: faded for more than four half-lives since it was seen


class Groups:
    """Moments of a query's windows, in which older ones count less.

    Args:
        half_life: after that many batches with answers, an answer counts half.
        limit: how many groups are kept at most.
    """

    def __init__(self, half_life: float, limit: int) -> None:
        self._share = share(half_life)
        self._limit = limit
        self.overall: Moments = NOTHING
        self.groups: dict[Group, Moments] = {}
        self.number = 0
        """How many groups there were before the easiest had to go."""

    def add(self, answers: Answers) -> None:
        """The windows that a batch has answered."""
        self.overall = self.overall.faded(self._share) + answers.overall
        faded = {group: known.faded(self._share) for group, known in self.groups.items()}
        for group, moments in answers.groups.items():
            faded[group] = faded.get(group, NOTHING) + moments
        kept = {group: known for group, known in faded.items() if known.windows > _GONE}
        self.number = len(kept)
        if len(kept) > self._limit:
            kept = dict(
                heapq.nlargest(self._limit, kept.items(), key=lambda each: each[1].hardness)
            )
        self.groups = kept

    @property
    def worst(self) -> tuple[Group, Moments] | None:
        """The group whose answers suffer the most from sampling; None without groups."""
        return max(self.groups.items(), key=lambda each: each[1].hardness, default=None)

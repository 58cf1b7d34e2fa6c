"""What a batch is told of windows that are dropped for some groups only.

    row      its time ─► seed, threshold ─► dropped if hash(group, seed) < threshold
    answer   the end of its window ─► seed, threshold ─► the same

A seed stands for a query and a batch of its windows, so both find the same groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from penstock.drops.arrays_per_group import Thresholds, early_per_group, suppressed_per_group
from penstock.drops.decisions import Decisions
from penstock.drops.targets import Target

NO_GROUPS = Thresholds(0, 1, (), ())


@dataclass(frozen=True, slots=True)
class GroupOrder:
    """Which groups of a query lose rows, and which lose answers.

    Args:
        query: its name; groups of different queries are dropped apart from each other.
        panes: whose rows are dropped, by their time.
        ends: whose answers are not delivered, by the ends of their windows.
    """

    query: str
    panes: Thresholds = NO_GROUPS
    ends: Thresholds = NO_GROUPS

    @property
    def drops(self) -> bool:
        """Whether there may be rows that do not stay."""
        return any(self.panes.thresholds)

    def harmless(self) -> GroupOrder:
        """The same without any drop; what was dropped before stays suppressed."""
        return replace(self, panes=NO_GROUPS)

    def seed(self, batch: int) -> int:
        """What groups are hashed with, for a batch of windows.

        >>> one, other = GroupOrder("a"), GroupOrder("b")
        >>> one.seed(1) == one.seed(1), one.seed(1) == one.seed(2), one.seed(1) == other.seed(1)
        (True, False, False)
        """
        digest = blake2b(f"{batch}\n{self.query}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def values(self) -> list[Any]:
        """Plain values, as JSON has them."""
        return [self.query, _values(self.panes), _values(self.ends)]

    @classmethod
    def of(cls, values: Sequence[Any]) -> GroupOrder:
        """What `values` gave."""
        query, panes, ends = values
        return cls(str(query), _thresholds(panes), _thresholds(ends))


def group_order(target: Target, wanted: Decisions, decided: Decisions) -> GroupOrder:
    """The order for a query that is dropped per group.

    Args:
        target: the query.
        wanted: by which rows are dropped, or counted as if.
        decided: by which answers are not delivered.
    """
    panes, ends = early_per_group(wanted, target), suppressed_per_group(decided, target)
    return GroupOrder(target.name, panes, ends)


def _values(found: Thresholds) -> list[Any]:
    return [found.base, found.step, list(found.batches), list(found.thresholds)]


def _thresholds(values: Sequence[Any]) -> Thresholds:
    base, step, batches, thresholds = values
    return Thresholds(int(base), int(step), tuple(map(int, batches)), tuple(map(int, thresholds)))

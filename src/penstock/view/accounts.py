"""Whether every row of a query is accounted for."""

from __future__ import annotations

from collections.abc import Mapping

FATES = ("shed_at_stream", "shed_on_the_way", "taken")
"""What becomes of a row, exactly one of these."""


def balanced(account: Mapping[str, int]) -> bool | None:
    """Whether the rows that came in are those that have a fate; None if not all was counted.

    >>> balanced({"rows_in": 9, "shed_at_stream": 4, "shed_on_the_way": 1, "taken": 4})
    True
    """
    if not account.keys() >= {"rows_in", *FATES}:
        return None
    return account["rows_in"] == sum(account[fate] for fate in FATES)

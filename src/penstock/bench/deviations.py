"""How far answers are off: one relative error for each query and window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Groups = Mapping[Any, float]
"""Group → answer; a query without groups has one."""
Windows = Mapping[Any, Groups]
"""End of a window → its answers."""


def relative_error(exact: Groups, got: Groups) -> float:
    """Σ|error| / Σ|exact answer| over the groups of a window; one that is missing counts as 0.

    Args:
        exact: the answers without any drop; not all of them 0.
        got: the answers of a sample.

    >>> relative_error({"tcp": 90.0, "udp": 10.0}, {"tcp": 99.0})
    0.19
    """
    off = sum(abs(got.get(group, 0.0) - exact.get(group, 0.0)) for group in {*exact, *got})
    return off / sum(map(abs, exact.values()))


def relative_errors(exact: Windows, got: Windows) -> list[float]:
    """The error of each window; one that is missing lacks all its groups.

    Args:
        exact: those that are compared.
        got: those of a sample, and perhaps others.
    """
    return [relative_error(groups, got.get(window, {})) for window, groups in exact.items()]

"""The four phases of shedding on many nodes (§4), as they are seen in a log.

    planned ──► overloaded ──► chosen ──► in force ──► lifted
                    ▲            ▲  │         │           │
                    │            └──┴─────────┘           │       other rates, another plan
                    └─────────────────────────────────────┘

A machine without a clock or a network: it is told what was seen, and says what is to be done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from penstock.nodes.lookup import Choice

Phase = Literal["planned", "overloaded", "chosen", "in force", "lifted"]
_LOG = logging.getLogger(__name__)
_SAME = 0.01


class Phases:
    """Where a network of nodes is.

    Args:
        select: the plan for some rates, None if no node is overloaded; such as `Plans.select`.
        nodes: names of those that must put a plan in force.
        error: ε of the plans, for the log.
        log: takes a line; None for the log of this module.
    """

    def __init__(
        self,
        select: Callable[[Mapping[str, float]], Choice | None],
        nodes: Sequence[str],
        error: float,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self._select, self._nodes = select, tuple(nodes)
        self._log = log or _LOG.info
        self._waiting: set[str] = set()
        self.choice: Choice | None = None
        self.phase: Phase
        self._enter("planned", f"plans are at most {error:.1%} below the best score")

    def observe(self, rates: Mapping[str, float]) -> Choice | None:
        """The plan that nodes are to be told of now; None if they have it already, or need none.

        Args:
            rates: of the inputs, as measured, in rows per second.
        """
        choice = self._select(rates)
        if choice is None:
            if self.choice is not None:
                self.choice = None
                self._waiting.clear()
                self._enter("lifted", "no node is overloaded any more, all drops are removed")
            return None
        if self.choice is None:
            shown = ", ".join(f"{name} {rate:,.4g} rows/s" for name, rate in rates.items())
            self._enter("overloaded", shown)
        elif not _differs(self.choice, choice):
            return None
        self.choice = choice
        self._waiting = set(self._nodes)
        scaled = ", ".join(f"{name} {share:.3g}" for name, share in choice.scaling.items())
        self._enter("chosen", f"plan {choice.id}, inputs scaled by {scaled}")
        return choice

    def applied(self, node: str, plan: str) -> None:
        """A node has put a plan in force.

        Args:
            node: its name.
            plan: the id of the plan.
        """
        if self.choice is None or plan != self.choice.id or node not in self._waiting:
            return  # it speaks of a plan that is past
        self._waiting.discard(node)
        if not self._waiting:
            self._enter("in force", f"plan {plan} on {', '.join(self._nodes)}")

    def _enter(self, phase: Phase, why: str) -> None:
        self.phase = phase
        self._log(f"{phase}: {why}")


def _differs(one: Choice, other: Choice) -> bool:
    """Whether nodes must be told: rates never stand quite still."""
    return one.id != other.id or any(
        abs(share - one.scaling[name]) > _SAME * one.scaling[name]
        for name, share in other.scaling.items()
    )

"""A node with plans that were made before it began (Solver): it looks them up, and asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.control.snapshot import Snapshot
from penstock.errors import UsageError, complaint
from penstock.fleet.member import Alone
from penstock.nodes.lookup import Plans
from penstock.nodes.model import Network
from penstock.nodes.phases import Phases
from penstock.nodes.splits import Location


class Prepared(Alone):
    """A node that waits for nobody.

    Inputs that enter elsewhere bring what the file says.

    Args:
        network: as the file says it is.
        node: its name.
        plans: for all rates.
        log: takes a line for each phase.
    """

    def __init__(
        self, network: Network, node: str, plans: Plans, log: Callable[[str], None]
    ) -> None:
        known = {name for part in plans.parts for name in part.inputs}
        if known != set(network.input):
            rule = f"must be plans for the inputs {', '.join(sorted(network.input))}"
            raise UsageError(complaint("--plans", rule, ", ".join(sorted(known))))
        self._plans, self._node, self._rates = plans, node, dict(network.rates)
        boxes = [box for box in network.boxes if box.node == node]
        self._mine = {name for box in boxes for name in box.inputs if name in network.input}
        self.phases = Phases(plans.select, [node], plans.error, log)
        self.keeps: Mapping[Location, float] = {}

    def tick(self, seen: Snapshot | None) -> list[bytes]:
        """Looks the plan up for what is measured now; nothing is to be sent.

        Args:
            seen: what the node has measured; None if nothing yet.
        """
        streams = seen.streams if seen is not None else {}
        rates = {n: s.rate for n, s in streams.items() if n in self._mine and s.rate is not None}
        if set(rates) != self._mine:
            return []  # before it is known how many rows come nothing is dropped
        choice = self.phases.observe({**self._rates, **rates})
        if choice is not None:
            self.keeps = self._plans.keeps(choice)
            self.phases.applied(self._node, choice.id)
        elif self.phases.choice is None:
            self.keeps = {}
        return []

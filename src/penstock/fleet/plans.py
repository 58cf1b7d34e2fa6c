"""Plans by id and scaling: what the coordinator hands out, and what a node makes of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import RecordDamaged, complaint
from penstock.nodes.lookup import Choice
from penstock.nodes.model import Network
from penstock.nodes.optimum import Planner
from penstock.nodes.splits import Location

NONE = ""
"""The id of the plan that drops nothing."""

_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Handed:
    """A plan as it is handed out.

    Args:
        id: of the plan; the same as long as inputs are kept in the same proportions.
        scaling: the share of each input that is let in before the plan applies.
        keeps: the share that is kept at each drop location, scaling included.
    """

    id: str
    scaling: Mapping[str, float]
    keeps: Mapping[Location, float]

    def body(self) -> dict[str, Any]:
        """Plain values."""
        keeps = [[one.after, list(one.before), share] for one, share in self.keeps.items()]
        return {"id": self.id, "scaling": dict(self.scaling), "keeps": keeps}

    @staticmethod
    def of(body: Mapping[str, Any]) -> Handed:
        """What `body` gave; `RecordDamaged` if it cannot be.

        Args:
            body: of a message.
        """
        try:
            scaling = {str(name): _share(share) for name, share in body["scaling"].items()}
            keeps = {
                Location(str(after), tuple(map(str, before))): _share(share)
                for after, before, share in body["keeps"]
            }
            return Handed(str(body["id"]), scaling, keeps)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise RecordDamaged(complaint("a plan", "must be whole", dict(body))) from error


NOTHING = Handed(NONE, {}, {})


class Solving:
    """Plans that are solved while the system runs: the exact optimum at each moment.

    Args:
        network: as it was believed to be when it was last learnt of.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._planner = Planner(network)
        self.found: Handed = NOTHING

    def select(self, rates: Mapping[str, float]) -> Choice | None:
        """The plan for some rates; None if no node is overloaded.

        Args:
            rates: of the inputs, in rows per second.
        """
        plan = self._planner.plan(rates)
        if not plan.sheds:
            self.found = NOTHING
            return None
        program = self._planner.program
        keeps = {one: plan.keeps.get(one, 1.0) for one in program.locations}
        scaling = dict.fromkeys(program.entering, 0.0)
        for location, stream in zip(program.locations, program.entry, strict=True):
            if stream >= 0:
                name = program.entering[stream]
                scaling[name] = max(scaling[name], keeps[location])
        self.found = Handed(_id(keeps, scaling), scaling, keeps)
        return Choice(self.found.id, scaling)


def _id(keeps: Mapping[Location, float], scaling: Mapping[str, float]) -> str:
    """The same for plans in which all inputs are kept in the same proportions."""
    most = max(scaling.values(), default=0.0) or 1.0
    shares = [[str(one), round(share / most, _DIGITS)] for one, share in sorted(keeps.items())]
    return hashlib.sha256(json.dumps(shares).encode()).hexdigest()[:8]


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(value)
    return float(value)

"""The plan that a node had when it ended: it begins with it when it comes back."""

from __future__ import annotations

from penstock.drops.sealed import seal, unseal
from penstock.engine.files import Folder
from penstock.errors import RecordDamaged
from penstock.fleet.plans import NOTHING, Handed

_FOLDER, _NAME, _KIND, _VERSION = "fleet", "plan", "plan of nodes", 1


class LastPlan:
    """In a checkpoint.

    Args:
        checkpoint: of the node.
    """

    def __init__(self, checkpoint: str) -> None:
        self._folder = Folder(checkpoint, _FOLDER)
        self._kept = NOTHING

    def last(self) -> Handed:
        """The last plan; one that drops nothing if there is none."""
        try:
            self._kept = Handed.of(unseal(_KIND, _VERSION, self._folder.read(_NAME)))
        except (RecordDamaged, OSError):
            self._kept = NOTHING
        return self._kept

    def keep(self, plan: Handed) -> None:
        """Writes a plan down, if it is another one.

        Args:
            plan: that is in force.
        """
        if plan is not self._kept:
            self._folder.write(_NAME, seal(_KIND, _VERSION, plan.body()).encode())
            self._kept = plan

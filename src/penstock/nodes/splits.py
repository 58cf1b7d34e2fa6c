"""Where a drop can stand: where streams enter, and behind each split.

    left ─x1─► a ─┬─x2─► b ─► out 1          x1 and x2, x3: dropping behind the split
                  └─x3─► c ─► out 2          spares one output and not the other

Branches that merge again downstream are no split: what is dropped is dropped for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.nodes.model import Network


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place for a drop.

    Args:
        after: the input or box whose rows pass.
        before: the boxes and outputs that they go to; several if these merge again.
    """

    after: str
    before: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.after} ─► {', '.join(self.before)}"


@dataclass(frozen=True)
class Splits:
    """The branches of each input and box of a network.

    Args:
        network: the network.
    """

    network: Network

    @cached_property
    def consumers(self) -> Mapping[str, tuple[str, ...]]:
        """What each input and box feeds: boxes by name, outputs as `→ name`."""
        found: dict[str, list[str]] = {
            name: [] for name in (*self.network.input, *self.network.box)
        }
        for box in self.network.boxes:
            for name in dict.fromkeys(box.inputs):
                found[name].append(box.name)
        for output in self.network.outputs:
            found[output.after].append(leaves(output.name))
        return {name: tuple(those) for name, those in found.items()}

    @cached_property
    def reached(self) -> Mapping[str, int]:
        """For each box the boxes downstream of it and itself, as bits in the order of the boxes."""
        bits = {box.name: 1 << place for place, box in enumerate(self.network.boxes)}
        reached: dict[str, int] = {}
        for box in reversed(self.network.ordered):
            reached[box.name] = bits[box.name]
            for name in self.consumers[box.name]:
                reached[box.name] |= reached.get(name, 0)
        return reached

    @cached_property
    def branches(self) -> Mapping[str, tuple[tuple[str, ...], ...]]:
        """For each input and box what it feeds, in groups that never meet again."""
        return {name: self._groups(those) for name, those in self.consumers.items()}

    def _groups(self, those: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        if len(those) <= 1:
            return (those,) if those else ()
        groups: list[tuple[int, tuple[str, ...]]] = []
        for name in those:
            reach, apart = self.reached.get(name, 0), []
            together: tuple[str, ...] = (name,)
            for other, names in groups:
                if reach & other:
                    reach, together = reach | other, (*names, *together)
                else:
                    apart.append((other, names))
            groups = [*apart, (reach, together)]
        return tuple(names for _, names in groups)


def leaves(output: str) -> str:
    """How an output is named among boxes, which may have the same name."""
    return f"→ {output}"

"""Which messages a site listens to; what it ignores it reports."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.nodes.fit.contents import Changes, read
from penstock.nodes.fit.messages import DamagedMessage, Kind, Message
from penstock.nodes.fit.spacing import Profile, Spacing
from penstock.nodes.fit.tree import Site

_DOWNSTREAM: tuple[Kind, ...] = ("spacing", "again")


@dataclass
class Hearing:
    """What was heard of each neighbour.

    Args:
        reports: what was ignored, and why.
    """

    reports: list[str] = field(default_factory=list)
    _versions: dict[tuple[str, Kind], int] = field(default_factory=dict)

    def hear(
        self, data: bytes, site: Site
    ) -> tuple[Message, Profile | Spacing | Changes | None] | None:
        """A message and what it says; None if it is to be ignored.

        Args:
            data: as it arrived.
            site: that listens.
        """
        try:
            message = Message.decode(data)
            why = self._unwelcome(message, site)
            known = None if why else read(message)
            why = why or _of_others(known, site)
        except DamagedMessage as error:
            self._ignored(site, "a damaged message", str(error))
            return None
        except (TypeError, ValueError, ArithmeticError) as error:
            self._ignored(site, "a message that it cannot read", str(error))
            return None
        if why:
            what = f"{message.kind} {message.version} from {message.sender!r}"
            self._ignored(site, why, what)
            return None
        self._versions[message.sender, message.kind] = message.version
        return message, known

    def _unwelcome(self, message: Message, site: Site) -> str:
        """Why a message is none from a neighbour that is newer than all before it."""
        neighbours = (site.parent,) if message.kind in _DOWNSTREAM else site.children
        if message.sender not in neighbours or message.receiver != site.name:
            return "an unknown message"
        if message.version <= self._versions.get((message.sender, message.kind), 0):
            return "a stale message"
        return ""

    def _ignored(self, site: Site, what: str, why: str) -> None:
        self.reports.append(f"{site.name} ignored {what}: {why}")


def _of_others(known: Profile | Spacing | Changes | None, site: Site) -> str:
    """Why what was said is about other streams than those between the two.

    So it is while a box moves, and one of them does not know of it yet.
    """
    match known:
        case Profile(worth=worth) if not set(worth) <= set(site.program.targets):
            return "a message about streams that it does not hand on"
        case Spacing(most=most) if set(most) != set(site.program.entering):
            return "a message about streams that do not enter it"
    return ""

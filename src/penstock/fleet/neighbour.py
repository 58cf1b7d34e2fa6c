"""A node among peers: its table of feasible inputs goes to the node upstream of it (D-FIT)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.control.snapshot import Snapshot
from penstock.errors import SpecificationError, complaint
from penstock.fleet.member import EVERY
from penstock.fleet.messages import Mailbox, Message
from penstock.fleet.plans import NOTHING, Handed
from penstock.nodes.fit.peers import Peer
from penstock.nodes.fit.sites import Entry
from penstock.nodes.fit.tree import Site, Tree
from penstock.nodes.fragments import fragments
from penstock.nodes.learnt import learnt
from penstock.nodes.model import Network
from penstock.nodes.splits import Location

ERROR, DIFFERENCE = 0.05, 0.02
"""ε of the tables, and by how much a parent may be wrong about a score of its child."""

_MOVED = 0.1
"""A cost that has changed by less than this share leaves the table as it is."""

_KEPT = 0.02
"""Shares that differ by less are not written down anew: rates never stand quite still."""

_AGAIN = 10.0
"""Seconds after which one that has no table yet asks for what it may have missed."""


class Neighbour:
    """A node that plans with its neighbours.

    Args:
        network: as the file says it is.
        node: its name.
        mailbox: of the node.
        period: seconds that a batch of a node may take.
        clock: seconds since the epoch.
        log: takes a line for each phase that the node sees.
        last: the plan that it had when it ended, to begin with: its neighbours may be away.
    """

    def __init__(
        self,
        network: Network,
        node: str,
        mailbox: Mailbox,
        *,
        period: float,
        clock: Callable[[], float],
        log: Callable[[str], None],
        last: Handed = NOTHING,
    ) -> None:
        self._network, self._node, self._mailbox = network, node, mailbox
        self._period, self._clock, self._log = period, clock, log
        self._fragment = next(
            one for one in fragments(network) if node in [n.name for n in one.nodes]
        )
        self._believed = self._fragment
        version = int(clock() * 1000)
        site = self._site(self._fragment)
        self.peer = Peer(site, ERROR, network.most, DIFFERENCE, version)
        self.plan, self.keeps = last, last.keeps
        self._looked = self._asked = float("-inf")
        self._told, self._reported = False, 0

    @property
    def planned(self) -> bool:
        """Whether there is a table."""
        return self.peer.table is not None

    def _site(self, network: Network) -> Site:
        sites = Tree(network).sites
        site = next(one for one in sites.values() if self._node in one.nodes)
        if site.nodes != (self._node,):
            rule = "must stand as a tree, for peers to plan apart"
            hint = 'use mode = "coordinator"'
            raise SpecificationError(complaint("nodes", rule, " and ".join(site.nodes), hint))
        return site

    def start(self) -> list[bytes]:
        """Introduces itself, or asks what children know."""
        self._asked = self._clock()
        # A former life may have had a faster clock: what is said now is newer.
        self.peer.version = max(self.peer.version, self._mailbox.number)
        return self._wrapped(self.peer.start())

    def hear(self, message: Message) -> list[bytes]:
        """What neighbours are to be told because of a message.

        Args:
            message: any.
        """
        if message.kind != "peer" or message.body.get("to") != self.peer.site.name:
            return []
        return self._wrapped(self.peer.receive(str(message.body.get("text", "")).encode()))

    def tick(self, seen: Snapshot | None) -> list[bytes]:
        """Plans for what is measured now; tells neighbours if costs are others than before.

        Args:
            seen: what the node has measured; None if nothing yet.
        """
        now = self._clock()
        if seen is None or now - self._looked < EVERY:
            return []
        self._looked = now
        said: list[bytes] = []
        believed = learnt(self._fragment, {self._node: seen}, self._period)
        if self._moved(believed):
            self._believed = believed
            said += self.peer.change(self._site(believed))
        if self.peer.table is None and now - self._asked > _AGAIN:
            self._asked = now
            said += self.peer.start()
        if self.planned and not self._told:
            self._told = True
            self._log(f"planned: plans are at most {ERROR:.1%} below the best score")
        self._plan(seen)
        return self._wrapped(said)

    def _plan(self, seen: Snapshot) -> None:
        entering = self.peer.site.program.entering
        rates = {n: s.rate for n, s in seen.streams.items() if n in entering and s.rate is not None}
        if set(rates) != set(entering) or self.peer.table is None:
            return  # the last plan stays
        entry = self.peer.choose(rates)
        keeps = {} if entry is None else entry.keeps
        if bool(keeps) != bool(self.keeps):
            shown = ", ".join(f"{name} {rate:,.4g} rows/s" for name, rate in rates.items())
            self._log(f"overloaded: {shown}" if keeps else "lifted: no node is overloaded any more")
        if entry is not None and _differ(keeps, self.keeps):
            scaled = ", ".join(f"{name} {share:.3g}" for name, share in entry.scaling.items())
            plan = f"plan {entry.id}" if entry.id else "what is worth nothing goes"
            shares = ", ".join(f"{place} {share:.3g}" for place, share in keeps.items())
            self._log(f"chosen: {plan}, inputs scaled by {scaled}")
            self._log(f"in force: {plan}, from the next batch on: {shares}")
        self.keeps = keeps
        if bool(keeps) != bool(self.plan.keeps) or _differ(keeps, self.plan.keeps, _KEPT):
            self.plan = _handed(entry)

    def _moved(self, believed: Network) -> bool:
        nodes = zip(believed.nodes, self._believed.nodes, strict=True)
        boxes = zip(believed.boxes, self._believed.boxes, strict=True)
        pairs = [(one.capacity, other.capacity) for one, other in nodes]
        for one, other in boxes:
            pairs += [(one.cost, other.cost), (one.selectivity, other.selectivity)]
        return any(abs(now - before) > _MOVED * before for now, before in pairs)

    def _wrapped(self, said: list[bytes]) -> list[bytes]:
        from penstock.nodes.fit.messages import Message as Inner  # noqa: PLC0415 - same name

        for line in self.peer.reports[self._reported :]:
            self._mailbox.report("what a peer said", line)
        self._reported = len(self.peer.reports)
        # Who comes back hears of the outer numbers: they must be no lower than the inner ones.
        self._mailbox.beyond(self.peer.version)
        return [
            self._mailbox.write("peer", {"to": Inner.decode(one).receiver, "text": one.decode()})
            for one in said
        ]


def _differ(
    one: Mapping[Location, float], other: Mapping[Location, float], by: float = _MOVED
) -> bool:
    return any(abs(share - other.get(place, 1.0)) > by for place, share in one.items())


def _handed(entry: Entry | None) -> Handed:
    """What is in force, as it is kept; shares may be off by a rounding error."""
    if entry is None:
        return NOTHING
    keeps = {place: min(1.0, max(0.0, share)) for place, share in entry.keeps.items()}
    scaling = {name: min(1.0, max(0.0, share)) for name, share in entry.scaling.items()}
    return Handed(entry.id, scaling, keeps)

"""D-FIT: each site makes its own table, and tells only its neighbours (§6, §8.2.5).

    child ── profile ──► parent        what it brings, and where it is full
    child ◄── spacing ── parent        how far apart entries may stand
    child ──── table ──► parent        entries; after a change only those that are needed

A peer does nothing but turn the bytes that it receives into bytes to send. What it cannot use it
ignores and reports; it then goes on with what it knew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from penstock.errors import UsageError
from penstock.nodes.fit.contents import Changes
from penstock.nodes.fit.delta import Delta, Told, delta
from penstock.nodes.fit.hearing import Hearing
from penstock.nodes.fit.leaf import leaf_grid, leaf_table, regrid
from penstock.nodes.fit.messages import Kind, Message
from penstock.nodes.fit.quadtree import PointQuadtree
from penstock.nodes.fit.sites import Entry, chosen_entry, root_table, site_table, streams_of
from penstock.nodes.fit.spacing import Profile, Spacing, child_spacing, profile, root_spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.tree import Site
from penstock.nodes.program import Program, Vector
from penstock.nodes.splits import Location


@dataclass
class Peer:
    """One site.

    Args:
        site: what it knows of the network: its own part.
        error: ε, the share of the best score that a plan may lose.
        most: of the root, the largest rate of each input, in rows per second.
        difference: the share by which what its parent believes of a score may be off.
        version: of its last message. A peer that comes back from the dead begins above all that it
            may have sent before, such as with the time in milliseconds.
        deltas: what was told to the parent, the newest last.
    """

    site: Site
    error: float
    most: Mapping[str, float] = field(default_factory=dict)
    difference: float = 0.0
    version: int = 0
    deltas: list[Delta] = field(default_factory=list)
    table: Table | None = None
    _hearing: Hearing = field(default_factory=Hearing)
    _profile: Profile | None = None
    _profiles: dict[str, Profile] = field(default_factory=dict)
    _below: dict[str, Told] = field(default_factory=dict)
    _told: Told = field(default_factory=Told)
    _told_version: int = 0
    _versions: dict[str, int] = field(default_factory=dict)
    _spacing: Spacing | None = None
    _bounds: dict[str, Mapping[str, float]] = field(default_factory=dict)
    _index: PointQuadtree | None = None
    _grid: list[Vector] | None = None

    @property
    def reports(self) -> list[str]:
        """What was ignored, and why."""
        return self._hearing.reports

    def start(self) -> list[bytes]:
        """The first messages: a leaf tells its profile, others ask what their children know."""
        asked = [self._message("again", child, {}) for child in self.site.children]
        return [*asked, *self._introduced()]

    def receive(self, data: bytes) -> list[bytes]:
        """What is to be sent because of a message.

        Args:
            data: as it arrived.
        """
        heard = self._hearing.hear(data, self.site)
        if heard is None:
            return []
        message, known = heard
        match known:
            case Profile():
                before = self._profiles.get(message.sender, known)
                if tuple(before.worth) != tuple(known.worth):
                    self._below.pop(message.sender, None)  # its entries are of other streams
                self._profiles[message.sender] = known
                # A child that introduces itself may have lost what it was told.
                self._bounds.pop(message.sender, None)
                told = self._introduced()
                return [*told, *(self._spaced() if self._spacing is not None else [])]
            case Spacing():
                if self._spacing is None or not self._spacing.serves(known):
                    self._grid, self._bounds = None, {}
                self._spacing = known
                return [*self._spaced(), *self._made()]
            case Changes():
                return self._learnt(message, known)
        # The parent has lost what it was told.
        self._told, self._profile = Told(), None
        return [*self._introduced(), *self._tell()]

    def change(self, site: Site) -> list[bytes]:
        """What is to be sent because costs, selectivities or boxes of the site are others now.

        Entries stay where they were, so that few need be sent again. What plans may lose grows by
        the share by which the reference of the spacing has fallen; if that is more than a quarter
        the root spaces anew.

        Args:
            site: as it is now. If it has other neighbours or streams than before, such as when a
                box moves from one to the other, all that is about them begins anew.
        """
        before, self.site = self.site, site
        here, other = (_ends(one) for one in (before, site))
        if here != other:
            return self._anew(entering=here[0] != other[0], leaving=here[1] != other[1])
        wider = self._spaced() if self._spacing is not None else []
        return [*self._introduced(), *wider, *self._made()]

    def _anew(self, *, entering: bool, leaving: bool) -> list[bytes]:
        """Forgets what was said about streams that are others now, and begins with these."""
        self.table = self._index = self._profile = self._grid = None
        if entering:
            self._told = Told()
        # The root spaces by what all below it have told; the others are told how to.
        if entering or self.site.parent is None:
            self._spacing = None
        if leaving:
            for known in (self._profiles, self._below, self._versions, self._bounds):
                known.clear()
            return self.start()
        return [*self._introduced(), *self._made()]

    def plan(self, rates: Mapping[str, float], slack: float = 0.01) -> dict[Location, float]:
        """What the site keeps at each of its drop locations, as `choose` says."""
        found = self.choose(rates, slack)
        return {} if found is None else dict(found.keeps)

    def choose(self, rates: Mapping[str, float], slack: float = 0.01) -> Entry | None:
        """The entry of the table that the site goes by; None if nothing is overloaded.

        Args:
            rates: of the streams that enter the site, and no others, as measured, in rows per
                second.
            slack: the share by which rates may be measured too low: a parent hands on the rates of
                an entry, and the entry below it would drop needlessly.
        """
        if self.table is None or self._profile is None or not self._profile.overloaded(rates):
            return None
        worth = self._profile.worth
        needed = {name: rate if worth[name] > 0 else 0.0 for name, rate in rates.items()}
        if not self._profile.overloaded(needed):
            streams, program = self.site.program.entering, self.site.program
            keeps = {
                location: float(stream < 0 or worth[streams[stream]] > 0)
                for location, stream in zip(program.locations, program.entry, strict=True)
            }
            return Entry("", {name: float(worth[name] > 0) for name in rates}, keeps)
        if self._index is None:
            self._index = PointQuadtree(self.table.rates, self.table.scores)
        return chosen_entry(self.site.program, self.table, self._index, rates, slack)

    def _introduced(self) -> list[bytes]:
        """The profile, as soon as those of all children are known, if it is not as it was."""
        if len(self._profiles) < len(self.site.children):
            return []
        before = self._profile
        self._profile = profile(self.site.program, streams_of(self.site, self._profiles))
        if self.site.parent is not None:
            if self._profile == before:
                return []
            return [self._message("profile", self.site.parent, asdict(self._profile))]
        spacing = root_spacing(self._profile, self.most, self.error)
        if self._spacing is None or not self._spacing.serves(spacing):
            self._spacing, self._grid, self._bounds = spacing, None, {}
        return [*self._spaced(), *self._made()]

    def _spaced(self) -> list[bytes]:
        """How children are to space, where they have not been told, or more can arrive now."""
        assert self._spacing is not None  # noqa: S101 - it has been told
        sent = []
        for child in self.site.children:
            if child not in self._profiles:
                continue  # it is told as soon as it has introduced itself
            streams = tuple(self._profiles[child].worth)
            spacing = child_spacing(self._spacing, self.site.program, streams)
            before = self._bounds.get(child)
            if before is None or any(spacing.most[n] > before.get(n, 0.0) for n in streams):
                self._bounds[child] = spacing.most
                sent.append(self._message("spacing", child, asdict(spacing)))
        return sent

    def _learnt(self, message: Message, changes: Changes) -> list[bytes]:
        """Entries of a child: all of them, or changes to those it told last."""
        held, base = self._below.get(message.sender), changes.base
        told = self._profiles.get(message.sender)
        if told is None or any(len(rates) != len(told.worth) for _, rates, _ in changes.added):
            self._ignored(f"a table of {message.sender!r} with other streams than it has told of")
            return []
        if base is None:
            held = Told()
        elif held is None or base != self._versions.get(message.sender):
            self._ignored(f"changes to table {base} of {message.sender!r}, which it does not have")
            return [self._message("again", message.sender, {})]
        if not held.knows(changes.removed):
            self._ignored(f"changes of {message.sender!r} to entries which it does not have")
            return [self._message("again", message.sender, {})]
        held.take(changes.removed, changes.added)
        self._below[message.sender] = held
        self._versions[message.sender] = message.version
        return self._made()

    def _made(self) -> list[bytes]:
        """The table anew, as soon as all that it depends on is known."""
        spacing, program = self._spacing, self.site.program
        self._index = None
        if spacing is None or len(self._below) < len(self.site.children):
            return []
        try:
            return self._table(spacing, program)
        except (UsageError, ArithmeticError) as error:
            # Too large, or of numbers that nobody can mean. What is there is of another site.
            self.table = None
            self._ignored(f"a table that cannot be made: {error}")
            return []

    def _table(self, spacing: Spacing, program: Program) -> list[bytes]:
        if not self.site.children:
            grid = leaf_grid(program, spacing)
            self._grid = grid if self._grid is None else regrid(self._grid, grid)
            self.table = leaf_table(program, self._grid)
        else:
            tables = {
                name: self._below[name].table(tuple(self._profiles[name].worth))
                for name in self.site.children
            }
            self.table = site_table(self.site, spacing, tables)
        if self.site.parent is None and self._profile is not None:
            now = root_spacing(self._profile, self.most, self.error)
            loses = self.error * spacing.reference / now.reference if now.reference else self.error
            loses = min(1.0, max(self.error, loses) + 2 * self.difference)
            self.table = root_table(self.table, self._profile, loses, self.site)
            return []
        return self._tell()

    def _tell(self) -> list[bytes]:
        if self.table is None or self.site.parent is None:
            return []
        first = not self._told.rates
        change = delta(self._told, self.table, self.difference)
        if not first and not change.added and not change.removed:
            return []
        self.deltas.append(change)
        self._told.take(change.removed, change.added)
        base = None if first else self._told_version
        body = Changes(base, change.removed, change.added)
        message = self._message("table", self.site.parent, asdict(body))
        self._told_version = self.version
        return [message]

    def _ignored(self, what: str) -> None:
        self.reports.append(f"{self.site.name} ignored {what}")

    def _message(self, kind: Kind, receiver: str, body: Mapping[str, object]) -> bytes:
        self.version += 1
        return Message(kind, self.site.name, receiver, self.version, body).encode()


def _ends(site: Site) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """What enters a site and whence, what leaves it and where to."""
    return (site.parent, *site.program.entering), (site.children, *site.program.targets)

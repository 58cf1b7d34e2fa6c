"""C-FIT: all tables in one place; the root's is what plans are chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from penstock.control.checks import positive
from penstock.errors import SpecificationError, complaint
from penstock.nodes.compiling import compiled
from penstock.nodes.fit.alike import Alike, alike
from penstock.nodes.fit.leaf import leaf_grid, leaf_table
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.quadtree import PointQuadtree
from penstock.nodes.fit.spacing import Profile, Spacing, child_spacing, profile, root_spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.tree import Site, Tree
from penstock.nodes.fit.upstream import parent_table
from penstock.nodes.fragments import fragments
from penstock.nodes.model import Network
from penstock.nodes.plans import Choice
from penstock.nodes.program import Vector
from penstock.nodes.splits import Location


def site_table(site: Site, spacing: Spacing, children: Mapping[str, Table]) -> Table:
    """The table of a site.

    Args:
        site: the site.
        spacing: as its parent told it.
        children: the tables of its children, by name.
    """
    if not site.children:
        return leaf_table(site.program, leaf_grid(site.program, spacing))
    return parent_table(site.program, spacing, {name: children[name] for name in site.children})


def root_table(table: Table, spacing: Spacing, error: float, site: Site) -> Table:
    """What is left of the root's table: the feasible triangle is not needed.

    Args:
        table: all entries of the root.
        spacing: of the root.
        error: ε.
        site: the root.
    """
    # An overloaded point has an optimum of at least the reference, so what is chosen for it brings
    # at least all but ε of that. The entry of nothing stays, for rates that nobody planned for.
    needed = table.scores >= (1 - error) * spacing.reference * (1 - 1e-9)
    needed |= (table.rates == 0).all(axis=1)
    return pruned(table.only(needed), 0.0, site.program.load)


def streams_of(site: Site, children: Mapping[str, Profile]) -> dict[str, Profile]:
    """The profile of the child that takes each stream of a site."""
    return {
        stream: children[name]
        for name in site.children
        for stream in children[name].worth
        if stream in site.program.targets
    }


@dataclass(frozen=True)
class FragmentFit:
    """The tables of one fragment.

    Args:
        kinds: its inputs, those that are alike put together.
        tree: its sites.
        tables: of each site, by name.
        error: ε.
    """

    kinds: Alike
    tree: Tree
    tables: Mapping[str, Table]
    error: float

    @cached_property
    def index(self) -> PointQuadtree:
        """Of the root's table."""
        table = self.tables[self.tree.root.name]
        return PointQuadtree(table.rates, table.scores)

    @cached_property
    def _whole(self) -> tuple[tuple[str, ...], Vector, Vector]:
        """The inputs, the load of a row of each on all nodes and links, and their capacity."""
        program = compiled(self.kinds.network)
        return program.entering, program.load @ program.spread, program.capacity * (1 + 1e-9)

    def select(self, rates: Mapping[str, float]) -> tuple[int, dict[str, float]]:
        """The entry for some rates, and the scaling of each input; -1 if nothing is overloaded."""
        names, loads, capacity = self._whole
        given = self.kinds.rates(rates)
        if not (loads @ [given[name] for name in names] > capacity).any():
            return -1, dict.fromkeys(rates, 1.0)
        table = self.tables[self.tree.root.name]
        point = [given[name] for name in table.streams]
        entry = self.index.best(point)
        scaling: dict[str, float] = {}
        for name, most, rate in zip(table.streams, table.rates[entry].tolist(), point, strict=True):
            share = most / rate if rate > most else 1.0
            scaling |= dict.fromkeys(self.kinds.members[name], share)
        return entry, scaling

    def keeps(self, entry: int) -> dict[Location, float]:
        """What is kept at each drop location, once the inputs are scaled to an entry's rates."""
        found: dict[Location, float] = {}
        waiting = [(self.tree.root, entry)]
        while waiting:
            site, number = waiting.pop()
            table, program = self.tables[site.name], site.program
            shares = program.keeps(table.flows[number], table.rates[number])
            for place, location in enumerate(program.locations):
                # What enters a site from its parent has been shed there.
                if program.entry[place] < 0 or site.parent is None:
                    found[location] = float(shares[place])
            waiting += zip(
                (self.tree.sites[name] for name in site.children),
                table.picks[number].tolist(),
                strict=True,
            )
        return found


def fragment_fit(network: Network, error: float) -> FragmentFit:
    """All tables of a fragment.

    Args:
        network: the fragment.
        error: ε, the share of the best score that a plan may lose.
    """
    kinds = alike(network)
    tree = Tree(kinds.network)
    profiles: dict[str, Profile] = {}
    for site in reversed(tree.sites.values()):
        profiles[site.name] = profile(site.program, streams_of(site, profiles))
    root = tree.root
    spacings = {root.name: root_spacing(profiles[root.name], kinds.network.most, error)}
    for site in tree.sites.values():
        for child in site.children:
            streams = tuple(profiles[child].worth)
            spacings[child] = child_spacing(spacings[site.name], site.program, streams)
    tables: dict[str, Table] = {}
    for site in reversed(tree.sites.values()):
        tables[site.name] = site_table(site, spacings[site.name], tables)
    tables[root.name] = root_table(tables[root.name], spacings[root.name], error, root)
    return FragmentFit(kinds, tree, tables, error)


@dataclass(frozen=True)
class Fit:
    """Plans of a network chosen from feasible input tables.

    Args:
        parts: its fragments.
    """

    parts: tuple[FragmentFit, ...]

    @property
    def entries(self) -> int:
        """Of the tables that plans are chosen from."""
        return sum(len(part.tables[part.tree.root.name]) for part in self.parts)

    def select(self, rates: Mapping[str, float]) -> Choice | None:
        """The plan to use; None if no node is overloaded.

        Args:
            rates: of all inputs, in rows per second.
        """
        ids, scaling, sheds = [], {}, False
        for part in self.parts:
            own = {name: rates[name] for those in part.kinds.members.values() for name in those}
            number, scaled = part.select(own)
            scaling |= scaled
            ids.append(str(number) if number >= 0 else "-")
            sheds = sheds or number >= 0
        return Choice("/".join(ids), scaling) if sheds else None

    def keeps(self, choice: Choice) -> dict[Location, float]:
        """What is kept at each drop location, scaling included.

        Args:
            choice: as `select` gave it.
        """
        kept: dict[Location, float] = {}
        for part, number in zip(self.parts, choice.id.split("/"), strict=True):
            if number == "-":
                continue
            of = part.keeps(int(number))
            for location, share in of.items():
                scale = choice.scaling.get(location.after, 1.0)
                kept[location] = share * scale
        return kept


def fit(network: Network, error: float) -> Fit:
    """Feasible input tables of a network (C-FIT).

    Args:
        network: costs, selectivities and places.
        error: ε, the share of the best score that a plan may lose.
    """
    positive("an error", error)
    if error >= 1:
        raise SpecificationError(complaint("an error", "must be a share below 1", error))
    return Fit(tuple(fragment_fit(part, error) for part in fragments(network)))

"""C-FIT: all tables in one place; the root's is what plans are chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.control.checks import positive
from penstock.errors import SpecificationError, complaint
from penstock.nodes.compiling import compiled
from penstock.nodes.fit.alike import Alike, alike
from penstock.nodes.fit.quadtree import PointQuadtree
from penstock.nodes.fit.sites import root_table, site_table, streams_of
from penstock.nodes.fit.spacing import Profile, child_spacing, profile, root_spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.tree import Tree
from penstock.nodes.fragments import fragments
from penstock.nodes.lookup import Choice
from penstock.nodes.model import Network
from penstock.nodes.program import Vector
from penstock.nodes.splits import Location

FREE, SCALED = -1, -2
"""Instead of an entry: nothing need be dropped; or only inputs that bring nothing."""


@dataclass(frozen=True)
class FragmentFit:
    """The tables of one fragment.

    Args:
        network: the fragment.
        kinds: its inputs, those that are alike put together.
        tree: its sites.
        tables: of each site, by name.
        index: of the root's table.
    """

    network: Network
    kinds: Alike
    tree: Tree
    tables: Mapping[str, Table]
    index: PointQuadtree

    @cached_property
    def _sums(self) -> tuple[tuple[str, ...], Vector, Vector, int, frozenset[str]]:
        """The inputs; what a row of each adds to each load and dimension; what brings nothing."""
        program = compiled(self.network)
        streams = self.tables[self.tree.root.name].streams
        counts = np.zeros((len(streams), len(program.entering)))
        for kind, those in self.kinds.members.items():
            for name, times in those.items():
                counts[streams.index(kind), program.entering.index(name)] = times
        sums = np.vstack([program.load @ program.spread, counts])
        worth = program.score @ program.spread
        nothing = {name for name, each in zip(program.entering, worth, strict=True) if each <= 0}
        capacity = program.capacity * (1 + 1e-9)
        return program.entering, sums, capacity, len(capacity), frozenset(nothing)

    def select(self, rates: Mapping[str, float]) -> tuple[int, dict[str, float]]:
        """The entry for some rates, or FREE or SCALED, and the scaling of each input."""
        inputs, sums, capacity, count, worthless = self._sums
        given = sums @ [rates[name] for name in inputs]
        if not (given[:count] > capacity).any():
            return FREE, dict.fromkeys(inputs, 1.0)
        if worthless:
            # What brings nothing is dropped first; that may be enough.
            rates = {**rates, **dict.fromkeys(worthless, 0.0)}
            given = sums @ [rates[name] for name in inputs]
            if not (given[:count] > capacity).any():
                return SCALED, {name: float(name not in worthless) for name in inputs}
        point = given[count:].tolist()
        entry = self.index.best(point)
        table = self.tables[self.tree.root.name]
        scaling: dict[str, float] = {}
        for name, most, rate in zip(table.streams, table.rates[entry].tolist(), point, strict=True):
            share = most / rate if rate > most else 1.0
            for member in self.kinds.members[name]:
                scaling[member] = 0.0 if member in worthless else share
        return entry, scaling

    def keeps(self, entry: int) -> dict[Location, float]:
        """What is kept at each drop location, once the inputs are scaled to an entry's rates."""
        if entry == SCALED:
            return dict.fromkeys(compiled(self.network).locations, 1.0)
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
    kinds = alike(network, error / 4)
    # What is lost by taking the largest load of a kind for all of it, tables must not lose.
    error = 1 - (1 - error) / (1 - kinds.loss)
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
    tables[root.name] = root_table(tables[root.name], profiles[root.name], error, root)
    top = tables[root.name]
    return FragmentFit(network, kinds, tree, tables, PointQuadtree(top.rates, top.scores))


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
        ids: list[str] = []
        scaling: dict[str, float] = {}
        sheds = False
        for part in self.parts:
            number, scaled = part.select(rates)
            scaling |= scaled
            ids.append(str(number) if number != FREE else "-")
            sheds = sheds or number != FREE
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
            for location, share in part.keeps(int(number)).items():
                kept[location] = share * choice.scaling.get(location.after, 1.0)
            for name, location in part.kinds.places.items():
                kept[location] = choice.scaling[name]
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

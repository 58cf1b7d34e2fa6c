"""The table of each site, whether all are made in one place or each where it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.nodes.fit.leaf import leaf_grid, leaf_table
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.quadtree import PointQuadtree
from penstock.nodes.fit.spacing import Profile, Spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.tree import Site
from penstock.nodes.fit.upstream import parent_table
from penstock.nodes.program import Program
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


def root_table(table: Table, top: Profile, error: float, site: Site) -> Table:
    """What is left of the root's table: the feasible triangle is not needed.

        y │╲                 Whatever is overloaded lies beyond the line at which a first node is
          │· ╲               full, so its optimum is at least what the least point of the line
          │· · ╲             above an entry brings. An entry that brings more than ε less than that
          └───────── x       is never chosen.

    Args:
        table: all entries of the root.
        top: of the root.
        error: ε.
        site: the root.
    """
    worth = site.program.rates(top.worth)
    needed = (table.rates == 0).all(axis=1)  # stays for rates that nobody planned for
    for one in top.loads:
        shares = site.program.rates(one)
        used = shares > 0
        # The cheapest way from an entry to where this node is full is along one stream.
        left = np.maximum(0.0, 1 - table.rates @ shares)
        best = table.rates @ worth + left * (worth[used] / shares[used]).min()
        needed |= (left == 0) | (table.scores >= (1 - error) * best * (1 - 1e-9))
    return pruned(table.only(needed), 0.0, site.program.load)


def streams_of(site: Site, children: Mapping[str, Profile]) -> dict[str, Profile]:
    """The profile of the child that takes each stream of a site."""
    return {
        stream: children[name]
        for name in site.children
        for stream in children[name].worth
        if stream in site.program.targets
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """The entry of a table that a site goes by.

    Args:
        id: the same for the same entry, in whatever table of the site; empty where no stream has to
            be scaled because some are worth nothing.
        scaling: stream → the share of what comes that the entry has room for.
        keeps: what the site keeps at each of its drop locations, scaling included.
    """

    id: str
    scaling: Mapping[str, float]
    keeps: Mapping[Location, float]


def chosen_entry(
    program: Program,
    table: Table,
    index: PointQuadtree,
    rates: Mapping[str, float],
    slack: float,
) -> Entry:
    """The entry with the best score among those that rates can be scaled down to.

    Args:
        program: of the site.
        table: of the site.
        index: of the table.
        rates: of the streams that enter, in rows per second.
        slack: the share by which they may be measured too low.
    """
    given = program.rates(rates)
    entry = index.best([rate * (1 + slack) for rate in given.tolist()])
    chosen = table.rates[entry]
    shares = program.keeps(table.flows[entry], chosen).tolist()
    scaled = np.divide(chosen, given, out=np.ones_like(given), where=given > chosen).tolist()
    keeps = {
        location: share * (scaled[stream] if stream >= 0 else 1.0)
        for location, share, stream in zip(program.locations, shares, program.entry, strict=True)
    }
    what = json.dumps([chosen.tolist(), table.flows[entry].tolist()])
    name = hashlib.sha256(what.encode()).hexdigest()[:8]
    return Entry(name, dict(zip(program.entering, scaled, strict=True)), keeps)

"""The table of each site, whether all are made in one place or each where it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.nodes.fit.leaf import leaf_grid, leaf_table
from penstock.nodes.fit.pruning import pruned
from penstock.nodes.fit.spacing import Profile, Spacing
from penstock.nodes.fit.table import Table
from penstock.nodes.fit.tree import Site
from penstock.nodes.fit.upstream import parent_table


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

    Below the plane through the rates at which each input alone fills a node, nothing is overloaded.

        y │╲                 Whatever is overloaded lies beyond the plane, so its optimum is at
          │· ╲               least what the nearest point of the plane above an entry brings. An
          │· · ╲             entry that brings more than ε less than that is never chosen.
          └───────── x

    Args:
        table: all entries of the root.
        top: of the root.
        error: ε.
        site: the root.
    """
    worth = site.program.rates(top.worth)
    busy = 1 / site.program.rates(top.free)
    counts = np.divide(worth, busy, out=np.full(len(worth), np.inf), where=busy > 0)
    left = np.maximum(0.0, 1 - table.rates @ busy)
    gain = np.where(left > 0, left * counts.min(initial=np.inf), 0.0)
    needed = table.scores >= (1 - error) * (table.rates @ worth + gain) * (1 - 1e-9)
    # The entry of nothing stays, for rates that nobody planned for.
    needed |= (left == 0) | (table.rates == 0).all(axis=1)
    return pruned(table.only(needed), 0.0, site.program.load)


def streams_of(site: Site, children: Mapping[str, Profile]) -> dict[str, Profile]:
    """The profile of the child that takes each stream of a site."""
    return {
        stream: children[name]
        for name in site.children
        for stream in children[name].worth
        if stream in site.program.targets
    }

"""Columns that a query of rows does not know of, and that pass it all the same."""

from __future__ import annotations

from dataclasses import replace

from penstock.network.operators import Expression, Filter, Join, Map, Operator, Union


def carrying(node: Operator, columns: tuple[str, ...]) -> Operator:
    """The same operators, of which none leaves out these columns.

    Args:
        node: rows, without windows.
        columns: that are there wherever rows enter.
    """
    match node:
        case Map(input=below, columns=listed, only=only):
            kept = tuple((name, Expression(name)) for name in columns) if only else ()
            return replace(node, input=carrying(below, columns), columns=(*listed, *kept))
        case Filter(input=below) | Join(input=below):
            return replace(node, input=carrying(below, columns))
        case Union(inputs=several):
            return replace(node, inputs=tuple(carrying(one, columns) for one in several))
    return node

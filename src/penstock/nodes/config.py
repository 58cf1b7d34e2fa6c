"""A network of nodes in a TOML file.

[node.A]                [input.left]         [box.a1]               [output.alarms]
capacity = 1.0          rate = 2000          node = "A"             from = "b1"
                        most = 9000          from = "left"          weight = 2
[link.wan]                                   cost = 1e-3
from = "A"                                   selectivity = 0.5
to = "B"                [box.pairs]
bandwidth = 500         from = ["a1", "a2"], windows = [100, 80]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.errors import SpecificationError
from penstock.network.tables import ConfigError, Table, text_of, top_table
from penstock.nodes.inner import joined
from penstock.nodes.model import Box, Input, Link, Network, Node, Output

KINDS = ("node", "link", "input", "box", "output")

RUNNING = {
    "": ("latency", "control", "relation", "run"),
    "node": ("cores", "memory"),
    "input": (
        *("source", "options", "event_time", "slack", "late", "order", "identity", "weight"),
        *("punctuation", "ordered_by", "row_slack", "heartbeat"),
    ),
    "box": ("cql", "topic"),
    "output": ("answers", "max_gap", "confidence", "sink"),
}
"""What a file says beside this for its nodes to run (`penstock.fleet`); plans do without it."""


def is_nodes_file(tables: Mapping[str, Any]) -> bool:
    """Whether a TOML file is about nodes, not about one network.

    Args:
        tables: as `tomllib` gives them.

    >>> is_nodes_file({"node": {"A": {}}}), is_nodes_file({"query": {}})
    (True, False)
    """
    return "node" in tables


def read_nodes(path: str | Path) -> Network:
    """Reads and checks a file.

    Args:
        path: of the TOML file.
    """
    return parse_nodes(text_of(path), Path(path).name)


def parse_nodes(text: str, file: str = "nodes.toml") -> Network:
    r"""Checks the text of such a file.

    Args:
        text: TOML.
        file: what messages call it.

    >>> parse_nodes('[node.A]\ncapacity = -1', "a.toml")
    Traceback (most recent call last):
    penstock.network.tables.ConfigError: a.toml: [node.A] capacity must be a number above 0, got -1
    """
    top = top_table(text, file)
    network = nodes_of(top)
    # Of boxes that run, those of one node that feed each other are one.
    return joined(network) if "control" in top.values else network


def nodes_of(top: Table) -> Network:
    """The network that a file describes.

    Args:
        top: the whole file.
    """
    file = top.file
    top.known(*KINDS, *RUNNING[""])
    parts = (
        tuple(map(_node, top.tables("node"))),
        tuple(map(_input, top.tables("input"))),
        tuple(map(_box, top.tables("box"))),
        tuple(map(_output, top.tables("output"))),
        tuple(map(_link, top.tables("link"))),
    )
    try:
        return Network(*parts)
    except SpecificationError as error:
        raise ConfigError(f"{file}: {error}") from error


def _node(table: Table) -> Node:
    table.known("capacity", *RUNNING["node"])
    return Node(table.name, _amount(table, "capacity", 1.0, above=True))


def _link(table: Table) -> Link:
    table.known("from", "to", "bandwidth")
    wide = _amount(table, "bandwidth", None, above=True)
    return Link(table.needed("from"), table.needed("to"), wide)


def _input(table: Table) -> Input:
    table.known("rate", "most", *RUNNING["input"])
    rate = _amount(table, "rate", None)
    most = _amount(table, "most", None, above=True) if "most" in table.values else None
    return Input(table.name, rate, most)


def _box(table: Table) -> Box:
    table.known("node", "from", "cost", "selectivity", "windows", *RUNNING["box"])
    several = table.values.get("from")
    listed = [several] if isinstance(several, str) else several
    if not isinstance(listed, list) or not listed or not all(isinstance(n, str) for n in listed):
        raise table.refused("from", "must be the name of an input or box, or a list of names")
    windows = table.values.get("windows", [])
    if not isinstance(windows, list) or not all(_number(rows) and rows > 0 for rows in windows):
        raise table.refused("windows", "must be a list of numbers above 0")
    if windows and not len(windows) == len(listed) == len(("left", "right")):
        raise table.refused("windows", "must be two, for the two streams of a join")
    return Box(
        table.name,
        table.needed("node"),
        tuple(listed),
        _amount(table, "cost", None),
        _amount(table, "selectivity", 1.0),
        tuple(windows),
    )


def _output(table: Table) -> Output:
    table.known("from", "weight", *RUNNING["output"])
    return Output(table.name, table.needed("from"), _amount(table, "weight", 1.0))


def _amount(table: Table, key: str, default: float | None, *, above: bool = False) -> float:
    value = table.values.get(key, default)
    if value is None:
        raise table.refused(key, "must be given")
    if not _number(value) or value < 0 or (above and value == 0):
        raise table.refused(key, "must be a number " + ("above 0" if above else "0 or more"))
    return float(value)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)

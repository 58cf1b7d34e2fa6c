"""The picture of a network as SVG: streams at the left, each query to the right of its operator."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.network.graph import Graph
from penstock.network.operators import Operator, inputs
from penstock.network.render.drawing import (
    BETWEEN,
    STYLE,
    WIDTH,
    Box,
    box,
    drawn_box,
    drawn_edge,
)
from penstock.network.render.labels import Label, label, plain
from penstock.network.render.layers import Edge, layered

_MARGIN, _GAP = 16, 14


def svg(graph: Graph, notes: Mapping[Operator, str] | None = None) -> str:
    """The network as a drawing that stands alone, in light or dark as its reader prefers.

    An operator that several queries share has a heavy border and their number.

    Args:
        graph: the network.
        notes: what else is to be said of an operator, such as "keep 0.4, 120,000 rows/s".
    """
    boxes, edges = _parts(graph, notes or {})
    placed = layered({key: one.height for key, one in boxes.items()}, edges, _GAP)
    left = {key: _MARGIN + placed.layer[key] * (WIDTH + BETWEEN) for key in boxes}
    drawn = []
    for a, b in edges:
        begin = left[a] + WIDTH, _MARGIN + placed.centre[a]
        end = left[b], _MARGIN + placed.centre[b]
        passes = [
            (left[a] + n * (WIDTH + BETWEEN), _MARGIN + y)
            for n, y in enumerate(placed.passes[a, b], start=1)
        ]
        drawn.append(drawn_edge((begin, end), passes))
    for key, one in boxes.items():
        top = _MARGIN + placed.centre[key] - one.height / 2
        drawn.append(drawn_box(one, left[key], top))
    width = max(left.values()) + WIDTH + _MARGIN
    height = placed.height + 2 * _MARGIN
    size = f'width="{width:g}" height="{height:g}"'
    view = f'viewBox="0 0 {width:g} {height:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="penstock" role="img" {size} {view}>',
            f"<title>{_title(graph)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="back" {size}/>',
            *drawn,
            "</svg>\n",
        ]
    )


def _parts(graph: Graph, notes: Mapping[Operator, str]) -> tuple[dict[str, Box], list[Edge]]:
    """The boxes of operators and queries, those first that feed others, and the edges."""
    key = {operator: f"operator {n}" for n, operator in enumerate(graph.operators)}
    boxes = {key[of]: box(label(graph, of, notes.get(of, ""))) for of in graph.operators}
    edges = [(key[a], key[of]) for of in graph.operators for a in dict.fromkeys(inputs(of))]
    for name, of in graph.queries.items():
        boxes[f"query {name}"] = box(Label("query", plain(name), ""))
        edges.append((key[of], f"query {name}"))
    return boxes, edges


def _title(graph: Graph) -> str:
    return f"A network of {len(graph.queries)} queries and {len(graph.operators)} operators"

"""The drawing of a network: all of it is there, nothing overlaps, edges end at boxes."""

import re
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.network.graph import Graph
from penstock.network.operators import Operator, Union, inputs
from penstock.network.render import svg
from tests.network.workload import everything, seven, source, where

SVG = "{http://www.w3.org/2000/svg}"
NETWORKS = {"seven": seven, "everything": everything}


@dataclass(frozen=True)
class Box:
    title: str
    left: float
    top: float
    right: float
    bottom: float
    classes: tuple[str, ...]
    texts: tuple[str, ...]


def boxes(picture: str) -> list[Box]:
    found = []
    for group in ET.fromstring(picture).iter(f"{SVG}g"):  # noqa: S314 - it is our own
        rect, title = group.find(f"{SVG}rect"), group.findtext(f"{SVG}title")
        assert rect is not None
        assert title is not None
        x, y, width, height = (float(rect.attrib[n]) for n in ("x", "y", "width", "height"))
        texts = tuple("".join(one.itertext()) for one in group.iter(f"{SVG}text"))
        classes = tuple(group.attrib["class"].split())
        found.append(Box(title, x, y, x + width, y + height, classes, texts))
    return found


def ends(picture: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    found = []
    for path in ET.fromstring(picture).iter(f"{SVG}path"):  # noqa: S314 - it is our own
        if path.attrib["class"] == "edge":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.attrib["d"])]
            found.append(((numbers[0], numbers[1]), (numbers[-2], numbers[-1])))
    return found


def check(graph: Graph) -> str:
    """What holds for every picture."""
    picture = svg(graph)
    drawn = boxes(picture)
    titles = [one.title.partition(":")[0] for one in drawn]
    assert len(set(titles)) == len(titles) == len(graph.operators) + len(graph.queries)
    for name in graph.names.values():
        assert any(title.endswith(name) and not title.startswith("query") for title in titles)
    for a, b in combinations(drawn, 2):
        apart = a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top
        assert apart, (a.title, b.title)
    edges = ends(picture)
    assert len(edges) == len(graph.queries) + sum(
        len(set(inputs(operator))) for operator in graph.operators
    )
    for (ax, ay), (bx, by) in edges:
        assert ax < bx
        assert sum(ax == one.right and one.top < ay < one.bottom for one in drawn) == 1
        assert sum(bx == one.left and one.top < by < one.bottom for one in drawn) == 1
    return picture


@pytest.mark.parametrize("name", NETWORKS)
def test_everything_is_there_once_and_nothing_overlaps(name):
    check(NETWORKS[name]())


@given(st.data())
def test_no_network_makes_boxes_overlap(data):
    graph = data.draw(networks())
    check(graph)


@st.composite
def networks(draw: st.DrawFn) -> Graph:
    """Filters and unions over two streams, each over any that came before it."""
    made: list[Operator] = [source("a"), source("b")]
    for number in range(draw(st.integers(1, 14))):
        some = draw(st.lists(st.sampled_from(made), min_size=1, max_size=3, unique=True))
        made.append(Union(tuple(some)) if len(some) > 1 else where(some[0], f"x = {number}"))
    answers = draw(st.lists(st.sampled_from(made), min_size=1, max_size=5))
    return Graph({f"q{number}": operator for number, operator in enumerate(answers)})


def test_no_edge_goes_through_a_box():
    # `west` is two layers before the union, beside the filters of `east`.
    picture = svg(everything())
    passing = [d for d in re.findall(r'class="edge" d="([^"]+)"', picture) if " H" in d]
    assert passing
    for path in passing:
        for x, y, end in re.findall(r"([\d.]+),([\d.]+) H([\d.]+)", path):
            for one in boxes(picture):
                beside = float(end) <= one.left or one.right <= float(x)
                assert beside or not one.top <= float(y) <= one.bottom, one.title


def test_a_shared_operator_has_a_heavy_border_and_the_number_of_queries():
    by_title = {one.title.partition(":")[0]: one for one in boxes(svg(seven()))}
    assert "shared" in by_title["filter 1"].classes
    assert by_title["filter 1"].texts[1] == "\N{MULTIPLICATION SIGN} 4"
    assert "shared" not in by_title["filter 3"].classes
    assert "shared by tcp_packets, tcp_bytes_by_port" in by_title["filter 1"].title


def test_text_is_escaped_and_what_is_long_is_in_the_title():
    long = "host <> '\"&<script>' OR " + " OR ".join(f"port = {n}" for n in range(50))
    graph = Graph({"a<b": where(source(), long)})
    one = next(box for box in boxes(check(graph)) if "filter" in box.classes)
    assert long in one.title
    assert one.texts[-1].endswith("…")
    assert max(map(len, one.texts)) <= 34


def test_a_note_is_drawn_at_its_operator():
    graph = seven()
    tcp = next(of for of, name in graph.names.items() if name == "filter 1")
    picture = svg(graph, {tcp: "keep 0.4, 120,000 rows/s"})
    one = next(box for box in boxes(picture) if "filter 1" in box.title)
    assert one.texts[-1] == "keep 0.4, 120,000 rows/s"


def test_it_stands_alone():
    picture = svg(seven())
    assert "http" not in picture.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "prefers-color-scheme: dark" in picture

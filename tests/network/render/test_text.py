"""The text of a network, against files that show it."""

from pathlib import Path

import pytest

from penstock.network.aggregates import count
from penstock.network.graph import Graph
from penstock.network.render import text
from tests.network.workload import everything, seven, source, where, windows

HERE = Path(__file__).parent
NETWORKS = {"seven": seven, "everything": everything}


@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_as_the_file_shows_it(name):
    drawn = text(NETWORKS[name]()) + "\n"
    assert drawn == (HERE / f"{name}.txt").read_text()


def test_a_note_stands_at_its_operator():
    web = where(source(), "port = 80")
    graph = Graph({"web": windows(web, "1 min", "10 s", asked={"n": count()})})
    drawn = text(graph, {web: "keep 0.4, 120,000 rows/s"})
    assert "└─ filter 1: port = 80  (keep 0.4, 120,000 rows/s)\n" in drawn


def test_an_operator_is_on_one_line_whatever_is_in_it():
    graph = Graph({"web": where(source(), "host =\n\t'\x07' -- bell\n OR port = 80")})
    assert len(text(graph).splitlines()) == 2 + 3
    assert "\x07" not in text(graph)

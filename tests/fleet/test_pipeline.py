"""One file for a pipeline; what cannot be is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.fleet.pipeline import parse_pipeline, read_pipeline
from penstock.network.tables import ConfigError
from penstock.nodes import optimal_plan, parse_nodes
from tests.fleet.pipelines import fig1, inner

BETWEEN = """
[box.b9]
node = "B"
from = "b0"
cost = 1.0
cql = "SELECT * FROM b0 WHERE rows > 3"

[box.c9]
node = "A"
from = "b9"
cost = 1.0
cql = "SELECT count(*) AS n FROM b9 [RANGE 4 seconds SLIDE 2 seconds WATTR window_time]"

[output.third]
from = "c9"
answers = "subset"
max_gap = 3
"""
"""Windows on another node than those that they are over."""


def test_a_file_says_what_runs_where():
    made = parse_pipeline(fig1())
    assert [box.name for box in made.relays("A")] == ["a1", "a2"]
    assert [box.name for box in made.windows("B")] == ["b1", "b2"]
    assert made.relays("B") == made.windows("A") == ()
    assert made.below("a1") == ("b1",)
    assert made.kind("a2") == "subset"
    assert made.topic("a1") == "fig1.a1"
    assert made.latency == 4.0
    # The same file is a model, for `penstock plan`.
    assert optimal_plan(parse_nodes(fig1())).score == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('latency = "4 seconds"', "", "latency must be given"),
        ('topic = "control"', "", "[control] topic must be given"),
        ('mode = "coordinator"', 'mode = "boss"', "[control] mode must be 'coordinator' or"),
        ('source = "kafka"', "", "[input.left] source must be given"),
        ("SELECT * FROM right", "SELECT * FROM left", "[box.a2] from must be what its cql has"),
        ("max_gap = 3", "", "[output.first] max_gap must be given"),
        ('answers = "subset"\nmax_gap = 3', 'answers = "exact"', "[output.first] answers must be"),
        (
            '"SELECT * FROM right"',
            '"SELECT count(*) FROM right [RANGE 1 second SLIDE 1 second WATTR ts]"',
            "[box.a2] cql has a window: boxes that read its answers must be of its node",
        ),
        ('from = "b2"\n', 'from = "b1"\n', "[box.b1] cql has a window: it must have one input"),
        ('from = "b2"\n', 'from = "a2"\n', "[box.a2] cql has no window: it must feed boxes"),
    ],
)
def test_what_cannot_be_is_refused(old, new, said):
    text = fig1()
    assert old in text
    with pytest.raises(ConfigError) as refused:
        parse_pipeline(text.replace(old, new, 1))
    assert said in str(refused.value)


def test_boxes_that_feed_others_of_their_node_are_computed_with_them():
    made = parse_pipeline(inner(fig1()))
    assert [box.name for box in made.relays("A")] == ["a1", "a2"]
    assert [box.name for box in made.windows("B")] == ["b1", "b2"]
    assert made.views("a1") == ("a0",)
    assert made.views("b2") == ("b0",)
    assert made.network.box["a1"].inputs == ("left",)
    assert made.network.box["a1"].cost == pytest.approx(0.5 + 0.5 * 1.0)
    assert made.network.box["b2"].inputs == ("a2",)
    assert made.below("a2") == ("b2",)
    assert made.kind("a2") == "subset"


def test_answers_are_not_handed_on():
    text = inner(fig1()).replace('[box.b2]\nnode = "B"', '[box.b2]\nnode = "A"')
    with pytest.raises(ConfigError, match=r"\[box.b0\] cql has a window: boxes that read its"):
        parse_pipeline(text)
    with pytest.raises(ConfigError, match=r"\[box.b9\] cql reads answers of windows"):
        parse_pipeline(inner(fig1()) + BETWEEN)


def test_one_box_serves_one_kind_of_answers():
    text = fig1().replace(
        'from = "b2"\nanswers = "subset"\nmax_gap = 3', 'from = "b2"\nanswers = "approximate"'
    )
    assert parse_pipeline(text).kind("a2") == "approximate"
    shared = text.replace('from = "a2"', 'from = "a1"').replace("FROM a2", "FROM a1")
    shared = shared.replace('[box.a2]\nnode = "A"\nfrom = "right"', "[box.a2]")
    begin = shared.index("[box.a2]")
    shared = shared[:begin] + shared[shared.index("[box.b1]") :]
    with pytest.raises(ConfigError, match="box a1 feeds both kinds"):
        parse_pipeline(shared)


def test_the_example_is_the_one_of_the_documentation():
    root = Path(__file__).parents[2]
    example = read_pipeline(root / "examples" / "nodes" / "pipeline.toml")
    assert optimal_plan(example.network).score == pytest.approx(600)
    text = (root / "examples" / "nodes" / "pipeline.toml").read_text()
    assert text.partition("\n\n")[2] in (root / "docs" / "nodes.md").read_text()

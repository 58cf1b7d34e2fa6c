"""Networks of nodes are checked where they are made, and Table 1 comes out of the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import SpecificationError
from penstock.nodes import (
    Box,
    Input,
    Link,
    Network,
    Node,
    Output,
    is_nodes_file,
    optimal_plan,
    parse_nodes,
    read_nodes,
)
from penstock.nodes.fair import served
from penstock.nodes.fragments import fragments
from penstock.nodes.splits import Splits
from tests.nodes.networks import FIG1, chains

EXAMPLE = Path(__file__).parents[2] / "examples" / "nodes" / "two.toml"


@pytest.mark.parametrize(
    ("kept", "a_load", "a", "b_load", "b"),
    [
        pytest.param((1, 1), 3, (1 / 3, 1 / 3), 4 / 3, (1 / 4, 1 / 4), id="0, both overloaded"),
        pytest.param((1 / 3, 1 / 3), 1, (1 / 3, 1 / 3), 4 / 3, (1 / 4, 1 / 4), id="1, B is still"),
        pytest.param((1, 0), 1, (1, 0), 3, (1 / 3, 0), id="2, best for A alone"),
        pytest.param((0, 1 / 2), 1, (0, 1 / 2), 1 / 2, (0, 1 / 2), id="3, both well, not best"),
        pytest.param((1 / 5, 2 / 5), 1, (1 / 5, 2 / 5), 1, (1 / 5, 2 / 5), id="4, the best"),
    ],
)
def test_table_1_row_by_row(kept, a_load, a, b_load, b):
    got = served(FIG1, dict(zip(("i0", "i1"), kept, strict=True)))
    assert got.loads == pytest.approx({"A": a_load, "B": b_load})
    assert [got.throughput[name] for name in ("a0", "a1")] == pytest.approx(a)
    assert [got.throughput[name] for name in ("b0", "b1")] == pytest.approx(b)
    assert got.score == pytest.approx(sum(b))


def test_the_program_finds_plan_4_of_table_1_from_the_example():
    network = read_nodes(EXAMPLE)
    plan = optimal_plan(network)
    kept = {location.after: keep for location, keep in plan.keeps.items()}
    assert kept == pytest.approx({"left": 1 / 5, "right": 2 / 5})
    assert plan.score == pytest.approx(3 / 5)
    assert plan.before == pytest.approx({"A": 3, "B": 4})
    assert plan.after == pytest.approx({"A": 1, "B": 1})
    assert plan.prices == pytest.approx({"A": 2 / 5, "B": 1 / 5})


def test_a_file_of_nodes_says_all_that_python_can():
    text = """
    [node.A]
    [node.B]
    capacity = 2
    [link.wan]
    from = "A"
    to = "B"
    bandwidth = 7
    [input.left]
    rate = 0
    most = 5
    [input.right]
    rate = 3
    [box.a]
    node = "A"
    from = ["left", "right"]
    cost = 0
    [box.pairs]
    node = "B"
    from = ["a", "right"]
    cost = 0.5
    selectivity = 0.1
    windows = [10, 20]
    [output.o]
    from = "pairs"
    weight = 2
    """
    assert parse_nodes(text) == Network(
        (Node("A"), Node("B", 2.0)),
        (Input("left", 0.0, 5.0), Input("right", 3.0)),
        (
            Box("a", "A", ("left", "right"), 0.0),
            Box("pairs", "B", ("a", "right"), 0.5, 0.1, (10, 20)),
        ),
        (Output("o", "pairs", 2.0),),
        (Link("A", "B", 7.0),),
    )
    assert parse_nodes(text).box["pairs"].gains == pytest.approx((2.0, 1.0))


GOOD = EXAMPLE.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("capacity = 1.0", "capacity = 0", "[node.A] capacity must be a number above 0, got 0"),
        ("rate = 1.0", "rate = 'x'", "[input.left] rate must be a number 0 or more, got 'x'"),
        ("rate = 1.0", "rat = 1.0", "[input.left] must have keys that are known, got 'rat'"),
        ("cost = 1.0", "", "[box.a1] cost must be given"),
        ('from = "left"', "from = 3", "[box.a1] from must be the name of an input or box"),
        ('from = "left"', 'from = "lft"', "an input of box 'a1' must be one that is there"),
        ('node = "A"', 'node = "C"', "the node of box 'a1' must be one that is there, got 'C'"),
        ('from = "b1"', 'from = "b3"', "what output 'first' comes from must be one that is there"),
        ("selectivity = 1.0", "windows = [1, 2]", "[box.b1] windows must be two, for the two"),
        ("[node.A]", "[nodes.A]", "must have keys that are known, got 'nodes'"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_key(old, new, said):
    with pytest.raises(SpecificationError) as error:
        parse_nodes(GOOD.replace(old, new, 1), "two.toml")
    assert said in str(error.value)
    assert str(error.value).startswith("two.toml:")


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(SpecificationError, match="must be a file that can be read"):
        read_nodes(tmp_path / "none.toml")
    with pytest.raises(SpecificationError, match=r"nodes\.toml: "):
        parse_nodes("[node")


def test_a_file_of_nodes_is_told_from_a_file_of_one_network():
    assert is_nodes_file({"node": {}, "box": {}})
    assert not is_nodes_file({"stream": {}, "query": {}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"boxes": (*FIG1.boxes, Box("i0", "A", ("i1",), 1.0))}, "input or box must have a name"),
        ({"outputs": ()}, "needs an output"),
        ({"links": (Link("A", "X", 1.0),)}, "an end of link A ─► X must be one that is there"),
        ({"boxes": (Box("x", "A", ("y",), 1.0), Box("y", "A", ("x",), 1.0))}, "must not feed"),
    ],
)
def test_networks_that_cannot_be_are_refused(change, said):
    whole = {
        "nodes": FIG1.nodes,
        "inputs": FIG1.inputs,
        "boxes": FIG1.boxes,
        "outputs": FIG1.outputs
        if "boxes" not in change
        else (Output("o", change["boxes"][0].name),),
    }
    with pytest.raises(SpecificationError, match=said):
        Network(**(whole | change))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Node("A", 0.0),
        lambda: Link("A", "B", -1.0),
        lambda: Input("i", float("nan")),
        lambda: Input("i", 1.0, 0.0),
        lambda: Box("b", "A", (), 1.0),
        lambda: Box("b", "A", ("i",), -1.0),
        lambda: Box("b", "A", ("i", "j"), 1.0, 1.0, (1.0,)),
        lambda: Output("o", "b", float("inf")),
    ],
)
def test_parts_that_cannot_be_are_refused(make):
    with pytest.raises(SpecificationError):
        make()


def test_branches_that_merge_again_are_no_split():
    #        ┌─► b ─┐
    #  i ─► a┤      ├─► u ─► out          b and c meet again; d does not
    #        ├─► c ─┘
    #        └─► d ─────────► out 2
    network = Network(
        (Node("A"),),
        (Input("i", 1.0),),
        (
            Box("a", "A", ("i",), 1.0),
            Box("b", "A", ("a",), 1.0),
            Box("c", "A", ("a",), 1.0),
            Box("u", "A", ("b", "c"), 1.0),
            Box("d", "A", ("a",), 1.0),
        ),
        (Output("out", "u"), Output("out 2", "d")),
    )
    assert Splits(network).branches["a"] == (("b", "c"), ("d",))
    assert Splits(network).branches["b"] == (("u",),)


def test_parts_that_share_nothing_are_planned_apart():
    both = chains((1.0, 2.0), (3.0, 1.0))
    apart = Network(
        (*both.nodes, Node("C")),
        (*both.inputs, Input("other", 1.0)),
        (*both.boxes, Box("c", "C", ("other",), 1.0)),
        (*both.outputs, Output("c", "c")),
    )
    assert fragments(apart) == (both, fragments(apart)[1])
    assert [node.name for node in fragments(apart)[1].nodes] == ["C"]

"""The four phases, and the picture of a plan."""

from __future__ import annotations

import logging

import pytest

from penstock.nodes import (
    Box,
    Input,
    Link,
    Network,
    Node,
    Output,
    Phases,
    plan_text,
    plans_in_advance,
)
from tests.nodes.networks import FIG1

PLANS = plans_in_advance(FIG1, error=0.1)


def phases() -> tuple[Phases, list[str]]:
    lines: list[str] = []
    return Phases(PLANS.select, ["A", "B"], PLANS.error, lines.append), lines


def phase(machine: Phases) -> str:
    return machine.phase


def test_all_phases_are_seen_in_the_log_in_their_order():
    machine, lines = phases()
    assert machine.observe({"i0": 0.1, "i1": 0.1}) is None
    assert phase(machine) == "planned"
    choice = machine.observe({"i0": 1.0, "i1": 1.0})
    assert choice == PLANS.select({"i0": 1.0, "i1": 1.0})
    assert choice is not None
    assert phase(machine) == "chosen"
    machine.applied("A", choice.id)
    assert phase(machine) == "chosen"
    machine.applied("B", choice.id)
    assert phase(machine) == "in force"
    assert machine.observe({"i0": 1.0, "i1": 1.0}) is None
    assert machine.observe({"i0": 0.1, "i1": 0.1}) is None
    assert phase(machine) == "lifted"
    assert machine.choice is None
    assert machine.observe({"i0": 1.0, "i1": 1.0}) == choice
    words = [line.partition(":")[0] for line in lines]
    assert words == [
        "planned",
        "overloaded",
        "chosen",
        "in force",
        "lifted",
        "overloaded",
        "chosen",
    ]
    assert lines[0] == "planned: plans are at most 10.0% below the best score"
    assert lines[1] == "overloaded: i0 1 rows/s, i1 1 rows/s"
    assert lines[2].startswith(f"chosen: plan {choice.id}, inputs scaled by i0 ")


def test_other_rates_choose_anew_and_what_nodes_say_of_a_past_plan_does_not_count():
    machine, _ = phases()
    first = machine.observe({"i0": 1.0, "i1": 1.0})
    second = machine.observe({"i0": 3.0, "i1": 0.2})
    assert first is not None
    assert second is not None
    assert first.id != second.id
    for node in ("A", "B"):
        machine.applied(node, first.id)
    assert phase(machine) == "chosen"
    for node in ("A", "B"):
        machine.applied(node, second.id)
    assert phase(machine) == "in force"
    # Rates that hardly move are no reason to tell anyone.
    assert machine.observe({"i0": 3.001, "i1": 0.2}) is None


def test_without_a_place_of_its_own_the_log_is_that_of_the_module(caplog):
    with caplog.at_level(logging.INFO, logger="penstock.nodes.phases"):
        Phases(PLANS.select, ["A"], 0.05)
    assert caplog.messages == ["planned: plans are at most 5.0% below the best score"]


def test_the_picture_of_fig_1():
    assert (
        plan_text(FIG1)
        == """\
score 0.6 of 2 without limits (30%)

A: load 3 → 1 of 1
│  i0 ─► a0: keep 0.2, 1 → 0.2 rows/s
│  i1 ─► a1: keep 0.4, 1 → 0.4 rows/s
└─► B: load 4 → 1 of 1
       out o0: 0.2 rows/s
       out o1: 0.4 rows/s

why
  A has 3 times what it can do; one more of its capacity would add 0.4 to the score
  B has 4 times what it can do; one more of its capacity would add 0.2 to the score
  i0 ─► a0: a row brings 1 and takes 1 of A and 3 of B, worth 1: as much as it brings
  i1 ─► a1: a row brings 1 and takes 2 of A and 1 of B, worth 1: as much as it brings"""
    )


def test_a_picture_of_nodes_that_are_no_tree_with_a_narrow_link():
    network = Network(
        (Node("A"), Node("B"), Node("C")),
        (Input("in", 2.0),),
        (
            Box("a", "A", ("in",), 0.1),
            Box("b", "B", ("a",), 0.1),
            Box("c", "C", ("a",), 0.1),
            Box("u", "C", ("b",), 0.1),
        ),
        (Output("one", "c"), Output("two", "u", 3.0)),
        (Link("B", "C", 0.5),),
    )
    shown = plan_text(network, {"in": 4.0}).splitlines()
    assert shown[0] == "score 5.5 of 16 without limits (34%)"
    assert "A: load 0.4 of 1" in shown
    assert "│  a ─► b: keep 0.125, 4 → 0.5 rows/s" in shown
    assert "├─► B: load 0.4 → 0.05 of 1" in shown
    assert "│   └─► C: load 0.8 → 0.45 of 1  (link 4 → 0.5 of 0.5 rows/s)" in shown
    assert "└─► C, drawn above" in shown


def test_where_nothing_is_dropped_the_picture_says_so():
    shown = plan_text(FIG1, {"i0": 0.1, "i1": 0.1})
    assert shown.endswith("why\n  no node or link is overloaded: nothing is dropped")
    assert "A: load 0.3 of 1" in shown


@pytest.mark.parametrize("rates", [{"i0": 5.0, "i1": 0.0}, {"i0": 0.0, "i1": 5.0}])
def test_an_input_that_stands_still_is_no_trouble(rates):
    assert "score" in plan_text(FIG1, rates)

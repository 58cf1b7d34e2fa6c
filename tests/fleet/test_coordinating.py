"""Coordinator, followers and peers over a topic in memory; any of them may die, or be told lies."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.fleet.last_plan import LastPlan
from penstock.fleet.member import Follower
from penstock.fleet.neighbour import Neighbour
from penstock.nodes.fit.messages import Message as Inner
from penstock.nodes.fit.table import check_size
from penstock.nodes.optimum import optimal_plan
from penstock.nodes.splits import Location
from tests.fleet.bus import Fleet
from tests.nodes.networks import FIG1
from tests.nodes.nonsense import NONSENSE

LEFT, RIGHT = (Location(box.inputs[0], (box.name,)) for box in FIG1.boxes if box.node == "A")
NAMES = LEFT.after, RIGHT.after
STREAMS = {"A": NAMES, "B": (*LEFT.before, *RIGHT.before)}


def at(rate: float):
    return lambda node: dict.fromkeys(STREAMS[node], rate)


def coordinated() -> Fleet:
    fleet = Fleet(FIG1)
    fleet.coordinate()
    for node in ("A", "B"):
        fleet.follow(node)
    return fleet


def words(lines: list[str]) -> list[str]:
    return [line.partition(":")[0] for line in lines]


def keeps(fleet: Fleet, node: str = "A") -> dict[Location, float]:
    return {place: round(share, 3) for place, share in fleet.members[node].keeps.items()}


def test_nodes_get_the_optimum_and_all_phases_are_in_the_log():
    fleet = coordinated()
    for rate in (0.1, 0.1, 1.0, 1.0, 1.0, 1.0):
        fleet.turn(at(rate))
    best = {place: round(share, 3) for place, share in optimal_plan(FIG1).keeps.items()}
    assert keeps(fleet) == keeps(fleet, "B") == best == {LEFT: 0.2, RIGHT: 0.4}
    for _ in range(3):
        fleet.turn(at(0.1))
    assert keeps(fleet) == {}
    seen = words([line for line in fleet.lines if "inputs scaled" not in line or "chosen" in line])
    assert seen[:4] == ["planned", "overloaded", "chosen", "in force"]
    assert "lifted" in seen


def test_what_nodes_measure_counts_and_not_what_the_file_says():
    fleet = Fleet(FIG1.changed("b0", cost=0.001))
    fleet.coordinate()
    believed, fleet.network = fleet.network, FIG1
    assert believed != FIG1
    for node in ("A", "B"):
        fleet.follow(node)
    for _ in range(4):
        fleet.turn(at(1.0))
    assert keeps(fleet) == {LEFT: 0.2, RIGHT: 0.4}


def test_nodes_go_on_with_the_last_plan_while_the_coordinator_is_dead():
    fleet = coordinated()
    for _ in range(4):
        fleet.turn(at(1.0))
    had = keeps(fleet)
    fleet.coordinator = None
    for _ in range(20):
        fleet.turn(at(0.5))
    assert keeps(fleet) == keeps(fleet, "B") == had
    fleet.follow("A")  # comes back, and has kept its plan
    assert keeps(fleet) == had
    fleet.coordinate()
    for _ in range(3):
        fleet.turn(at(1.5))
    assert keeps(fleet) == {LEFT: round(0.2 / 1.5, 3), RIGHT: round(0.4 / 1.5, 3)}


def test_a_node_that_was_away_is_told_again():
    fleet = coordinated()
    for _ in range(3):
        fleet.turn(at(1.0), alive=("A",))
    fleet.topic.poll("B")  # lost
    assert keeps(fleet, "B") == {}
    for _ in range(8):
        fleet.turn(at(1.0))
    assert keeps(fleet, "B") == keeps(fleet, "A") != {}


@given(
    st.lists(st.sampled_from(["turn", "lose", "twice", "damage", "die", "rise", "A"]), max_size=25)
)
def test_whatever_happens_nodes_have_a_plan_that_was_handed_out_and_in_the_end_the_right_one(
    events,
):
    fleet = coordinated()
    of = 1.0
    for event in events:
        match event:
            case "lose":
                fleet.topic.poll("A")
            case "twice":
                fleet.topic.send(fleet.topic.said[-3:])
            case "damage":
                fleet.topic.send([one[:-2] + b"}}" for one in fleet.topic.said[-2:]])
            case "die":
                fleet.coordinate()
            case "rise":
                of = 1.5 if of == 1.0 else 1.0
            case "A":
                fleet.follow("A")
            case _:
                fleet.turn(at(of))
    for _ in range(9):
        fleet.turn(at(1.0))
    assert keeps(fleet) == {LEFT: 0.2, RIGHT: 0.4}
    follower = fleet.members["B"]
    assert isinstance(follower, Follower)
    assert follower.plan.id


def test_peers_come_within_their_error_of_the_optimum():
    fleet = Fleet(FIG1)
    for node in ("A", "B"):
        fleet.neighbour(node)
    for _ in range(4):
        fleet.turn(at(1.0))
    kept = fleet.members["A"].keeps
    assert kept[LEFT] + kept[RIGHT] >= 0.95 * 0.6
    # What arrives at B then is what it can do.
    arriving = {LEFT.before[0]: kept[LEFT], RIGHT.before[0]: kept[RIGHT]}
    fleet.turn(lambda node: arriving if node == "B" else at(1.0)(node))
    assert all(share > 0.99 for share in fleet.members["B"].keeps.values())
    fleet.turn(lambda node: arriving if node == "B" else at(0.1)(node))
    assert fleet.members["A"].keeps == {}
    assert {"overloaded", "in force", "lifted"} <= set(words(fleet.lines))
    chosen = next(line for line in fleet.lines if line.startswith("chosen: "))
    assert re.match(r"chosen: plan [0-9a-f]{8}, inputs scaled by i0 0\.\d+, i1 0\.", chosen)


@pytest.mark.parametrize("node", ["A", "B"])
def test_a_peer_that_dies_and_comes_back_has_its_table_again(node):
    fleet = Fleet(FIG1)
    for name in ("A", "B"):
        fleet.neighbour(name)
    for _ in range(4):
        fleet.turn(at(1.0))
    before = fleet.members["A"].keeps
    fleet.clock.now += 1
    fleet.neighbour(node)
    for _ in range(16):
        fleet.turn(at(1.0))
    after = fleet.members["A"].keeps
    assert after.keys() == before.keys()
    assert sum(after.values()) == pytest.approx(sum(before.values()), rel=0.06)


def test_peers_report_what_they_cannot_use():
    fleet = Fleet(FIG1)
    for name in ("A", "B"):
        fleet.neighbour(name)
    fleet.topic.send([fleet.boxes["B"].write("peer", {"to": "A", "text": "no message"})])
    fleet.turn(at(1.0))
    assert any("what a peer said" in line for line in fleet.boxes["A"].reports)


def overloaded_peers() -> Fleet:
    fleet = Fleet(FIG1)
    for name in ("A", "B"):
        fleet.neighbour(name)
    for _ in range(4):
        fleet.turn(at(1.0))
    assert fleet.members["A"].keeps
    return fleet


def test_a_peer_that_comes_back_while_its_child_is_dead_goes_on_with_its_last_plan():
    fleet = overloaded_peers()
    had = keeps(fleet)
    fleet.neighbour("A")
    for _ in range(20):
        fleet.turn(at(1.0), alive=("A",))
        assert keeps(fleet) == had
    fleet.neighbour("B")
    for _ in range(15):
        fleet.turn(at(0.1))
    assert keeps(fleet) == {}


def test_a_plan_of_peers_comes_through_a_file(tmp_path):
    member = overloaded_peers().members["A"]
    assert isinstance(member, Neighbour)
    LastPlan(str(tmp_path)).keep(member.plan)
    again = LastPlan(str(tmp_path)).last()
    assert again == member.plan
    assert again.keeps.keys() == member.keeps.keys()


def test_a_peer_that_comes_back_with_a_slower_clock_is_not_stale():
    fleet = Fleet(FIG1)
    fleet.neighbour("A")
    fleet.clock.now = 10_000.0
    fleet.neighbour("B")
    fleet.clock.now = 1_000.0
    for _ in range(3):
        fleet.turn(at(1.0))
    fleet.neighbour("B")
    for _ in range(3):
        fleet.turn(at(1.0))
    member = fleet.members["B"]
    assert isinstance(member, Neighbour)
    assert member.planned
    assert not any("stale" in line for box in fleet.boxes.values() for line in box.reports)


def test_a_table_that_is_too_large_is_reported_and_the_last_plan_stays(monkeypatch):
    fleet = overloaded_peers()
    had = keeps(fleet)
    monkeypatch.setattr(sys.modules[check_size.__module__], "MOST_ENTRIES", 3)
    fleet.network = FIG1.changed("b0", cost=1.0).changed("a0", cost=1.5)
    for _ in range(15):
        fleet.turn(at(1.0))
    assert keeps(fleet) == had
    assert any("a table that cannot be made" in line for line in fleet.boxes["B"].reports)
    monkeypatch.undo()
    for _ in range(15):
        fleet.turn(at(1.0))
    assert keeps(fleet) != had


def test_nonsense_from_a_peer_ends_nobody():
    fleet = overloaded_peers()
    had, version = keeps(fleet), 10**15
    for kind, body in NONSENSE:
        version += 1
        to, sender = ("B", "A") if kind == "spacing" else ("A", "B")
        text = Inner(kind, sender, to, version, body).encode().decode()
        before = fleet.boxes[to].ignored
        fleet.topic.send([fleet.boxes[sender].write("peer", {"to": to, "text": text})])
        fleet.turn(at(1.0))
        assert fleet.boxes[to].ignored > before, (kind, body)
        assert keeps(fleet) == had

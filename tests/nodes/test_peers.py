"""D-FIT: neighbours come to the tables of C-FIT; stale and damaged messages change nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.nodes import Box, Location, Network, Peer, Planner, Tree, fit
from penstock.nodes.fit.exchange import deliver, peers_of, start
from penstock.nodes.fit.messages import DamagedMessage, Message
from tests.nodes.naive import walk
from tests.nodes.networks import FIG1, chains, random_network
from tests.nodes.nonsense import NONSENSE
from tests.nodes.test_fit import TREE

PAIR = chains((0.064, 0.032), (0.032, 0.064), rate=20.0, most=100.0)


def same(peers: dict[str, Peer], tables) -> bool:
    return all(
        peer.table is not None
        and np.array_equal(peer.table.rates, tables[name].rates)
        and np.array_equal(peer.table.scores, tables[name].scores)
        for name, peer in peers.items()
    )


@pytest.mark.parametrize("network", [FIG1, PAIR, TREE], ids=["Fig. 1", "pair", "tree"])
def test_tables_of_neighbours_are_those_made_in_one_place(network):
    peers = peers_of(network, 0.3)
    messages = start(peers)
    # To each child how to space; from each its profile and its table, and little besides.
    assert messages >= 3 * (len(peers) - 1)
    assert same(peers, fit(network, 0.3).parts[0].tables)
    assert not any(peer.reports for peer in peers.values())


def test_tables_are_the_same_on_random_trees():
    tried = 0
    for seed in range(60):
        network = random_network(np.random.default_rng(seed), inputs=2, boxes=4, tree=True)
        try:
            parts = fit(network, 0.5).parts
        except UsageError:
            continue  # too large
        if len(parts) != 1 or len(parts[0].tree.sites) < 2:
            continue
        peers = peers_of(parts[0].kinds.network, 0.5)
        start(peers)
        assert same(peers, parts[0].tables)
        tried += 1
    assert tried > 5


def test_the_order_in_which_children_speak_does_not_matter():
    one, other = peers_of(TREE, 0.3), peers_of(TREE, 0.3)
    start(one)
    first = [data for peer in reversed(other.values()) for data in peer.start()]
    deliver(other, reversed(first))
    assert same(other, {name: peer.table for name, peer in one.items()})


@pytest.mark.parametrize("difference", [0.0, 0.02, 0.05, 0.1])
def test_after_a_selectivity_falls_only_what_is_needed_is_sent(difference):
    peers = peers_of(PAIR, 0.1, difference)
    start(peers)
    changed = PAIR.changed("b0", selectivity=0.9)
    deliver(peers, peers["B"].change(Tree(changed).sites["B"]))
    child, parent = peers["B"], peers["A"]
    assert child.table is not None
    assert parent.table is not None
    held = parent._below["B"]
    now = {tuple(rates): score for rates, score in _rows(child.table)}
    if difference == 0:
        assert dict(zip(held.rates.values(), held.scores.values(), strict=True)) == now
    # Whatever the parent believes is feasible, and about what it brings.
    for rates, score in zip(held.rates.values(), held.scores.values(), strict=True):
        actual = max(
            s for r, s in now.items() if all(a <= b for a, b in zip(r, rates, strict=True))
        )
        assert abs(score - actual) <= difference * actual + 1e-12
        assert 0.032 * rates[0] + 0.064 * rates[1] <= 1 + 1e-6
    # And for whatever is possible it knows something about as good.
    for rates, score in now.items():
        known = max(held.scores[n] for n, r in held.rates.items() if below(r, rates))
        assert known >= (1 - difference) * score - 1e-12


def below(one, other) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def _rows(table):
    return zip(map(tuple, table.rates.tolist()), table.scores.tolist(), strict=True)


def test_a_larger_difference_sends_less_and_a_larger_change_more():
    def share(difference, selectivity):
        peers = peers_of(PAIR, 0.1, difference)
        start(peers)
        changed = PAIR.changed("b0", selectivity=selectivity)
        deliver(peers, peers["B"].change(Tree(changed).sites["B"]))
        return sum(delta.share for delta in peers["B"].deltas[1:])

    by_difference = [share(difference, 0.9) for difference in (0.01, 0.03, 0.05, 0.1)]
    assert by_difference == sorted(by_difference, reverse=True)
    assert by_difference[-1] < 0.2
    by_change = [share(0.05, selectivity) for selectivity in (0.98, 0.9, 0.7)]
    assert by_change == sorted(by_change)
    assert by_change[0] == 0


@pytest.mark.parametrize("moved", [0.008, -0.008], ids=["to the child", "to the parent"])
def test_plans_stay_good_when_an_operator_moves(moved):
    peers = peers_of(PAIR, 0.1, 0.02)
    start(peers)
    changed = PAIR.changed("a0", cost=0.064 - moved).changed("b0", cost=0.032 + moved)
    sites = Tree(changed).sites
    deliver(peers, [*peers["B"].change(sites["B"]), *peers["A"].change(sites["A"])])
    first, *later = peers["B"].deltas
    # A child that has more to do can take less: entries go, and few need come.
    assert sum(delta.share for delta in later) < (0.1 if moved > 0 else 0.5)
    assert 0 < sum(len(delta.removed) for delta in later) < len(first.added) / 2
    table, planner = peers["A"].table, Planner(changed)
    assert table is not None
    rng = np.random.default_rng(1)
    for a, b in rng.uniform(10, 100, (100, 2)).tolist():
        best = planner.plan({"i0": a, "i1": b})
        fits = (table.rates <= [a, b]).all(axis=1)
        chosen = table.rates[fits][np.argmax(table.scores[fits])]
        assert not planner.plan(dict(zip(table.streams, chosen.tolist(), strict=True))).sheds
        if best.sheds:
            assert chosen.sum() >= (1 - 0.1 - 2 * 0.02) * best.score


@pytest.mark.parametrize("network", [FIG1, PAIR, TREE], ids=["Fig. 1", "pair", "tree"])
def test_each_site_sheds_for_itself_and_together_they_are_near_the_optimum(network):
    peers, planner = peers_of(network, 0.2), Planner(network)
    start(peers)
    rng, shed = np.random.default_rng(8), 0
    for _ in range(60):
        rates = {one.name: float(rng.uniform(0, network.most[one.name])) for one in network.inputs}
        best, arriving = planner.plan(rates), dict(rates)
        keeps: dict[Location, float] = {}
        for peer in peers.values():
            program = peer.site.program
            mine = peer.plan({name: arriving[name] for name in program.entering})
            shares = np.array([mine.get(location, 1.0) for location in program.locations])
            flows = program.flows(shares, program.rates(arriving))
            for name, those in program.targets.items():
                arriving[name] = sum(gain * flows[v] for v, gain in those.items())
            # The root has shed what a child would otherwise have to drop where it enters.
            inner = [k for k, stream in enumerate(program.entry) if stream >= 0]
            assert peer.site.parent is None or shares[inner] == pytest.approx(1.0)
            keeps |= {at: x for at, x in mine.items() if at not in keeps}
        walked = walk(network, keeps, rates)
        assert not walked.overloaded(network)
        assert walked.score >= (1 - 0.2) * best.score * (1 - 1e-6)
        assert bool(keeps) == best.sheds
        shed += best.sheds
    assert shed > 30


def test_stale_unknown_and_damaged_messages_are_ignored_and_reported():
    peers = peers_of(FIG1, 0.2)
    (profile,) = peers["B"].start()
    (spacing,) = peers["A"].receive(profile)
    (table,) = peers["B"].receive(spacing)
    peers["A"].receive(table)
    before = peers["A"].table
    stranger = Message("table", "C", "A", 9, {"base": None, "removed": [], "added": []})
    other = Message("profile", "B", "A", 9, {"worth": {}})
    lost = Message("spacing", "A", "C", 9, {})
    for data, said in (
        (profile, "A ignored a stale message: profile 1 from 'B'"),
        (table, "A ignored a stale message: table 2 from 'B'"),
        (stranger.encode(), "A ignored an unknown message: table 9 from 'C'"),
        (lost.encode(), "A ignored an unknown message: spacing 9 from 'A'"),
        (table[:-3] + b"0" + table[-2:], "A ignored a damaged message"),
        (b"", "A ignored a damaged message"),
        (other.encode(), "A ignored a message that it cannot read"),
        (b"\xff\xfe", "A ignored a damaged message"),
    ):
        assert peers["A"].receive(data) == []
        assert said in peers["A"].reports[-1]
        assert peers["A"].table is before


@pytest.mark.parametrize(("kind", "body"), NONSENSE)
def test_what_cannot_be_is_ignored_and_reported(kind, body):
    peers = peers_of(FIG1, 0.2)
    start(peers)
    to, sender = ("B", "A") if kind == "spacing" else ("A", "B")
    before = peers[to].table
    assert peers[to].receive(Message(kind, sender, to, 99, body).encode()) == []
    assert peers[to].reports[-1].startswith(f"{to} ignored ")
    assert peers[to].table is before


def test_entries_that_were_never_told_cannot_be_removed():
    peers = peers_of(FIG1, 0.2)
    start(peers)
    held = dict(peers["A"]._below["B"].scores)
    base = peers["A"]._versions["B"]
    nonsense = Message("table", "B", "A", 99, {"base": base, "removed": [9999], "added": []})
    (again,) = peers["A"].receive(nonsense.encode())
    assert "entries which it does not have" in peers["A"].reports[-1]
    assert peers["A"]._below["B"].scores == held
    peers["B"].version = 100
    deliver(peers, [again])
    assert sorted(peers["A"]._below["B"].scores.values()) == sorted(held.values())


def moved(down: bool) -> tuple[Network, Network]:
    """A chain of three boxes on two nodes, before and after its second moves to the other node."""

    def made(at: str) -> Network:
        boxes = list(PAIR.boxes)
        middle = Box("m0", at, ("a0",), 0.016, 0.8)
        boxes[2] = replace(boxes[2], inputs=("m0",))
        return replace(PAIR, boxes=(*boxes[:2], middle, *boxes[2:]))

    assert PAIR.boxes[2].name == "b0"
    one, other = made("A"), made("B")
    return (one, other) if down else (other, one)


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("order", ["AB", "BA"])
def test_a_box_that_moves_between_neighbours_leaves_the_tables_as_if_it_had_always_been_there(
    down, order
):
    before, after = moved(down)
    peers, sites = peers_of(before, 0.1), Tree(after).sites
    start(peers)
    for name in order:
        deliver(peers, peers[name].change(sites[name]))
    fresh = peers_of(after, 0.1)
    start(fresh)
    assert same(peers, {name: peer.table for name, peer in fresh.items()})
    rates = {"i0": 80.0, "i1": 80.0}
    assert peers["A"].plan(rates) == fresh["A"].plan(rates)


def test_changes_to_a_table_that_was_lost_make_the_child_send_all_of_it():
    peers = peers_of(FIG1, 0.2)
    (profile,) = peers["B"].start()
    (spacing,) = peers["A"].receive(profile)
    peers["B"].receive(spacing)  # the table is lost on its way
    changed = Tree(FIG1.changed("b0", selectivity=0.5)).sites["B"]
    _, changes = peers["B"].change(changed)  # and its profile, which is lost too
    (again,) = peers["A"].receive(changes)
    assert "which it does not have" in peers["A"].reports[-1]
    deliver(peers, [again])
    assert peers["A"].table is not None
    assert sorted(peers["A"]._below["B"].scores.values()) == pytest.approx(
        sorted(peers["B"].table.scores.tolist())  # type: ignore[union-attr]
    )


def test_a_parent_knows_when_its_child_has_become_slower():
    peers = peers_of(PAIR, 0.1)
    start(peers)
    rates = {"i0": 5.0, "i1": 12.0}
    assert peers["A"].plan(rates) == {}
    changed = PAIR.changed("b1", cost=0.08)
    deliver(peers, peers["B"].change(Tree(changed).sites["B"]))
    keeps = peers["A"].plan(rates)
    assert keeps
    assert not walk(changed, keeps, rates).overloaded(changed)
    assert walk(changed, keeps, rates).score >= 0.85 * Planner(changed).plan(rates).score


def test_a_stream_that_brings_nothing_is_the_first_to_go():
    network = PAIR.changed("b1", selectivity=0.0)
    peers = peers_of(network, 0.1)
    start(peers)
    keeps = peers["A"].plan({"i0": 5.0, "i1": 90.0})
    assert {at.after: keep for at, keep in keeps.items()} == {"i0": 1.0, "i1": 0.0}


def test_a_parent_that_hands_on_more_tells_its_children_what_can_arrive():
    # Half as many rows reached B as can now: its table must go further.
    half = PAIR.changed("a0", selectivity=0.2)
    peers = peers_of(half, 0.1)
    start(peers)
    deliver(peers, peers["A"].change(Tree(PAIR).sites["A"]))
    table, planner = peers["A"].table, Planner(PAIR)
    assert table is not None
    for a, b in np.random.default_rng(1).uniform(10, 100, (50, 2)).tolist():
        fits = (table.rates <= [a, b]).all(axis=1)
        best = planner.plan({"i0": a, "i1": b})
        assert not best.sheds or table.scores[fits].max() >= 0.86 * best.score


@pytest.mark.parametrize("dead", ["A", "B", "C", "D"])
def test_a_site_that_comes_back_from_the_dead_finds_its_place(dead):
    peers = peers_of(TREE, 0.3)
    start(peers)
    tables = {name: peer.table for name, peer in peers.items()}
    old = peers[dead]
    peers[dead] = Peer(old.site, 0.3, TREE.most, version=10_000)
    deliver(peers, peers[dead].start())
    assert same(peers, tables)
    # What its former self had sent is stale now.
    late = Message("profile", dead, old.site.parent or "A", old.version, {})
    if old.site.parent is not None:
        assert peers[old.site.parent].receive(late.encode()) == []
        assert "stale" in peers[old.site.parent].reports[-1]


@given(st.integers(0, 300), st.integers(1, 255))
def test_no_byte_of_a_message_can_change_unseen(place, by):
    data = bytearray(Message("again", "A", "B", 7, {"größe": [1.5, None]}).encode())
    assert Message.decode(bytes(data)).body == {"größe": [1.5, None]}
    data[place % len(data)] ^= by
    with pytest.raises(DamagedMessage):
        Message.decode(bytes(data))


def test_an_entry_has_the_same_id_whenever_it_is_chosen():
    peers = peers_of(PAIR, 0.2)
    start(peers)
    low, high = ({"i0": a, "i1": 90.0} for a in (5.0, 90.0))
    once, again, other = (peers["A"].choose(rates) for rates in (high, high, low))
    assert once is not None
    assert other is not None
    assert again == once
    assert re.fullmatch("[0-9a-f]{8}", once.id)
    assert once.id != other.id
    assert set(once.scaling) == {"i0", "i1"}
    assert all(0 <= share <= 1 for share in once.scaling.values())
    assert peers["A"].choose({"i0": 0.1, "i1": 0.1}) is None

"""Drops are planned with what it costs to take in the rows that somebody wants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control.prior import taking
from penstock.network.config import parse_config
from penstock.network.settings import QuerySettings
from penstock.planning.assume import workload
from penstock.planning.at_entrance import Entrances
from penstock.planning.known import Known
from penstock.planning.planner import plan
from penstock.planning.taken import taken
from penstock.planning.workload import Workload

NETWORK = """
[stream.packets]
source = "x"
event_time = "ts"
[query.all]
cql = "SELECT count(*) AS n FROM packets [RANGE 20 s SLIDE 5 s WATTR ts]"
[query.dns]
cql = "SELECT count(*) AS n FROM packets [RANGE 20 s SLIDE 5 s WATTR ts] WHERE port = 53"
[query.large]
cql = \"\"\"
SELECT count(*) AS n FROM packets [RANGE 20 s SLIDE 5 s WATTR ts] WHERE port = 53 AND size > 9\"\"\"
"""
GRAPH = parse_config(NETWORK, "a.toml").outline()
ASKS = {"all": (), "dns": ("port = 53",), "large": ("port = 53", "size > 9")}
SHARES = {"all": 1.0, "dns": 0.2, "large": 0.05}
RATE = 1e6


def load(times: float, take: float, aggregate: float) -> Workload:
    """A network that does so many times as much as it can."""
    names = list(GRAPH.names.values())
    filters = [name for name in names if name.startswith("filter")]
    known = Known(
        rates={"packets": RATE},
        costs={
            **dict.fromkeys(names, aggregate),
            **dict.fromkeys(filters, min(1e-12, aggregate)),
            "packets": 1e-8,
            taking("packets"): take,
        },
        selectivities=dict(zip(filters, (0.2, 0.25), strict=True)),
        hardness={"all": 1e-6, "dns": 3e-5, "large": 1e-3},
    )
    wants = {name: QuerySettings(name, 1.0, "approximate", None, {}) for name in ASKS}
    found, _ = workload(GRAPH, known, wants, errors="quantile")
    return Workload(found.nodes, found.queries, capacity=found.total / times, errors="quantile")


@given(times=st.floats(1.1, 6.0), take=st.floats(1e-8, 1e-6), aggregate=st.floats(1e-8, 1e-6))
def test_what_is_taken_in_is_within_the_capacity(
    times: float, take: float, aggregate: float
) -> None:
    network = load(times, take, aggregate)
    found = Entrances(GRAPH, ASKS).plan(network, plan)
    keeps = {name: one.keep for name, one in found.outcomes.items()}
    # By simulation: each row has a number, and is of a kind.
    number = (np.arange(20_000) + 0.5) / 20_000
    kinds = {("all",): 0.8, ("all", "dns"): 0.15, ("all", "dns", "large"): 0.05}
    wanted = sum(
        share * np.mean(number < max(keeps[name] for name in kind)) for kind, share in kinds.items()
    )
    aggregates = RATE * aggregate * sum(keeps[name] * SHARES[name] for name in ASKS)
    work = RATE * (1e-8 + take * wanted) + aggregates
    assert found.after == pytest.approx(work, rel=0.01)  # but for the filters
    assert found.before == network.total
    assert found.capacity == network.capacity
    least = RATE * 1e-8 + 0.02 * network.total
    if least < network.capacity:
        assert found.after <= network.capacity * 1.001
        assert found.after >= 0.75 * network.capacity or min(keeps.values()) == 1.0
    assert keeps["large"] >= keeps["all"]  # who is harder keeps more


def test_a_row_that_several_want_is_taken_in_once() -> None:
    network = load(3.0, 5e-7, 1e-8)
    found = Entrances(GRAPH, ASKS).plan(network, plan)
    naive = plan(network)  # it has all rows taken in that the neediest would keep if it wanted them
    errors = [max(one.error or 0.0 for one in of.outcomes.values()) for of in (found, naive)]
    assert errors[0] < errors[1] / 10


@pytest.mark.parametrize("times", [1.5, 3.0, 8.0, 20.0])
def test_rows_are_dropped_where_only_taking_them_in_costs_anything(times: float) -> None:
    # Costs are learnt, and a fit may give all of them to what takes rows in.
    some = load(times, take=5e-7, aggregate=0.0)
    found = Entrances(GRAPH, ASKS).plan(some, plan)
    assert 0.75 * some.capacity <= found.after <= some.capacity * 1.001
    assert found.outcomes["all"].keep < 1


def test_what_is_too_much_is_said_of_all_of_the_load() -> None:
    network = load(400.0, 5e-7, 1e-7)  # reading alone is more
    found = Entrances(GRAPH, ASKS).plan(network, plan)
    (note,) = found.notes
    assert f"stays at {found.after / network.capacity:.2f} times the capacity" in note
    assert not Entrances(GRAPH, ASKS).plan(load(3.0, 5e-7, 1e-7), plan).notes


def test_without_what_is_asked_nothing_changes() -> None:
    network = load(3.0, 5e-7, 1e-7)
    assert Entrances(GRAPH, {}).plan(network, plan) == plan(network)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "a b", "c"]), st.floats(0, 1)), max_size=6))
def test_taken_in_is_what_somebody_keeps(asking: list[tuple[str, float]]) -> None:
    shares = {"": 1.0, "a": 0.4, "a b": 0.1, "c": 0.3}
    kinds = {("", "a", "a b"): 0.1, ("", "a"): 0.3, ("", "c"): 0.3, ("",): 0.3}
    expected = sum(
        share * max((keep for what, keep in asking if what in kind), default=0.0)
        for kind, share in kinds.items()
    )
    found = taken((frozenset(what.split()), shares[what], keep) for what, keep in asking)
    assert found == pytest.approx(expected)

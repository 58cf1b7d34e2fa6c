"""Solver and Solver-W: never more than ε below the optimum, stoppable, saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from penstock.errors import SpecificationError
from penstock.nodes import (
    Box,
    Exponential,
    Input,
    Network,
    Node,
    Observed,
    Output,
    Planner,
    Progress,
    load_plans,
    plans_in_advance,
    save_plans,
)
from penstock.nodes.regions import Region, divide
from tests.nodes.naive import walk
from tests.nodes.networks import FIG1, chains, random_network


def loss(network, planner, plans, rates) -> float | None:
    """How far the plan for some rates is below the optimum; None if none is needed."""
    choice, best = plans.select(rates), planner.plan(rates)
    if choice is None:
        assert not best.sheds
        return None
    walked = walk(network, plans.keeps(choice), rates)
    assert not walked.overloaded(network)
    return 1 - walked.score / best.score if best.score > 0 else 0.0


@pytest.mark.parametrize("error", [0.3, 0.1])
def test_no_plan_is_more_than_epsilon_below_the_optimum(error):
    losses = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        network = random_network(rng, inputs=2)
        plans, planner = plans_in_advance(network, error=error), Planner(network)
        assert plans.error <= error
        for _ in range(20):
            rates = {one.name: float(rng.uniform(0, 3)) for one in network.inputs}
            losses.append(loss(network, planner, plans, rates))
    found = [each for each in losses if each is not None]
    assert len(found) > 200
    assert max(found) <= error + 1e-6


def test_the_guarantee_holds_on_the_corners_of_regions_too():
    plans, planner = plans_in_advance(FIG1, error=0.1), Planner(FIG1)
    corners = [
        c for c, plan in zip(plans.parts[0].corner, plans.parts[0].plan, strict=True) if plan >= 0
    ]
    for corner in corners:
        each = loss(FIG1, planner, plans, dict(zip(plans.parts[0].inputs, corner, strict=True)))
        assert each is None or each <= 1e-6


def test_many_dimensions_are_divided_until_it_is_stopped():
    # 2^8 parts at a time would be thousands of programs before anything is known.
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return progress.regions > 500

    network = chains([0.016, 0.008] * 4, [0.008, 0.016] * 4, rate=20.0, most=60.0)
    plans = plans_in_advance(network, error=0.1, stop=stop)
    assert 0.1 < plans.error < 1
    assert plans.error == seen[-1].error
    errors = [progress.error for progress in seen]
    assert errors == sorted(errors, reverse=True)
    planner, rng = Planner(network), np.random.default_rng(1)
    for _ in range(50):
        rates = {one.name: float(rng.uniform(0, 60)) for one in network.inputs}
        each = loss(network, planner, plans, rates)
        assert each is None or each <= plans.error + 1e-6


@pytest.mark.parametrize("mean", [0.3, 0.6])
def test_solver_w_needs_fewer_regions_for_the_same_expected_error(mean):
    # As in Fig. 10(b): Solver runs first, and what it comes to is what Solver-W is asked for.
    workload, planner = Exponential((mean, mean)), Planner(FIG1)
    solver = divide(planner, error=0.05)
    expected = sum(
        region.error * workload.probability(region.low, region.high)
        for region in leaves(solver.root)
    )
    weighted = divide(planner, expected=expected, workload=workload)
    assert weighted.expected <= expected
    assert weighted.regions < 0.8 * solver.regions
    assert weighted.worst > 0.05


def leaves(region: Region) -> Iterator[Region]:
    if region.lower is None or region.upper is None:
        yield region
    else:
        yield from leaves(region.lower)
        yield from leaves(region.upper)


def test_the_expected_error_is_kept_on_rates_as_they_were_observed():
    rng = np.random.default_rng(5)
    seen = rng.exponential(1.0, (400, 2)).clip(0, 2.99)
    plans = plans_in_advance(FIG1, expected=0.02, workload=lambda _: Observed(seen))
    planner = Planner(FIG1)
    losses = [loss(FIG1, planner, plans, {"i0": a, "i1": b}) or 0.0 for a, b in seen.tolist()]
    assert np.mean(losses) <= 0.02
    assert plans.error > 0.02


def test_fragments_are_planned_apart_and_chosen_together():
    both = Network(
        (*FIG1.nodes, Node("C")),
        (*FIG1.inputs, Input("other", 1.0, 5.0)),
        (*FIG1.boxes, Box("c", "C", ("other",), 1.0)),
        (*FIG1.outputs, Output("c", "c")),
    )
    plans = plans_in_advance(both, error=0.1)
    assert len(plans.parts) == 2
    planner, rng = Planner(both), np.random.default_rng(2)
    for _ in range(50):
        rates = {one.name: float(rng.uniform(0, 3)) for one in both.inputs}
        each = loss(both, planner, plans, rates)
        assert each is None or each <= 0.1 + 1e-6
    choice = plans.select({"i0": 0.0, "i1": 0.0, "other": 4.0})
    assert choice is not None
    assert choice.id.startswith("-/")
    assert choice.scaling["i0"] == 1.0


def test_whenever_it_is_stopped_all_fragments_are_about_as_good():
    apart = chains([0.016, 0.008, 0.012], [0.008, 0.016, 0.01], rate=20.0, most=60.0)
    both = Network(
        (*FIG1.nodes, *(Node(f"{n.name}2") for n in apart.nodes)),
        (*FIG1.inputs, *(Input(f"{i.name}2", i.rate, i.most) for i in apart.inputs)),
        (
            *FIG1.boxes,
            *(
                Box(f"{b.name}2", f"{b.node}2", tuple(f"{n}2" for n in b.inputs), b.cost)
                for b in apart.boxes
            ),
        ),
        (*FIG1.outputs, *(Output(f"{o.name}2", f"{o.after}2") for o in apart.outputs)),
    )
    seen: list[Progress] = []

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return progress.regions > 300

    plans = plans_in_advance(both, error=1e-3, stop=stop)
    errors = [part.error for part in plans.parts]
    assert len(errors) == 2
    assert plans.error == max(errors) == seen[-1].error
    assert max(errors) < 2.5 * min(errors) < 1
    assert seen[-1].regions == sum(axis < 0 for part in plans.parts for axis in part.axis)


def test_plans_are_the_same_after_a_file(tmp_path):
    plans = plans_in_advance(FIG1, error=0.1)
    save_plans(plans, tmp_path / "plans")
    again = load_plans(tmp_path / "plans")
    rng = np.random.default_rng(3)
    for a, b in rng.uniform(0, 3, (100, 2)).tolist():
        choice = plans.select({"i0": a, "i1": b})
        assert again.select({"i0": a, "i1": b}) == choice
        if choice is not None:
            assert again.keeps(choice) == plans.keeps(choice)


def test_a_file_that_is_not_whole_is_refused(tmp_path):
    save_plans(plans_in_advance(FIG1, error=0.3), tmp_path / "plans")
    data = (tmp_path / "plans").read_bytes()
    for damaged in (b"", b"PK no", data[: len(data) // 2], data[:200] + b"x" * 50 + data[250:]):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(SpecificationError, match="must be a file of plans that is whole"):
            load_plans(tmp_path / "damaged")


@pytest.mark.parametrize(
    "wanted", [{}, {"error": 0.1, "expected": 0.1}, {"expected": 0.1}, {"error": 0.0}]
)
def test_how_good_plans_are_to_be_must_be_said_once(wanted):
    with pytest.raises(SpecificationError):
        plans_in_advance(FIG1, **wanted)


def test_inputs_without_a_rate_cannot_be_planned_for():
    with pytest.raises(SpecificationError, match="most of an input"):
        plans_in_advance(chains((1.0,), (1.0,), rate=0.0), error=0.1)

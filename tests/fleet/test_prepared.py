"""A node with plans that were made in advance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import UsageError
from penstock.fleet.prepared import Prepared
from penstock.nodes import Plans, load_plans, optimal_plan, plans_in_advance, save_plans
from tests.fleet.bus import seen
from tests.nodes.networks import FIG1

A = {name: 1.0 for box in FIG1.boxes if box.node == "A" for name in box.inputs}


def test_a_node_looks_its_plan_up_in_a_file_and_tells_the_phases(tmp_path):
    save_plans(plans_in_advance(FIG1, error=0.05), tmp_path / "plans")
    lines: list[str] = []
    node = Prepared(FIG1, "A", load_plans(tmp_path / "plans"), lines.append)
    assert node.start() == node.tick(None) == []
    for rate in (0.1, 1.0, 1.0, 0.1):
        node.tick(seen(FIG1, "A", dict.fromkeys(A, rate)))
        if rate == 1.0:
            kept = [node.keeps[place] for place in optimal_plan(FIG1).keeps]
            assert 0.95 * 0.6 <= sum(kept) <= 0.6 + 1e-9
    assert node.keeps == {}
    words = [line.partition(":")[0] for line in lines]
    assert words == ["planned", "overloaded", "chosen", "in force", "lifted"]


def test_one_that_has_measured_nothing_drops_nothing():
    node = Prepared(FIG1, "A", plans_in_advance(FIG1, error=0.2), lambda _: None)
    node.tick(seen(FIG1, "A", {}))
    assert node.keeps == {}


def test_plans_for_other_inputs_are_refused():
    (part,) = plans_in_advance(FIG1, error=0.2).parts
    other = Plans((replace(part, inputs=("one", "two")),))
    with pytest.raises(UsageError, match="must be plans for the inputs"):
        Prepared(FIG1, "A", other, lambda _: None)

"""The example of two nodes goes by what has happened, on however slow a machine."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = Path(__file__).parents[2] / "examples" / "nodes" / "run.py"


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nodes_example", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(shed: int, **rates: float | None) -> dict[str, Any]:
    return {"rates": rates, "accounts": {"a1": {"shed": shed}, "a2": {"shed": shed}}}


def test_rows_are_many_from_when_they_are_counted_until_a_plan_is_in_force_for_a_while():
    made = example()
    course = made.Course("coordinator", 100.0)
    counted, dropped = report(0, left=9.0, right=9.0), report(7, left=9.0, right=9.0)
    said = "… coordinator planned: …\n"
    assert course.share(1.0, {}, "") == made.FEW
    assert course.share(90.0, report(0, left=9.0, right=None), said) == made.FEW
    assert course.share(95.0, counted, said) == 1.0
    assert course.share(190.0, counted, said) == 1.0  # no plan yet: it is waited for
    said += "… A in force: plan 1\n… coordinator in force: plan 1\n"
    assert course.share(200.0, counted, said) == 1.0
    assert course.share(216.0, counted, said) == 1.0  # no batch has gone by it
    assert course.share(220.0, dropped, said) == made.FEW
    assert course.share(250.0, dropped, said) == made.FEW
    assert course.share(299.0, dropped, said + "… coordinator lifted: …\n") is None


def test_it_ends_whatever_has_been_reached():
    assert example().Course("A", 100.0).share(300.0, {}, "") is None


def test_nodes_that_plan_alone_go_by_the_time():
    made = example()
    course = made.Course("", 100.0)
    shares = [course.share(at, {}, "") for at in (1.0, 30.0, 70.0, 100.0)]
    assert shares == [made.FEW, 1.0, made.FEW, None]

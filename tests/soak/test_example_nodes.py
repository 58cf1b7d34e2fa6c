"""The example of two nodes runs with one command, and its log has all phases (F4)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock.bench.kafka.jars import jars

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
PHASES = ("planned", "overloaded", "chosen", "in force", "lifted")


def in_order(wanted: Iterable[str], said: Iterable[str]) -> bool:
    """Whether all of them were said, one after the other, whatever was said between."""
    left = iter(said)
    return all(phase in left for phase in wanted)


def test_the_example_plans_drops_and_lifts() -> None:
    for name in ("connector", "broker"):
        if isinstance(found := jars(name), str):
            pytest.skip(found)
    done = subprocess.run(
        [sys.executable, "examples/nodes/run.py", "coordinator", "150"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    told = done.stdout[-4000:] + done.stderr[-2000:]
    assert done.returncode == 0, told
    said = [m[1] for m in re.finditer(r" coordinator ([a-z ]+):", done.stdout)]
    assert in_order(PHASES, said), (said, told)
    plan = r" A in force: plan [0-9a-f]{8}, inputs scaled by left (0|0\.\d+)\b"
    assert re.search(plan, done.stdout), told
    for box in ("a1", "a2"):
        rows = re.search(rf"A {box}: .*'rows': (\d+), 'kept': (\d+), 'shed': (\d+)", done.stdout)
        assert rows is not None, told
        came, kept, shed = map(int, rows.groups())
        assert came == kept + shed, told
        assert shed > 0, told
    assert re.search(r"first: \d\d+ answers", done.stdout), told

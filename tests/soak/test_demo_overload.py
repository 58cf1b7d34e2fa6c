"""`make demo`, as a new user sees it: the overload, the shedding, and the recovery."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

PHASES = re.compile(r"^\S+ batch \d+ ([\w-]+):", re.MULTILINE)


def test_the_demo_sheds_in_its_burst_recovers_and_accounts_for_every_row(tmp_path: Path) -> None:
    penstock = str(Path(sys.executable).with_name("penstock"))
    command = [penstock, "demo", "overload", "--report", "report"]
    ran = subprocess.run(
        [*command, "--svg", "demo.svg"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout
    assert "this machine takes" in said
    phases = PHASES.findall(said)
    assert phases[0] == "warm-up"
    assert phases.count("shedding") >= 2
    assert phases[-1] == "exact"
    assert "accounts  balanced: every row of every query is dropped or taken" in said
    demand = re.search(r"demand\s+at most ([\d.]+) x", said)
    assert demand is not None
    assert float(demand[1]) > 1.2
    assert "shedding" in (tmp_path / "demo.svg").read_text()
    assert (tmp_path / "report" / "report.html").stat().st_size > 10_000

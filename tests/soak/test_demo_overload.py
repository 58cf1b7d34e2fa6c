"""`make demo`, as a new user sees it: the overload, the shedding, and the recovery."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

PHASES = re.compile(r"^\S+ batch \d+ ([\w-]+):", re.MULTILINE)
TRIES = 2


def shown(folder: Path) -> str:
    """What the demo says; it must end well, with all rows accounted for, and be drawn."""
    folder.mkdir()
    penstock = str(Path(sys.executable).with_name("penstock"))
    command = [penstock, "demo", "overload", "--report", "report", "--svg", "demo.svg"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "this machine takes" in ran.stdout
    assert "accounts  balanced: every row of every query is dropped or taken" in ran.stdout
    assert (folder / "report" / "report.html").stat().st_size > 10_000
    return ran.stdout


def missed(said: str) -> str | None:
    """What of the overload, the shedding and the recovery was not to be seen."""
    phases = PHASES.findall(said)
    assert phases[0] == "warm-up"
    demand = re.search(r"demand\s+at most ([\d.]+) x", said)
    assert demand is not None
    if float(demand[1]) <= 1.2:
        return f"no overload: {said}"
    if phases.count("shedding") < 2:
        return f"no shedding: {said}"
    return None if phases[-1] == "exact" else f"no recovery: {said}"


def test_the_demo_sheds_in_its_burst_recovers_and_accounts_for_every_row(tmp_path: Path) -> None:
    """Rows must balance in every try, and the overload be met in one.

    What others do on the machine may change after its capacity was measured; then the burst is
    another one, or does not end.
    """
    said = []
    for number in range(TRIES):
        why = missed(shown(tmp_path / str(number)))
        if why is None:
            assert "shedding" in (tmp_path / str(number) / "demo.svg").read_text()
            return
        said.append(why)
    pytest.fail("\n".join(said))

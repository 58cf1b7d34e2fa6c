"""`kill -9` of the driver, over and over: the stream goes on as if nothing had been."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.soak.driver import GAPS
from tests.soak.drivers import Driver, flush, make_files
from tests.soak.noted import (
    attempts,
    delivered,
    exact_and_near,
    numbers,
    same_accounts,
    same_ledger,
)

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

KILLS = 20
INSIDE = ("written", "noted", "planned")
"""Points at which a driver ends itself: with the answers written, noted, and the plan written."""
OUTSIDE = ("begun", "offsets", "penstock/plans", "commits")
"""What a driver has done, a moment before it is killed from outside."""
AHEAD = 4
"""Files that a driver finds."""


def deaths(seed: int) -> list[tuple[str, float]]:
    """Where each driver dies, in random order, and how many seconds later."""
    of = random.Random(seed)
    points = [*INSIDE * 3, *OUTSIDE * 2]
    points += of.choices(OUTSIDE, k=KILLS - len(points))
    of.shuffle(points)
    return [(point, of.uniform(0.0, 3.0 if point == "begun" else 0.6)) for point in points]


@dataclass
class Killed:
    """A stream whose drivers die.

    Args:
        folder: where all is.
        files: how many there are.
        drivers: those that have begun, and one that gets ready.
    """

    folder: Path
    files: int = 0
    drivers: list[Driver] = field(default_factory=list)

    @property
    def committed(self) -> list[int]:
        """The batches that are done."""
        return numbers(self.folder / "checkpoint" / "commits")

    def driver(self) -> Driver:
        """A driver that is ready; the one after it gets ready meanwhile."""
        for _ in range(1 if self.drivers else 2):
            self.drivers.append(Driver(self.folder / f"driver-{len(self.drivers)}"))
        return self.drivers[-2]

    def go_on(self, **order: Any) -> Driver:
        """The next driver begins."""
        driver = self.driver()
        places = [self.folder / name for name in ("in", "checkpoint", "out")]
        driver.begin(*places, attempt=len(self.drivers), **order)
        return driver

    def die(self, point: str, delay: float) -> bool:
        """A driver goes on, and dies; False if it had nothing to do any more before that."""
        last = max(self.committed, default=-1)
        if last + 1 + AHEAD > self.files:
            make_files(self.folder / "in", self.files, last + 1 + AHEAD)
            self.files = last + 1 + AHEAD
        driver = self.go_on(die=point if point in INSIDE else "")
        if point in OUTSIDE:
            if point != "begun":
                done = self.folder / "checkpoint" / point
                driver.wait_for(done / str(max(numbers(done), default=-1) + 1))
            time.sleep(delay)
            driver.kill()
        code = driver.wait()
        self.unread()
        assert code in (0, -signal.SIGKILL), driver.complaints
        return code != 0

    def unread(self) -> None:
        """Takes back a file that is noted as read in a batch that has not begun.

        Spark's file source notes the files of a batch before the batch has its offsets. Killed in
        between, it makes one batch of two files: other batches than those of the script.
        """
        checkpoint = self.folder / "checkpoint"
        begun = max(numbers(checkpoint / "offsets"), default=-1)
        for noted in numbers(checkpoint / "sources" / "0"):
            if noted > begun:
                (checkpoint / "sources" / "0" / str(noted)).unlink()
                (checkpoint / "sources" / "0" / f".{noted}.crc").unlink(missing_ok=True)

    def end(self) -> None:
        """The last driver reads what there is, and a row far ahead, which closes all windows."""
        flush(self.folder / "in", self.files)
        self.files += 1
        self.go_on(idle=True).finish()

    def undisturbed(self) -> None:
        """The same files with another checkpoint, by one driver."""
        driver = self.drivers[-1]
        places = [self.folder / name for name in ("in", "calm-checkpoint", "calm")]
        driver.begin(*places, idle=True)
        driver.finish()

    def unshed(self) -> None:
        """The same files by a driver that drops nothing."""
        driver = Driver(self.folder / "driver-of-all")
        self.drivers.append(driver)
        places = [self.folder / name for name in ("in", "whole-checkpoint", "whole")]
        driver.begin(*places, idle=True, whole=True)
        driver.finish()

    def close(self) -> None:
        """Ends the driver that got ready in vain, and after a failure whatever runs."""
        for driver in self.drivers:
            driver.kill()


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Killed]:
    made = Killed(tmp_path)
    yield made
    made.close()


def test_the_stream_goes_on_as_if_nothing_had_been(killed: Killed) -> None:
    all_deaths = deaths(seed=6)
    for point, delay in all_deaths:
        while not killed.die(point, delay):
            pass
    killed.end()
    killed.undisturbed()
    killed.unshed()
    out, calm = killed.folder / "out", killed.folder / "calm"
    wanted = {n: tries[0] for n, tries in attempts(calm / "attempts").items()}
    got = attempts(out / "attempts")
    assert set(got) == set(wanted)
    for batch, tries in got.items():
        assert all(one == wanted[batch] for one in tries), batch
    # Wherever it died with the answers noted, the same batch has noted them again.
    again = sum(point in ("noted", "planned") for point, _ in all_deaths)
    assert sum(len(tries) - 1 for tries in got.values()) >= again
    assert delivered(out) == delivered(calm)
    shown = {row["query"] for row in map(json.loads, delivered(out))}
    assert shown == {"sampled", "sliding", "top"}
    exact_and_near(out, killed.folder / "whole", GAPS)
    same_accounts(out / "accounts", calm / "accounts")
    same_ledger(out / "ledger.json", calm / "ledger.json")
    assert json.loads((out / "problems.json").read_text()) == [[]]

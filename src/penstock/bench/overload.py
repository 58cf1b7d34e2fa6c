"""Is the latency target held, and is as little lost as possible, at several times the capacity?

Packets arrive by a schedule (`feed`). Their response time is from when they were published until
the batch that took them was delivered: Spark says which seconds of the schedule a batch took, and
when it ended. What a batch costs, and a row, kept or dropped, comes from runs before: with next to
no rows and with many, which are all kept, or all dropped.

    capacity    rows a second that can all be kept, with 95 % of them in time: batches take
                target / 1.95 then, and a little less because they vary (`machine`)
    shed        the share of rows that no query got
    least shed  1 - (1/load - x) / (1 - x), if a dropped row costs x of a kept one: with subset
                answers each row is asked first what is in it, and x is what that costs, too
    unasked     the same if rows went without being asked, as where no query has its windows
    max_gap     B: what one window in B + 1 has of the rows can just be kept at the highest load
    not given   of the rows that each query asked for, the share that it did not get; a row may be
                kept for one and dropped on the way to another that needs fewer
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.bench.arrived import Measured, lost
from penstock.bench.beside import Beside, other_work
from penstock.bench.checked import Checked, checked
from penstock.bench.feed import BLOCK, RAMP, SLACK, Feed, Truth, begin
from penstock.bench.machine import WARM, Machine, line, line_near, off, seconds
from penstock.bench.packets import START, WORKLOAD, ours
from penstock.engine.network_run import NetworkRun

LOADS = (0.8, 2.0, 3.0, 5.0)
KINDS = ("approximate", "subset")
OVERLAP = 12
"""RANGE over SLIDE of the queries, at most."""
WANTED = {"held": 1.1, "excess_shed": 0.05, "avg_error": 0.05}
NOTHING = 0.001
WARMING, LOOKED = 60, 50
"""Seconds until Java is warm, and of each run that tells what rows cost."""
ENOUGH, SLOW = 2 * WARM, 4
"""Batches of each of these runs, at least, and how many times as long it may last for that."""
FEW, LONG, MORE, TRIES = 4_000, 2.0, 1.8, 4
"""Rows a second that cost next to nothing; how many times as long a batch must take for it to be
told what its rows cost; how many times more rows come until it does, how often that is tried."""
LONGEST = 1.5
"""Times what a batch takes at the capacity: longer ones do not tell what rows cost there."""
NO_HURRY = "1 hour"
"""A target that is never missed."""
NEARLY, TIMES, LEAST = 0.7, 6, 1e-7
"""The share of the capacity, and how many times that, at which it is measured what a dropped row
costs; no row costs less than that, in seconds."""
RARE, ASKED = "web_large", (1.0, 2.5)
"""The query that is kept, and how many times the same rate, while it is measured what it costs to
ask a row what is in it."""
_MOST_OF_IT = 0.95
"""Of what a kept row costs, a dropped one costs no more."""
WARM_LOAD = 3.0
"""In multiples of the capacity, while Java gets warm with dropping."""
SETTLE = 50
"""Seconds after the rate is reached until it counts: Java gets warm with dropping, too."""

BEFORE, BUSY, AFTER = 30, 60, 60
"""Seconds before other work, with it, and after it."""

Say = Callable[[str], None]


def run(spark: SparkSession, *, quick: bool, say: Say) -> dict[str, object]:
    """Runs all of it.

    Args:
        spark: a session with two cores.
        quick: one load, and a minute.
        say: where progress goes.
    """
    measured = 120 if not quick else 40
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        bench = Overload(spark, Path(folder), say)
        machine = bench.calibrate(rate=800_000)
        say(f"   {machine.capacity:,.0f} rows a second can be kept within {machine.target:.1f} s")
        found: dict[str, Any] = {"on": {}, "off": {}, "machine": machine.values()}
        for kind in KINDS:
            say(f"warming up with {kind} answers that lose rows")
            bench.warm(machine, kind, WARMING if quick else 2 * WARMING)
            for load in LOADS if not quick else (2.0,):
                say(f"{kind} answers at {load:g} times the capacity")
                name = f"{kind} {load:g}"
                found["on"][name] = one = bench.case(machine, kind, load, measured, mode="on")
                say(f"   p95 {one['p95_s']} s for {one['target_s']} s, {one['shed']:.1%} shed")
        if not quick:
            say("3 times the capacity, and nothing is shed")
            off = bench.case(machine, "approximate", 3.0, measured, mode="off")
            found["off"]["approximate 3"] = off
            say("2 times the capacity, and other work takes a core for a minute")
            found["beside"] = bench.beside(machine, 2.0)
        return found | {"wanted": WANTED}


@dataclass
class Overload:
    """Runs of the workload.

    Args:
        spark: a session.
        folder: for checkpoints.
        say: where progress goes.
    """

    spark: SparkSession
    folder: Path
    say: Say
    runs: int = 0
    max_gap: int = 1
    ended: float = 0.0
    begins: list[float] = field(default_factory=list)
    answers: list[dict[str, Any]] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)

    def calibrate(self, rate: int) -> Machine:
        """Runs with next to no rows, with more and with many that are kept, and that are dropped.

        Args:
            rate: packets a second, to begin with.
        """

        def looked(what: str, each: float, keep: float, length: float) -> list[dict[str, Any]]:
            self.say(what)
            # All are kept while somebody looks whether they can be: that is part of what they cost.
            how = {"latency": NO_HURRY} if keep == 1 else {"keep": keep}
            # Few would not come at all while they rise.
            run = self._start("approximate", round(each), how, 20 if each > FEW else 0)
            self._finish(run, length, batches=ENOUGH)
            return self.reports

        looked("warming up", rate, 1.0, WARMING)
        few = looked("what a batch costs", FEW, 1.0, LOOKED // 2)
        # A row costs so little that it is only seen where batches take far longer for their rows.
        runs = [looked("what a row costs", rate, 1.0, LOOKED)]
        while seconds(runs[-1]) < LONG * seconds(few) and len(runs) < TRIES:
            rate = round(MORE * rate)
            runs.append(looked("what a row costs where there are more", rate, 1.0, LOOKED))
        most = LONGEST * Machine(seconds(few), LEAST, 0.0).best
        fixed, kept = line_near([few, *runs], most)
        # What counts is what batches take there; far from it rows may cost something else.
        full = Machine(seconds(few), max(kept, LEAST), 0.0, fixed).capacity
        runs.append(looked("what batches take at the capacity", full, 1.0, LOOKED))
        fixed, kept = line_near([few, *runs], most)
        kept = max(kept, LEAST)
        apart = off(runs[-1], fixed, kept)
        full = NEARLY * Machine(seconds(few), kept, 0.0, fixed, off=apart).capacity
        looked("warming up with rows that are dropped", TIMES * full, NOTHING, WARMING)
        # With next to no answers a batch takes less time, whatever its rows cost.
        drops = [
            looked("what a row costs that is dropped", times * full, NOTHING, LOOKED // 2)
            for times in (1, TIMES)
        ]
        dropped = min(line(drops)[1], _MOST_OF_IT * kept)
        asked = self._asked(full, kept, dropped)
        return Machine(seconds(few), kept, dropped, fixed, asked, apart)

    def _asked(self, rate: float, kept: float, dropped: float) -> float:
        """Seconds of a row that is asked what is in it and goes: all but one query have no windows.

        Args:
            rate: packets a second that can be kept.
            kept: seconds of a row that is kept.
            dropped: of one that is dropped and not asked.
        """
        drop = {name: 1.0 for name in WORKLOAD if name != RARE}
        self.max_gap = 100 * OVERLAP

        def looked(what: str, times: float, length: float) -> list[dict[str, Any]]:
            self.say(what)
            run = self._start("subset", round(times * rate), {"drop": drop}, 20)
            self._finish(run, length, batches=ENOUGH)
            return self.reports

        looked("warming up with rows that are asked what is in them", ASKED[-1], WARMING)
        what = "what a row costs that is asked, and dropped"
        runs = [looked(what, times, LOOKED // 2) for times in ASKED]
        share = Truth(self.spark, round(rate)).asked[RARE]
        each = (line(runs)[1] - share * kept) / (1 - share)
        return min(max(each, dropped), _MOST_OF_IT * kept)

    def warm(self, machine: Machine, kind: str, length: float) -> None:
        """Lets Java get warm with dropping: it compiles for minutes, at first on a whole core.

        Args:
            machine: what it can do.
            kind: of the answers; each has code of its own.
            length: in seconds.
        """
        latency = f"{machine.target * 1000:.0f} ms"
        self.max_gap = machine.max_gap(max(LOADS), OVERLAP)
        run = self._start(kind, round(WARM_LOAD * machine.capacity), {"latency": latency})
        self._finish(run, length)

    def case(
        self, machine: Machine, kind: str, load: float, length: float, *, mode: str
    ) -> dict[str, Any]:
        """One load.

        Args:
            machine: what it can do.
            kind: of the answers.
            load: in multiples of the capacity.
            length: seconds that are measured, after the rate has been reached.
            mode: "on" or "off".
        """
        rate = round(load * machine.capacity)
        target, self.max_gap = machine.target, machine.max_gap(max(LOADS), OVERLAP)
        run = self._start(kind, rate, {"latency": f"{target * 1000:.0f} ms", "mode": mode})
        self._finish(run, RAMP + SETTLE + length)
        measured = self._measured(run)
        times = measured.responses(None if mode == "on" else self.ended)
        truth = Truth(self.spark, rate)
        shed = measured.shed()
        least = machine.least_shed(load, asked=kind == "subset")
        found: dict[str, Any] = {
            "load": load,
            "target_s": round(target, 2),
            "p50_s": round(float(np.quantile(times, 0.5)), 2),
            "p95_s": round(float(np.quantile(times, 0.95)), 2),
            "max_s": round(float(times.max()), 2),
            "held": round(float(np.quantile(times, 0.95)) / target, 3),
            "shed": round(shed, 4),
            "least_shed": round(least, 4),
            "excess_shed": round(shed - least, 4),
            "not_given": round(measured.lost(truth.asked), 4),
            "first_s": round(float(np.median(times[: len(times) // 10])), 2),
            "last_s": round(float(np.median(times[-len(times) // 10 :])), 2),
        }
        # None of the windows of a subset may be wrong, at whatever time.
        whole = kind == "subset" or not measured.steady
        errors = self._errors(truth, START if whole else measured.since)
        found |= {"avg_error": round(errors.mean, 4), "windows": len(errors.errors)}
        found["wrong_rows"] = errors.wrong if kind == "subset" else None
        if kind == "subset":
            found["max_gap"] = self.max_gap
            found["least_unasked"] = round(machine.least_shed(load), 4)
            found["lost_windows"] = round(lost(run), 4)
        return found

    def beside(self, machine: Machine, load: float) -> dict[str, float | int]:
        """A load with approximate answers, and other work for a while.

        Args:
            machine: what it can do.
            load: in multiples of the capacity.
        """
        latency = f"{machine.target * 1000:.0f} ms"
        run = self._start("approximate", round(load * machine.capacity), {"latency": latency})

        def go_on(length: float) -> float:
            run.wait(length)
            return time.time()

        since = go_on(RAMP + SETTLE)
        begins = go_on(BEFORE)
        with other_work():
            ends = go_on(BUSY)
        go_on(AFTER)
        run.stop()
        return Beside(run.history, since, begins, ends).values()

    def _start(self, kind: str, rate: int, how: Mapping[str, Any], ramp: int = RAMP) -> NetworkRun:
        self.runs += 1
        self.answers = []
        rows = Feed(rate, ramp)
        queries = {}
        for name, query in ours(rows, list(WORKLOAD), slack=SLACK).queries.items():
            assert isinstance(query, ps.WindowQuery)  # noqa: S101 - all of them have windows
            gap = self.max_gap
            queries[name] = query.subset(gap) if kind == "subset" else query.approximate()

        def sink(batch: DataFrame, _: int) -> None:
            self.answers += [row.asDict() for row in batch.collect()]

        checkpoint = self.folder / f"checkpoint-{self.runs}"
        self.begins = begin(checkpoint, time.time())
        return ps.Network(**queries).start(str(checkpoint), sink=sink, **how)

    def _finish(self, run: NetworkRun, length: float, batches: int = 0) -> None:
        """Lets it run for so many seconds, and on a slow machine until there are enough batches."""
        began = time.monotonic()
        reports: dict[int, dict[str, Any]] = {}

        def goes_on() -> bool:
            passed = time.monotonic() - began
            return passed < length or (passed < SLOW * length and len(reports) < batches)

        while goes_on() and not run.wait(2.0):
            reports |= {report["batchId"]: report for report in run.parts[0].run.progress}
        self.ended = time.time()
        run.stop()
        reports |= {report["batchId"]: report for report in run.parts[0].run.progress}
        # Spark counts blocks of rows.
        self.reports = [
            {**reports[batch], "numInputRows": BLOCK * reports[batch]["numInputRows"]}
            for batch in sorted(reports)
        ]

    def _measured(self, run: NetworkRun) -> Measured:
        return Measured(run, self.reports, self.begins, RAMP + SETTLE)

    def _errors(self, truth: Truth, since: float) -> Checked:
        """Of the windows that were delivered, from a time on."""
        late = [row for row in self.answers if row["window_start"].timestamp() * 1e6 >= since]
        return checked(late, truth)

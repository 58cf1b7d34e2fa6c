"""A network in a loop with its regulator: the target is held, and no more is shed than needed."""

from dataclasses import dataclass, field, replace

import pytest

from penstock.control.observation import Flow, Observation
from penstock.control.settings import Warmup
from penstock.control.statistics import Statistics
from penstock.errors import SpecificationError
from penstock.network.config import parse_config
from penstock.network.settings import QuerySettings
from penstock.planning.limits import Limits
from penstock.planning.regulator import Ended, Regulator

FIXED, READ, COUNT = 0.4, 4e-7, 4e-6
"""Seconds of a batch, of a row that is read, and of a row that is counted."""

WARMUP = 6

NETWORK = """
[stream.packets]
source = "x"
event_time = "ts"
[query.traffic]
cql = "SELECT count(*) AS n FROM packets [RANGE 10 s SLIDE 1 s WATTR ts]"
"""


@dataclass
class Machine:
    """Batches that follow each other at once; each takes all rows that came during the last."""

    regulator: Regulator
    statistics: Statistics
    slower: float = 1.0
    seconds: float = 1.0
    collected: float = 1.0
    keep: float = 1.0
    at: float = 0.0
    batch: int = 0
    lumps: float | None = None
    waiting: float = 0.0
    responses: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)

    def run(self, rate: float, batches: int) -> None:
        for _ in range(batches):
            rows = self.waiting + rate * self.collected
            if self.lumps is not None:
                whole = self.lumps * (rows // self.lumps)
                rows, self.waiting = whole, rows - whole
            work = FIXED + rows * READ + rows * self.keep * COUNT
            self.seconds = work * self.slower
            self.at += self.seconds
            response = 0.95 * self.collected + self.seconds
            self.responses.append(response)
            self.kept.append(self.keep)
            flows = {
                "packets": Flow(rows, rows * self.keep),
                **dict.fromkeys(self.regulator.graph.queries, Flow(rows * self.keep)),
            }
            seen = Observation(
                batch=self.batch,
                seconds=self.seconds,
                at=self.at,
                rows={"packets": rows},
                operators=flows,
            )
            now = self.statistics.observe(seen)
            ended = Ended(
                rows={"packets": rows},
                collected=self.collected,
                seconds=self.seconds,
                response=response,
            )
            decision = self.regulator.step(ended, now)
            found = decision.planned
            self.keep = found.outcomes["traffic"].keep if found is not None else 1.0
            self.collected = self.seconds
            self.batch += 1


def machine(target: float, limits: Limits | None = None, network: str = NETWORK) -> Machine:
    graph = parse_config(network, "a.toml").outline()
    wants = {name: QuerySettings(name, 1.0, "approximate", None, {}) for name in graph.queries}
    kinds = {"packets": "source", **dict.fromkeys(graph.queries, "aggregate")}
    statistics = Statistics(kinds, ["packets"], list(graph.queries), warmup=Warmup(0.0, 3))
    return Machine(Regulator(graph, wants, target, limits=limits or Limits()), statistics)


def capacity(target: float) -> float:
    """The rows of a second that can all be counted in time."""
    best = target / 1.95
    return (best - FIXED) / (best * (READ + COUNT))


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_nothing_is_shed_that_fits(load: float) -> None:
    one = machine(3.0)
    one.run(load * capacity(3.0), 60)
    assert min(one.kept[WARMUP:]) == 1.0
    assert max(one.responses[WARMUP:]) <= 3.0


def test_rows_that_come_in_lumps_are_no_more_rows() -> None:
    """A batch has nine of them, or ten: by that one alone, more would come than fits."""
    one = machine(3.0)
    rate = 0.93 * capacity(3.0)
    one.lumps = rate / 8
    one.run(rate, 120)
    assert min(one.kept[WARMUP:]) == 1.0
    assert max(one.responses[WARMUP:]) <= 1.1 * 3.0


@pytest.mark.parametrize("load", [2.0, 3.0, 5.0])
def test_the_target_is_held_and_the_least_is_shed(load: float) -> None:
    one = machine(3.0)
    one.run(0.8 * capacity(3.0), 20)
    one.run(load * capacity(3.0), 60)
    late = one.responses[40:]
    assert max(late) <= 1.1 * 3.0
    x = READ / (READ + COUNT)
    most = (1 / load - x) / (1 - x)
    assert sum(one.kept[40:]) / len(one.kept[40:]) >= most - 0.05
    one.run(0.5 * capacity(3.0), 20)
    assert one.kept[-10:] == [1.0] * 10


@pytest.mark.parametrize(("max_error", "alike"), [(None, True), (0.0002, False)])
def test_queries_keep_the_same_share_while_errors_are_small_enough(max_error, alike) -> None:
    more = """[query.brief]
cql = "SELECT count(*) AS n FROM packets [RANGE 1 s SLIDE 1 s WATTR ts]"
"""
    one = machine(3.0, Limits(max_error=max_error), NETWORK + more)
    one.run(3 * capacity(3.0), 40)
    assert one.regulator.last is not None
    assert one.regulator.last.planned is not None
    keep = {name: of.keep for name, of in one.regulator.last.planned.outcomes.items()}
    assert 0 < keep["traffic"] < 1
    assert (keep["traffic"] == pytest.approx(keep["brief"])) == alike


def test_a_machine_that_becomes_half_as_fast_is_noticed() -> None:
    one = machine(3.0)
    one.run(1.5 * capacity(3.0), 40)
    before = one.kept[-1]
    one.slower = 2.0
    one.run(1.5 * capacity(3.0), 40)
    assert max(one.responses[-30:]) <= 1.1 * 3.0
    assert one.kept[-1] < before


def test_an_error_budget_is_kept_if_answers_win() -> None:
    strict = machine(3.0, Limits(max_error=0.0002, wins="answers"))
    strict.run(3 * capacity(3.0), 12)
    assert strict.regulator.last is not None
    found = strict.regulator.last.planned
    assert found is not None
    assert (found.outcomes["traffic"].error or 0.0) <= 0.0002 * (1 + 1e-3)
    assert "the latency target is missed" in strict.regulator.last.notes[-1]
    loose = machine(3.0, Limits(max_error=0.0002, wins="latency"))
    loose.run(3 * capacity(3.0), 60)
    assert max(loose.responses[-20:]) <= 1.1 * 3.0
    assert loose.regulator.last is not None
    assert any("max_error is 0.0002" in note for note in loose.regulator.last.notes)


def test_what_makes_no_sense_leaves_the_last_plan() -> None:
    one = machine(3.0)
    one.run(3 * capacity(3.0), 40)
    before = one.regulator.last
    assert before is not None
    nonsense = Ended(rows={"packets": 1e5}, collected=1.0, seconds=float("nan"))
    after = one.regulator.step(nonsense, one.statistics.now)
    assert after.planned == before.planned
    assert "makes no sense" in after.admitted.reason


def test_a_query_that_is_to_stay_exact_is_never_sampled() -> None:
    one = machine(3.0)
    one.regulator = replace(one.regulator, wants={})
    one.run(3 * capacity(3.0), 5)
    assert one.kept == [1.0] * 5


def test_limits_are_checked() -> None:
    with pytest.raises(SpecificationError, match="max_error must be above 0 and at most 1"):
        Limits(max_error=5)
    with pytest.raises(SpecificationError, match="wins must be one of latency, answers"):
        Limits(wins="nobody")  # type: ignore[arg-type]


def _done(one: Machine, rate: float) -> float:
    """What the cost model gives for a batch of which a tenth is counted."""
    return one.statistics.now.costs.predict({"packets": rate, "traffic": 0.1 * rate})


@pytest.mark.parametrize("told", [True, False])
def test_windows_that_were_dropped_before_are_no_fast_machine(told: bool) -> None:
    """Nothing is planned to be dropped, and a tenth of the work is left by what was decided."""
    one = machine(3.0)
    rate = 0.8 * capacity(3.0)
    one.run(3 * capacity(3.0), 40)  # what reading costs is learnt
    one.run(rate, 30)
    assert one.regulator.last is not None
    before = one.regulator.last.admitted.headroom
    work = rate * (READ + 0.1 * COUNT)
    for _ in range(20):
        ended = Ended(
            rows={"packets": rate},
            collected=1.0,
            seconds=FIXED + work,
            pace=_done(one, rate) / (FIXED + work) if told else None,
        )
        decision = one.regulator.step(ended, one.statistics.now)
    headroom = decision.admitted.headroom
    assert headroom == pytest.approx(before, rel=0.2) if told else headroom > 1.5 * before

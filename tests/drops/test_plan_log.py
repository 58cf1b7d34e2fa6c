"""Each batch finds its own record again; a damaged log never lets a wrong window through."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.decisions import Decisions, Frontier, Level, Run
from penstock.drops.log import PlanLog, Record
from penstock.drops.plan import Arc, Plan, RandomDrop
from penstock.drops.sealed import seal
from penstock.engine.files import Folder
from penstock.errors import RecordDamaged, SpecificationError
from penstock.windows import sliding, tumbling, window_bounds

NEWEST = 1_000


class InMemory(dict):
    """A folder that is a dictionary."""

    def names(self):
        return list(self)

    def read(self, name):
        return self[name]

    def write(self, name, content):
        self[name] = content

    def remove(self, name):
        self.pop(name, None)


def record(batch):
    plan = Plan((RandomDrop(Arc("a", "b"), 0.5),))
    dropped = {"n": tuple(Run(3 * i, 3 * i, i, i % 2 == 0) for i in range(batch + 1))}
    levels = {"m": (Level(0, batch, 2**61, 3),)}
    return Record(batch, plan, Decisions(7, dropped, levels, {"n": Frontier(9, 1)}))


def log_of(batches, folder=None):
    folder = InMemory() if folder is None else folder
    log = PlanLog(folder)
    for batch in batches:
        log.write(record(batch))
    return log, folder


@pytest.fixture(params=["memory", "files"])
def folder(request, tmp_path):
    return InMemory() if request.param == "memory" else Folder(str(tmp_path), "plans")


def test_a_replayed_batch_finds_its_own_record(folder):
    log, _ = log_of(range(5), folder)
    for batch in (3, 4, 0):
        found = log.at(batch, NEWEST)
        assert found.record == record(batch)
        assert found.report == ""
    assert PlanLog(folder).at(4, None).record == record(4)


def test_the_first_batch_of_a_new_log_drops_nothing_and_nothing_is_wrong(folder):
    found = PlanLog(folder).at(0, None)
    assert (found.record, found.report) == (Record(0), "")


def damaged(text, how):
    return {
        "truncated": text[: len(text) // 2],
        "empty": b"",
        "tampered": text.replace(b"0.5", b"0.1"),
        "bytes": b"\xff" * 9,
    }[how]


@pytest.mark.parametrize(
    "how", ["truncated", "empty", "tampered", "bytes", "missing", "of another"]
)
def test_a_damaged_record_drops_nothing_further_and_suppresses_what_was_dropped(folder, how):
    log, _ = log_of(range(5), folder)
    if how == "missing":
        folder.remove("4.json")
    elif how == "of another":
        folder.write("4.json", record(2).to_json().encode())
    else:
        folder.write("4.json", damaged(folder.read("4.json"), how))
    found = log.at(4, NEWEST)
    assert found.record == Record(4, Plan(), record(3).decisions)
    assert "batch 4" in found.report
    assert "what was dropped in batch 3 stays suppressed" in found.report
    assert "\n" not in found.report
    log.write(found.record)
    assert log.at(4, NEWEST).report == ""


def test_if_the_one_before_is_gone_too_every_window_that_has_begun_is_suppressed():
    log, folder = log_of(range(5))
    del folder["4.json"], folder["3.json"]
    found = log.at(4, NEWEST)
    assert found.record.plan == Plan()
    assert found.record.decisions.dropped == record(2).decisions.dropped
    assert found.record.decisions.suppress_until == NEWEST + 1
    assert found.report.endswith("and every open window")


@pytest.mark.parametrize("batch", [0, 4])
def test_if_nothing_is_readable_every_window_that_has_begun_is_suppressed(batch):
    log, folder = log_of(range(5))
    for name in folder:
        folder[name] = b"{}"
    found = log.at(batch, NEWEST)
    assert found.record == Record(batch, Plan(), Decisions(suppress_until=NEWEST + 1))
    assert "no record before it is readable" in found.report
    assert log.at(batch, None).record.decisions.suppress_until is None  # no row, no window begun


@pytest.mark.parametrize("window", [sliding(60, 10, on="ts"), tumbling(25, on="ts", origin=3)])
def test_the_windows_that_have_begun_are_those_with_a_row_up_to_the_newest(window):
    state = Decisions(suppress_until=NEWEST + 1)
    for w in range(200):
        start, _ = window_bounds(w, window)
        assert start is not None
        assert state.is_lost(window, w) == (start <= NEWEST)
        assert not Decisions().is_lost(window, w)


def test_a_failure_of_the_file_system_counts_as_unreadable():
    class Broken(InMemory):
        def read(self, name):
            raise OSError("no route to host")

    log, _ = log_of(range(2), Broken())
    assert "no route to host" in log.at(1, NEWEST).report


def test_only_the_last_records_are_kept(folder):
    folder.write("stray.txt", b"")
    folder.write("4.json.new", b"")
    PlanLog(folder).write(record(0))
    log = PlanLog(folder, kept=10)
    for batch in range(20, 40):
        log.write(record(batch))
    left = sorted(int(n.removesuffix(".json")) for n in folder.names() if n.endswith(".json"))
    assert left == list(range(30, 40))
    assert {"stray.txt", "4.json.new"} <= set(folder.names())


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.integers(0, 9))
def test_what_was_dropped_before_is_never_delivered(missing, broken, batch):
    """Whatever is damaged: windows that were dropped, or may have been, stay suppressed."""
    log, folder = log_of(range(10))
    for other in missing:
        del folder[f"{other}.json"]
    for other in broken - missing:
        folder[f"{other}.json"] = folder[f"{other}.json"][:-9]
    found = log.at(batch, NEWEST)
    state = found.record.decisions
    window = tumbling(10, on="ts")
    if missing >= set(range(10)) and batch == 0:
        return  # no different from a new log
    for run in record(batch - 1).decisions.runs("n") if batch else ():
        for w in range(run.first, run.last + 1):
            assert state.is_dropped("n", w) or state.is_lost(window, w)
    assert bool(found.report) == (batch in missing | broken)


def test_records_that_cannot_be_are_refused():
    with pytest.raises(SpecificationError, match="batch must be a whole number"):
        Record(-1)
    state = Decisions().to_json()
    values = {"batch": 1, "plan": Plan().values(), "decisions": state}
    assert Record.from_json(seal("plan record", 1, values)) == Record(1)
    broken = {"dropped": {"n": [[4, 3, 0, 0]]}}
    for other in ({"batch": -1}, {"plan": 3}, {"decisions": {**state, **broken}}):
        with pytest.raises(RecordDamaged, match="one that can be"):
            Record.from_json(seal("plan record", 1, {**values, **other}))


def test_records_grow_with_open_windows_only():
    sizes = [len(record(batch).to_json()) for batch in (1, 10, 100)]
    assert all(b > a for a, b in pairwise(sizes))
    assert sizes[-1] < 2500

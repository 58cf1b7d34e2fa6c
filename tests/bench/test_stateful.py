"""A very small run of `penstock bench stateful`: both engines deliver, and the same."""

import penstock as ps
from penstock.bench import stateful
from penstock.bench.stateful import Case, cases, measure
from penstock.windows import Kind


def test_both_engines_are_measured_and_compared(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(stateful, "WARM_UP", 0)
    monkeypatch.setattr(stateful, "FILES_A_BATCH", 1)
    case = Case(ps.rows(5, 2), 2, ("k",), batch=400, batches=1)
    report = measure(spark, tmp_path, case, lambda _: None)
    assert report["results_compared"] > 500
    assert report["batches_different"] == 0
    assert min(report["penstock"], report["buffering"], report["ratio"]) > 0
    assert list(tmp_path.iterdir()) == []


def test_every_stateful_kind_has_a_case_that_it_is_known_by():
    known = [case.kind for case in cases(quick=False) if case.sweep is None]
    assert known == [case.kind for case in cases(quick=True)]
    native = {Kind.SLIDING, Kind.TUMBLING, Kind.CUMULATIVE, Kind.SESSION}
    assert set(known) == {kind.value for kind in set(Kind) - native}
    assert set(stateful.WANTED) <= set(known)

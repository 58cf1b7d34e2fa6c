"""Every window kind as a stream, in every order and with every way to tell how far it is.

Spark's answers are compared batch by batch with an evaluator that keeps every row.
"""

from __future__ import annotations

import random
import time
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.windows import WindowSpec, cumulative
from penstock.windows.aggregates import AVG, COUNT_ALL, MAX, SUM
from penstock.windows.kinds import SLIDE_BY_KINDS
from penstock.windows.sessions import sessions_of
from tests.engine.streams import SECOND, START, Files, instant, run_penstock
from tests.processors.naive import Naive

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("k", pa.string()),
        ("v", pa.int64()),
        ("kind", pa.string()),
    ]
)
KINDS = {
    "sliding": ps.sliding("7 s", "3 s", on="ts"),
    "tumbling": ps.tumbling("5 s", on="ts"),
    "cumulative": cumulative("12 s", "4 s", on="ts"),
    "landmark": ps.landmark("6 s", on="ts"),
    "tuple": ps.rows(20, 6),
    "tuple with gaps": ps.rows(4, 9),
    "partitioned tuple": ps.rows(8, 3, by="k"),
    "slide by tuple": ps.slide_by_tuple("4 s", on="ts"),
    "slide by rows": ps.slide_by_rows("4 s", on="ts", every=3),
    "slide by rank": ps.slide_by_rank("4 s", on="ts", every=3),
}
AGGS = {"n": (COUNT_ALL, None), "s": (SUM, "v"), "m": (MAX, "v"), "a": (AVG, "v")}
MARKS = ps.punctuation("kind = 'mark'", up_to="ts")
MARKS_BY_KEY = ps.punctuation("kind = 'mark'", up_to="ts", by="k")

COUNTED = ps.Fold("counted", int, lambda n, x: n + (x is not None), lambda a, b: a + b, lambda n: n)

Batches = list[list[dict[str, Any]]]


def ordered(draw: random.Random, batches: int = 4) -> Batches:
    return _batches(draw, batches, late=0)


def bounded(draw: random.Random, batches: int = 4) -> Batches:
    """Rows come up to three seconds late."""
    return _batches(draw, batches, late=3)


def very_late(draw: random.Random, batches: int = 4) -> Batches:
    """Rows come so late that many of their windows are over."""
    return _batches(draw, batches, late=12)


def block_sorted(draw: random.Random, batches: int = 4) -> Batches:
    """Keys come one after the other, each a block of time in order; a mark ends the round."""
    stream = []
    for number in range(batches):
        begin = START + number * 5 * SECOND
        rows = []
        for key in ("b", "a"):
            times = sorted(draw.randrange(0, 5 * SECOND, 1000) for _ in range(12))
            rows += [_row(begin + t, key, draw) for t in times]
            rows.append({"ts": begin + 5 * SECOND, "k": key, "v": None, "kind": "mark"})
        stream.append(rows)
    return stream


def _batches(draw: random.Random, batches: int, late: int) -> Batches:
    stream = []
    for number in range(batches):
        begin = START + number * 5 * SECOND
        times = [draw.randrange(-late * SECOND, 5 * SECOND, 1000) for _ in range(25)]
        if not late:
            times.sort()
        stream.append([_row(begin + t, draw.choice(["a", "b", None]), draw) for t in times])
    if late:
        stream[1][3]["ts"] = None
    return stream


def _row(ts: int, key: str | None, draw: random.Random) -> dict[str, Any]:
    return {"ts": ts, "k": key, "v": draw.choice([None, draw.randint(-9, 9)]), "kind": "row"}


def run(spark, folder, spec: Any, batches: Batches, **options) -> tuple[dict, ps.Run]:
    files = Files(spark, folder, SCHEMA)
    for batch in batches:
        files.add(batch)
    asked = {"n": ps.count(), "s": ps.sum("v"), "m": ps.max("v"), "a": ps.avg("v")}
    query = ps.stream(files.stream(), "ts", **options).window(spec).by("k").agg(**asked)
    found: dict[int, list[tuple]] = {}
    return found, run_penstock(query, folder / "checkpoint", found)


def expected(spec: WindowSpec, batches: Batches, overs: list[int], late: str) -> tuple[dict, Naive]:
    """The results of each batch; `overs` is what is over at its end."""
    naive = Naive(spec, ["k"], AGGS, late)
    found = {}
    for number, over in enumerate(overs):
        batch = batches[number] if number < len(batches) else []
        rows = sorted((row for row in batch if row["kind"] == "row"), key=_arrival)
        results = [_tuple(result, spec) for result in naive.advance(rows, over)]
        if results:
            found[number] = sorted(results, key=repr)
    return found, naive


def _arrival(row: dict[str, Any]) -> list[tuple[bool, Any]]:
    return [(row[name] is None, row[name] or 0) for name in ("ts", "k", "v")]


def _tuple(result: dict[str, Any], spec: WindowSpec) -> tuple[Any, ...]:
    values = (result["k"], *(result[name] for name in AGGS))
    if "wid" not in result:
        start, end = result["window_start"], result["window_end"]
        return (_naive_time(start), _naive_time(end), *values)
    wid = result["wid"]
    return (_naive_time(wid) if spec.kind in SLIDE_BY_KINDS else wid, *values)


def _naive_time(micros: int | None) -> Any:
    moment = instant(micros)
    return None if moment is None else moment.replace(tzinfo=None)


def watermarks(batches: Batches, slack: int = 0, *, marks: bool = False) -> list[int]:
    """L(N) of every batch, and of one without data if the watermark moved at last."""
    overs, over, seen = [], 0, 0
    for batch in [*batches, []]:
        overs.append(over)
        times = [
            row["ts"]
            for row in batch
            if row["ts"] is not None and (row["kind"] == "mark" or not marks)
        ]
        seen = max([seen, *times])
        over = max(over, seen // 1000 * 1000 - slack)
    return overs if overs[-1] > overs[-2] else overs[:-1]


def check(found: dict, want: dict, ran: ps.Run, naive: Naive, **others: int) -> None:
    assert found == want
    assert found, "no window was delivered"
    reported = ran.accounts
    for name, number in {**naive.accounts, **others}.items():
        assert reported[name] == number, name


@pytest.mark.parametrize("name", KINDS)
def test_ordered_rows(spark, tmp_path, name):
    spec, batches = KINDS[name], ordered(random.Random(name))
    found, ran = run(spark, tmp_path, spec, batches)
    want, naive = expected(spec, batches, watermarks(batches), "generous")
    check(found, want, ran, naive)


@pytest.mark.parametrize("late", ["generous", "consistent"])
@pytest.mark.parametrize("name", ["landmark", "slide by tuple", "slide by rows", "slide by rank"])
def test_late_rows(spark, tmp_path, name, late):
    spec, batches = KINDS[name], very_late(random.Random(name))
    found, ran = run(spark, tmp_path, spec, batches, slack="2 s", late=late)
    want, naive = expected(spec, batches, watermarks(batches, 2 * SECOND), late)
    assert naive.accounts["late_lost"] + naive.accounts["late_partial"] > 0
    check(found, want, ran, naive)


@pytest.mark.parametrize("name", ["sliding", "landmark", "slide by tuple", "tuple"])
def test_punctuation_makes_slack_needless(spark, tmp_path, name):
    spec, batches = KINDS[name], block_sorted(random.Random(name))
    found, ran = run(spark, tmp_path, spec, batches, progress=MARKS)
    want, naive = expected(spec, batches, watermarks(batches, marks=True), "generous")
    assert naive.accounts["late_lost"] == naive.accounts["late_partial"] == 0
    check(found, want, ran, naive, broken=0)


@pytest.mark.parametrize("name", ["sliding", "slide by tuple"])
def test_punctuation_of_one_key_closes_its_windows(spark, tmp_path, name):
    spec, batches = KINDS[name], block_sorted(random.Random(name))
    found, ran = run(spark, tmp_path, spec, batches, progress=MARKS_BY_KEY)
    ends = [max(r["ts"] for r in batch if r["kind"] == "mark") for batch in batches]
    want, naive = expected(spec, batches, ends, "generous")
    check(found, want, ran, naive, broken=0)


@pytest.mark.parametrize("name", ["sliding", "slide by rank"])
def test_slack_in_rows(spark, tmp_path, name):
    spec, batches = KINDS[name], bounded(random.Random(name))
    found, ran = run(spark, tmp_path, spec, batches, progress=ps.row_slack(30))
    seen: list[int] = []
    overs = []
    for batch in batches:
        seen += [r["ts"] for r in sorted(batch, key=_arrival) if r["ts"] is not None]
        overs.append(max(seen[: max(0, len(seen) - 30)], default=0))
    want, naive = expected(spec, batches, overs, "generous")
    check(found, want, ran, naive)


def test_order_per_key_waits_for_every_key(spark, tmp_path):
    """Two sensors, each in order, one five seconds behind the other."""
    draw = random.Random(4)
    batches = [
        [_row(row["ts"] - 5 * SECOND * (row["k"] == "b"), row["k"], draw) for row in batch]
        for batch in ordered(draw)
    ]
    for batch in batches:
        for row in batch:
            row["k"] = row["k"] or "a"
    files = Files(spark, tmp_path, SCHEMA)
    for batch in batches:
        files.add(batch)
    stream = ps.stream(files.stream(), "ts", progress=ps.ordered_by("k"))
    query = stream.window(ps.tumbling("4 s", on="ts")).agg(n=ps.count())
    found: dict[int, list[tuple]] = {}
    ran = run_penstock(query, tmp_path / "checkpoint", found)
    naive = Naive(ps.tumbling("4 s", on="ts"), [], {"n": (COUNT_ALL, None)}, "generous")
    newest: dict[str, int] = {}
    want = {}
    for number, batch in enumerate(batches):
        for row in batch:
            newest[row["k"]] = max(newest.get(row["k"], 0), row["ts"])
        results = naive.advance(batch, min(newest.values()))
        if results:
            want[number] = [
                (_naive_time(r["window_start"]), _naive_time(r["window_end"]), r["n"])
                for r in results
            ]
    assert found == want
    assert ran.accounts["broken"] == 0


def test_a_broken_promise_is_counted_and_the_row_is_late(spark, tmp_path):
    def row(second: float, kind: str = "row") -> dict[str, Any]:
        return {"ts": START + int(second * SECOND), "k": "a", "v": 1, "kind": kind}

    batches = [
        [row(1), row(2), row(10, "mark")],
        [row(11)],
        [row(3), row(9.5), row(12), row(20, "mark")],
        [row(21), row(30, "mark")],
    ]
    spec = ps.tumbling("5 s", on="ts")
    for folder, progress, broken in (("all", MARKS, 2), ("key", MARKS_BY_KEY, 2)):
        found, ran = run(spark, tmp_path / folder, spec, batches, progress=progress)
        windows = [r[1] for results in found.values() for r in results]
        assert len(windows) == len(set(windows))
        counted = sum(r[3] for results in found.values() for r in results)
        assert ran.accounts["broken"] == broken
        assert ran.accounts["late_lost"] == 2
        assert counted == 5


def test_sessions_equal_the_definition(spark, tmp_path):
    batches = bounded(random.Random(3))
    batches.append([_row(START + 100 * SECOND, "a", random.Random(1))])
    found, ran = run(spark, tmp_path, ps.session("1 s", on="ts"), batches, slack="5 s")
    want = []
    for key in ("a", "b", None):
        rows = [r for b in batches for r in b if r["k"] == key and r["ts"] is not None]
        for start, end in sessions_of([r["ts"] for r in rows], SECOND):
            if end <= START + 95 * SECOND:
                inside = [r for r in rows if start <= r["ts"] < end]
                known = [r["v"] for r in inside if r["v"] is not None]
                total = sum(known) if known else None
                want.append((_naive_time(start), _naive_time(end), key, len(inside), total))
    got = [r[:5] for results in found.values() for r in results]
    assert sorted(got, key=repr) == sorted(want, key=repr)
    assert ran.accounts["no_time"] == 1


@pytest.mark.parametrize("way", ["aggregate in Python", "promises by key"])
def test_sessions_that_spark_has_no_operator_for(spark, tmp_path, way):
    """The same answers as by Spark's own operator, in a batch and in a stream."""
    batches = bounded(random.Random(3))
    batches.append([_row(START + 100 * SECOND, "a", random.Random(1))])
    progress = MARKS_BY_KEY if way == "promises by key" else None
    if progress is not None:
        batches.append(
            [{"ts": START + 95 * SECOND, "k": k, "v": 0, "kind": "mark"} for k in ("a", "b", None)]
        )
        batches.append([])
    files = Files(spark, tmp_path, SCHEMA)
    for batch in batches:
        files.add(batch)
    asked: dict[str, Any] = {"n": ps.count(), "s": ps.sum("v")}
    if progress is None:
        asked["mine"] = ps.user_defined(COUNTED, "v", returns="bigint")

    def sessions(rows: Any, slack: str | int) -> ps.WindowQuery:
        stream = ps.stream(rows, "ts", slack, progress=progress)
        return stream.window(ps.session("1 s", on="ts")).by("k").agg(**asked)

    streamed = sessions(files.stream(), 0 if progress else "5 s")
    assert streamed.evaluation.name == "processor"
    found: dict[int, list[tuple]] = {}
    run_penstock(streamed, tmp_path / "checkpoint", found)
    got = sorted((r for results in found.values() for r in results), key=repr)
    plain = ps.stream(spark.read.parquet(str(tmp_path / "source")), "ts").where("kind = 'row'")
    native = (
        plain.window(ps.session("1 s", on="ts"))
        .by("k")
        .agg(n=ps.count(), s=ps.sum("v"), mine=ps.count("v"))
    )
    assert native.evaluation.name == "Spark"
    want = [tuple(row) for row in native.dataframe().collect()]
    want = [r for r in want if r[1] <= _naive_time(START + 95 * SECOND)]
    assert got == sorted((r[: 3 + len(asked)] for r in want), key=repr)
    assert len(got) > 5


def test_windows_over_a_number_that_is_no_time(spark, tmp_path):
    files = Files(spark, tmp_path, pa.schema([*SCHEMA, ("seq", pa.int64())]))
    numbers = [[-9, -4, 0, 3], [1, 5, 12], [6, 20], [31]]
    for batch in numbers:
        files.add([{"ts": START, "k": "a", "v": n, "kind": "row", "seq": n} for n in batch])
    stream = ps.stream(files.stream(), event_time="seq", slack=5)
    found: dict[int, list[tuple]] = {}
    query = stream.window(10, every=5).agg(n=ps.count(), s=ps.sum("v"))
    run_penstock(query, tmp_path / "checkpoint", found)
    got = sorted(r for results in found.values() for r in results)
    everything = [n for batch in numbers for n in batch]
    want = []
    for start in range(-20, 30, 5):
        inside = [n for n in everything if start <= n < start + 10]
        if inside and start + 10 <= 26:
            want.append((start, start + 10, len(inside), sum(inside)))
    assert got == want


def test_a_heartbeat_closes_windows_while_no_rows_come(spark, tmp_path):
    files = Files(spark, tmp_path, SCHEMA)
    now = int(time.time()) * SECOND
    files.add([{"ts": now + i * 1000, "k": "a", "v": i, "kind": "row"} for i in range(10)])
    stream = ps.stream(files.stream(), "ts", progress=ps.heartbeat("2 s"))
    query = stream.window(ps.tumbling("1 s", on="ts")).by("k").agg(n=ps.count(), s=ps.sum("v"))
    found: dict[int, list[tuple]] = {}

    def keep(batch, number: int) -> None:
        if rows := [tuple(row) for row in batch.collect()]:
            found[number] = rows

    started = query.start(
        str(tmp_path / "checkpoint"),
        foreach_batch=keep,
        trigger={"processingTime": "200 milliseconds"},
    )
    deadline = time.monotonic() + 180
    while not found and time.monotonic() < deadline:
        started.wait(0.2)
    started.stop()
    results = [row for rows in found.values() for row in rows]
    assert sum(row[3] for row in results) == 10
    assert sum(row[4] for row in results) == 45


@pytest.mark.parametrize("name", ["tuple", "slide by rank", "landmark"])
def test_a_restart_goes_on_where_the_stream_stopped(spark, tmp_path, name):
    """In two runs, the same as in one; a batch without data ends the first."""
    spec, batches = KINDS[name], bounded(random.Random(name))
    files, found = Files(spark, tmp_path, SCHEMA), dict[int, list[tuple]]()
    for part in (batches[:2], batches[2:]):
        for batch in part:
            files.add(batch)
        stream = ps.stream(files.stream(), "ts", slack="3 s")
        asked = {"n": ps.count(), "s": ps.sum("v"), "m": ps.max("v"), "a": ps.avg("v")}
        run_penstock(stream.window(spec).by("k").agg(**asked), tmp_path / "checkpoint", found)
    untimed = name == "tuple"
    halves = batches if untimed else [*batches[:2], [], *batches[2:]]
    want, _ = expected(spec, halves, watermarks(halves, 3 * SECOND), "generous")
    assert found == want

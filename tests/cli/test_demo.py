"""The demo: its packets, its check, its pictures, and once all of it."""

import io
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import functions as F
from rich.console import Console

from penstock.cli.demo.exact import Comparison, compare
from penstock.cli.demo.packets import BATCH, HOSTS, SECOND, SLACK, Packets
from penstock.cli.demo.stream import Answer, Seen, answers, ask
from penstock.cli.demo.view import View, frame, plain

START = 1_700_000_000 * SECOND
PACKETS = Packets(START, per_batch=1_000)
NONE_LOST = {"no_time": 0, "in_no_window": 0, "late_lost": 0, "late_partial": 0, "broken": 0}


class TestPackets:
    def test_ordinary_packets_are_never_late_and_a_few_are(self, spark):
        arrival = F.lit(START) + F.col(BATCH) * SECOND
        delay = arrival - F.unix_micros("ts")
        found = PACKETS.batch(spark, 20).agg(
            F.count_if(delay <= SLACK), F.count_if(delay > SLACK), F.count_if(F.isnull("ts"))
        )
        ordinary, late, timeless = found.collect()[0]
        assert ordinary > 19_900
        assert late > 0
        assert timeless > 0

    def test_every_host_sends(self, spark):
        assert PACKETS.batch(spark, 20).select("host").distinct().count() == HOSTS


class TestTheCheck:
    def test_windows_that_are_missing_are_found(self, spark):
        found = compare(spark, PACKETS, 6, [], NONE_LOST)
        assert found.different == found.compared > HOSTS
        assert not found.identical

    def test_one_number_that_is_wrong_is_found(self, spark):
        # In three batches no packet comes too late for anything: a plain batch gives the same.
        until = F.unix_micros("window_end") <= START - SECOND
        packets = Packets(START, per_batch=500)
        query = ask(packets.batch(spark, 3))
        right = answers(query.dataframe().where(until))
        first, *rest = right
        wrong = first._replace(largest=first.largest + 1)
        for delivered, different in [(right, 0), ([wrong, *rest], 1), ([*right, first], 1)]:
            found = compare(spark, packets, 3, delivered, query.accounts)
            assert found == Comparison(len(right), different)

    def test_it_says_so(self):
        assert str(Comparison(1_200, 0)) == (
            "1,200 windows compared with the same rows computed as a batch: identical"
        )
        assert str(Comparison(9, 2)).endswith(": 2 differ")
        assert str(Comparison(9, 0, NONE_LOST)).endswith(": 0 differ, and the accounts")


def progress(batch: int) -> dict:
    return {
        "batchId": batch,
        "timestamp": datetime.fromtimestamp(START // SECOND + batch, UTC).isoformat(),
        "numInputRows": 20_000,
        "durationMs": {"triggerExecution": 400},
        "observedMetrics": {"penstock": {"late_lost": 3, "no_time": 2}},
    }


def a_run(batches: int) -> Seen:
    seen = Seen(seconds=60)
    for batch in range(batches):
        end = START + batch * SECOND
        seen._delivered[batch] = [
            Answer(end - 10 * SECOND, end, f"host-{h:02d}", 1_000 + h, 9**h, 640.5, 1_500)
            for h in range(12)
        ]
        seen.note(progress(batch))
    return seen


class TestTheView:
    @pytest.mark.parametrize("batches", [0, 1, 5])
    @pytest.mark.parametrize("width", [80, 100, 200])
    def test_a_picture_fits_a_small_terminal_and_keeps_its_height(self, batches, width):
        console = Console(file=io.StringIO(), width=width, record=True, force_terminal=True)
        console.print(frame(a_run(batches)))
        lines = console.export_text().splitlines()
        assert len(lines) == 17
        assert max(map(len, lines)) <= width

    def test_a_batch_is_counted_once_and_only_if_it_was_delivered(self):
        seen = a_run(5)
        seen.note(progress(4))
        seen.note(progress(5))
        assert (seen.batches, seen.rows) == (5, 100_000)
        assert (seen.accounts["late_lost"], seen.accounts["no_time"]) == (15, 10)
        assert seen.per_second == 20_000

    def test_elsewhere_it_is_a_line_now_and_then(self):
        console = Console(file=io.StringIO(), record=True, width=80)
        view, seen = View(console), a_run(5)
        for seen.elapsed in (0, 1, 4, 5, 9.9):
            view.show(seen)
        lines = console.export_text().splitlines()
        assert len(lines) == 2
        assert lines[1] == plain(seen).replace(" 10 s", "  5 s")


def test_the_demo_runs_ends_and_is_exact(tmp_path):
    picture = tmp_path / "demo.svg"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "80"}
    result = subprocess.run(
        [
            Path(sys.executable).with_name("penstock"),
            "demo",
            "windows",
            "--for",
            "8",
            "--svg",
            picture,
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (result.returncode, result.stderr) == (0, "")
    names = ["rows in", "windows", "window", "computed", "late", "accounts"]
    *before, exact = result.stdout.splitlines()
    assert [line[:10].strip() for line in before[-len(names) :]] == names
    accounts = r"accounts  late_lost \d+, late_partial \d+, no_time \d+, in_no_window 0, broken 0"
    assert re.fullmatch(accounts, before[-1])
    assert re.fullmatch(
        r"exact: [1-9][\d,]* windows compared with the same rows computed as a batch: identical",
        exact,
    )
    # Nothing but what the command itself says, and nothing left behind.
    stages = ("starting Spark", "looking at the first rows", "computing the same rows as a batch")
    for line in before[: -len(names)]:
        assert line in stages or re.match(r" *\d+ s  [\d,]+ rows in", line), line
    assert "windows compared" in picture.read_text().replace("&#160;", " ")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.svg"]

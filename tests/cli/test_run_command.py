"""`penstock run`: what it refuses before anything starts, how it watches, and once all of it."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli.asked import KAFKA, asked
from penstock.cli.main import app
from penstock.cli.session import Local
from penstock.cli.watch import interrupts, watched
from penstock.errors import PenstockError, StreamFailed, UsageError
from penstock.network.config import parse_config
from penstock.view.live import View
from penstock.view.scene import Scene
from tests.quick import AS_TOML
from tests.view.bursts import burst

EXAMPLES = Path(__file__).parents[2] / "examples"

NETWORK = """
[stream.packets]
source = "packets"
event_time = "ts"
[stream.packets.options]
rate = 500
[query.traffic]
cql = '''
SELECT protocol, count(*) AS n
FROM packets [RANGE 4 seconds SLIDE 2 seconds WATTR ts]
GROUP BY protocol'''
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(NETWORK)
    return file


def options(**given: object) -> dict:
    names = ("length", "mode", "latency", "speed", "checkpoint")
    return dict.fromkeys(names) | given


class TestWhatIsAsked:
    def test_options_stand_in_the_place_of_what_the_file_says(self, network):
        network.write_text(NETWORK + "[run]\nlatency = '5 s'\nmode = 'off'\nfor = '9 min'\n")
        of = asked(network, **options())
        assert (of.latency, of.config.run.mode, of.seconds) == ("5 s", "off", 540.0)
        of = asked(network, **options(length="60s", latency="2.5", mode="on", checkpoint="c"))
        assert (of.latency, of.config.run.mode, of.seconds) == ("2.5 s", "on", 60.0)
        assert of.config.run.checkpoint == "c"

    def test_a_trigger_is_as_spark_wants_it(self, network):
        assert asked(network, **options()).trigger == {"processingTime": "1000 milliseconds"}
        network.write_text(NETWORK + "[run]\ntrigger = '250 ms'\n")
        assert asked(network, **options()).trigger == {"processingTime": "250 milliseconds"}
        network.write_text(NETWORK + "[run]\ntrigger = 'available now'\n")
        assert asked(network, **options()).trigger == {"availableNow": True}

    def test_a_speed_is_given_to_what_is_played(self, network):
        of = asked(network, **options(speed=4.0))
        assert getattr(of.load("packets", {"rate": 10}), "speed", None) == 4.0
        assert getattr(of.load("rate", {"rows": 10}), "rows", None) == 10

    def test_kafka_brings_its_connector_unless_jars_are_named(self, network):
        assert asked(network, **options()).spark == {}
        sink = "[run]\nsink = { format = 'kafka', servers = 'a:1', topic = 't' }\n"
        network.write_text(NETWORK + sink)
        assert asked(network, **options()).spark == {"spark.jars.packages": KAFKA}
        network.write_text(NETWORK + sink + "[run.spark]\n'spark.jars' = 'mine.jar'\n")
        assert asked(network, **options()).spark == {"spark.jars": "mine.jar"}

    def test_variables_stand_in_settings_of_spark_and_in_the_checkpoint(self, network, monkeypatch):
        text = "[run]\ncheckpoint = '${BASE}/c'\n[run.spark]\n'spark.hadoop.key' = '${KEY}'\n"
        network.write_text(NETWORK + text)
        monkeypatch.setenv("BASE", "/data")
        monkeypatch.setenv("KEY", "hunter2")
        of = asked(network, **options())
        assert of.checkpoint == "/data/c"
        assert of.spark["spark.hadoop.key"] == "hunter2"
        assert "hunter2" not in repr(of.spark)
        for name, place in (("KEY", "[run.spark] spark.hadoop.key"), ("BASE", "[run] checkpoint")):
            monkeypatch.delenv(name)
            result = CliRunner().invoke(app, ["run", str(network)])
            assert (result.exit_code, result.stdout) == (2, "")
            said = f"small.toml: {place} needs a variable of the environment that is set"
            assert result.stderr == f"penstock: {said}, got {name!r}\n"
            monkeypatch.setenv(name, "x")

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["--for", "0"], "--for must be greater than 0, got '0'"),
            (["--for", "soon"], "--for must be a duration, got 'soon'; write it as '60 seconds'"),
            (["--mode", "onn"], "--mode must be 'on', 'monitor' or 'off', got 'onn'; did you mean"),
            (["--latency", "3 m"], "--latency must be in a known unit of time, got '3 m'"),
            (["--speed", "0"], "--speed must be greater than 0, got 0.0"),
            (["--report", "{file}"], "--report must be a folder to write to"),
        ],
    )
    def test_a_wrong_option_ends_with_code_2_before_anything_starts(self, network, given, said):
        given = [one.format(file=network) for one in given]
        result = CliRunner().invoke(app, ["run", str(network), *given])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"penstock: {said}")
        assert result.stderr.count("\n") == 1

    def test_a_file_that_is_no_network_is_refused(self, network, tmp_path):
        for file, said in [
            (tmp_path / "a.cql", "run needs a network: a .toml file"),
            (tmp_path / "gone.toml", f"{tmp_path / 'gone.toml'} must be a file that can be read"),
        ]:
            result = CliRunner().invoke(app, ["run", str(file)])
            assert (result.exit_code, result.stdout) == (2, "")
            assert result.stderr.startswith(f"penstock: {said}")

    def test_a_speed_needs_a_stream_that_is_played(self, network):
        network.write_text(NETWORK.replace('"packets"\nevent', '"kafka"\nevent'))
        with pytest.raises(UsageError, match="--speed needs a stream that is played: replay or pa"):
            asked(network, **options(speed=2.0))


class Fake:
    """A run that plays the made-up scene, a batch for each look."""

    def __init__(self, *, ends: int = 80, fails: PenstockError | None = None) -> None:
        self.batches, self.ends, self.fails, self.stopped = 0, ends, fails, False
        self.at = lambda: None

    def scene(self) -> Scene:
        return burst(self.batches)

    def wait(self, seconds: float | None = None) -> bool:
        self.batches += 1
        self.at()
        if self.fails is not None and self.batches == self.ends:
            raise self.fails
        return self.batches == self.ends

    def stop(self) -> None:
        self.stopped = True


def look(fake: Fake, seconds: float | None = None):
    out = io.StringIO()
    found = watched(fake, View(Console(file=out)), seconds, clock=lambda: float(fake.batches))
    assert fake.stopped
    return found, out.getvalue()


class TestWatching:
    def test_a_run_ends_by_itself(self):
        found, out = look(Fake(ends=5))
        assert (found.ended, found.failure) == ("the stream ended", None)
        assert len(found.scene.statuses) == 5
        assert out.count("\n") == 5

    def test_a_run_ends_when_its_time_is_over(self):
        found, _ = look(Fake(), seconds=7.0)
        assert (found.ended, len(found.scene.statuses)) == ("its time was over", 7)

    def test_a_failure_is_kept_until_the_report_is_written(self):
        error = StreamFailed("gone")
        found, _ = look(Fake(ends=3, fails=error))
        assert (found.ended, found.failure) == ("failed", error)
        assert len(found.scene.statuses) == 3

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_cleanly(self, number):
        fake = Fake()
        fake.at = lambda: signal.raise_signal(number) if fake.batches == 4 else None
        found, _ = look(fake)
        assert (found.ended, len(found.scene.statuses)) == ("interrupted", 4)

    def test_a_second_interrupt_does_not_wait(self):
        before = signal.getsignal(signal.SIGINT)

        def impatient() -> None:
            with interrupts() as came:
                signal.raise_signal(signal.SIGINT)
                assert came.is_set()
                signal.raise_signal(signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            impatient()
        assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def shared(spark, tmp_path, monkeypatch):
    """The command takes the session that is there, and its files stand in an empty folder."""
    monkeypatch.setattr(
        "penstock.cli.run.running_spark", lambda *_, **__: nullcontext(Local(spark, tmp_path / "s"))
    )
    monkeypatch.chdir(tmp_path)


def test_a_run_shows_each_batch_and_ends_with_a_report_and_its_summary_as_json(network, shared):
    sink = f"{{ format = 'parquet', path = '{network.parent}/answers' }}"
    some = NETWORK.replace("rate = 500", "rate = 500\nlength = '12 s'\nmost = 1500")
    network.write_text(f"{some}[run]\nsink = {sink}\ntrigger = 'available now'\n")
    more = ("--speed", "100000", "--latency", "5s", "--report", "report", "--json")
    result = CliRunner().invoke(app, ["run", "small.toml", *more, "--dashboard", "0"])
    assert result.exit_code == 0, result.output
    (address,) = re.findall(r"live page: (http://\S+)", result.stderr)
    for name in ("report.html", "report.md"):  # the page is gone when they are read
        assert address not in Path("report", name).read_text()
    found = json.loads(result.stdout)
    assert (found["title"], found["target"], found["balanced"]) == ("small.toml", 5.0, True)
    assert (found["ended"], found["failure"], found["report"]) == (
        *("the stream ended", None),
        "report",
    )
    lines = result.stderr.splitlines()
    batches = [line for line in lines if re.match(r"\d\d:\d\d:\d\d batch \d+ ", line)]
    assert len(batches) == found["batches"] > 1
    assert lines[-1] == "report    report/report.html"
    assert (network.parent / "report" / "run.png").exists()
    assert list((network.parent / "answers").glob("batch=*/*.parquet"))


def test_the_example_runs_as_it_is_and_every_query_has_answers(shared):
    text = (EXAMPLES / "packets.toml").read_text()
    # It would not end by itself, and tests/test_docs.py runs it for a time.
    some = text.replace("rate = 2_000", "rate = 200\nlength = '150 s'\nmost = 15_000")
    Path("packets.toml").write_text(f"{some}\n[run]\ntrigger = 'available now'\n")
    more = ("--speed", "1000000000", "--mode", "monitor", "--report", "report", "--json")
    result = CliRunner().invoke(app, ["run", "packets.toml", *more])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["balanced"], found["loss"], found["missing"]) == (True, 0, 0)  # it only monitors
    lines = map(json.loads, Path("report/statuses.jsonl").read_text().splitlines())
    queries = [query for line in lines for query in line["queries"]]
    delivered = {one["name"] for one in queries if one["delivered"]}
    assert delivered == set(parse_config(text).queries)


def test_a_stream_that_fails_ends_with_code_1_a_line_and_a_report(network, shared):
    network.write_text(NETWORK.replace("GROUP BY", "WHERE 1 / (size - size) > 0 GROUP BY"))
    result = CliRunner().invoke(app, ["run", "small.toml", "--report", "report"])
    assert result.exit_code == 1, result.output
    assert re.match(r"penstock: .*DIVIDE_BY_ZERO", result.stderr.splitlines()[-1])
    assert "ended     failed" in result.stdout
    assert (network.parent / "report" / "report.html").exists()


def in_a_terminal(folder: Path, *arguments: str, press_at: str = "") -> tuple[str, int]:
    """What `penstock run` shows in a terminal, and where of it Ctrl-C was pressed.

    Args:
        folder: where it runs.
        arguments: of the command.
        press_at: the text at whose sight Ctrl-C is pressed; empty for never.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    run = subprocess.Popen(
        [Path(sys.executable).with_name("penstock"), "run", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen, pressed = "", 0
    while True:
        try:
            seen += os.read(ours, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            break
        if press_at and not pressed and press_at in seen:
            pressed = len(seen)
            os.killpg(run.pid, signal.SIGINT)  # as the keyboard: to all processes of the terminal
    os.close(ours)
    assert run.wait(timeout=120) == 0, seen
    return seen, pressed


def as_text(seen: str) -> str:
    return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", seen)


@pytest.mark.soak
def test_ctrl_c_in_a_terminal_ends_a_run_cleanly_and_the_report_is_written(network):
    network.write_text(f"{NETWORK}[run.spark]\n{AS_TOML}")
    given = ("small.toml", "--latency", "5s", "--report", "report")
    seen, pressed = in_a_terminal(network.parent, *given, press_at="latest answer")
    text = as_text(seen)
    for said in ("small.toml", "response", "target 5 s", "traffic", "interrupted", "balanced"):
        assert said in text
    # PySpark prints one of its own when a busy machine is slow to start its Python workers.
    assert "Traceback" not in seen[pressed:]
    left = {path.name for path in network.parent.iterdir()}
    assert left == {"small.toml", "report"}
    assert (network.parent / "report" / "report.html").exists()


def test_a_run_that_only_monitors_ends_in_time_and_drops_nothing(network):
    # Much more than the target allows: with mode "on", rows would go.
    much = NETWORK.replace("rate = 500", "rate = 200_000")
    network.write_text(f"answers = 'approximate'\n{much}[run.spark]\n{AS_TOML}")
    given = ("small.toml", "--latency", "500 ms", "--mode", "monitor", "--for", "5s")
    seen, _ = in_a_terminal(network.parent, *given, "--report", "report")
    text = as_text(seen)
    for said in ("of 5 s", "its time was over", "0 % of the rows of all queries"):
        assert said in text
    lines = (network.parent / "report" / "statuses.jsonl").read_text().splitlines()
    statuses = [json.loads(line) for line in lines]  # none, where the machine is very busy
    assert {one["phase"] for one in statuses} <= {"warm-up", "monitor"}
    assert all(one["shed"] == 0 for one in statuses)
    assert all(query["shed"] == 0 for one in statuses for query in one["queries"])

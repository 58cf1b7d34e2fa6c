"""Traces in every format, those of the Internet Traffic Archive among them."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import PenstockError, SchemaError
from penstock.sources import ita
from penstock.sources.replay import replay
from penstock.sources.trace import Trace, format_of

TRACES = Path(__file__).parents[3] / "shared" / "traces"
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


def packed(path: Path, text: str) -> str:
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    return str(path)


def rows(path: str, **more) -> list[dict]:
    return list(replay(path, **more).trace.rows().to_pylist())


def after(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def test_times_and_sizes(tmp_path):
    path = packed(tmp_path / "BC.TL.gz", "    0.001340  1090 \n    0.001508   174 \n")
    assert rows(path) == [
        {"ts": after(0.00134), "size": 1090, "trace_row": 0},
        {"ts": after(0.001508), "size": 174, "trace_row": 1},
    ]


def test_times_alone(tmp_path):
    path = packed(tmp_path / "dec.arrivals.txt.gz", "0.000000\n3599.940464\n")
    assert [row["ts"] for row in rows(path)] == [BEGIN, after(3599.940464)]


def test_packets_with_hosts_and_ports(tmp_path):
    path = packed(tmp_path / "dec-pkt-1.txt.gz", "0.5 1 2 1023 25 512\n")
    (row,) = rows(path)
    assert row == {
        "ts": after(0.5),
        "src_host": 1,
        "dst_host": 2,
        "src_port": 1023,
        "dst_port": 25,
        "size": 512,
        "trace_row": 0,
    }


def test_web_requests(tmp_path):
    lines = [
        'a.net [29:23:53:25] "GET /Software.html HTTP/1.0" 200 1497',
        'b.net [30:00:00:01] "GET /a b" 404 -',
        'c.net [30:00:00:01] "GET /gone.gifalt= HTTP/1.0" 404',
        'd.net [30:00:00:02] "\x85odd" 400 5',
    ]
    found = rows(packed(tmp_path / "epa-http.log.gz", "\n".join(lines) + "\n"))
    assert found[0] == {
        "ts": datetime(1995, 8, 29, 23, 53, 25, tzinfo=UTC),
        "host": "a.net",
        "method": "GET",
        "path": "/Software.html",
        "status": 200,
        "size": 1497,
        "trace_row": 0,
    }
    assert [row["size"] for row in found] == [1497, None, None, 5]
    assert [row["path"] for row in found[1:]] == ["/a b", "/gone.gifalt=", "\x85odd"]


def test_a_line_that_does_not_fit_is_named(tmp_path):
    path = packed(tmp_path / "x.log.gz", 'a [29:23:53:25] "GET / HTTP/1.0" 200 1\nnonsense\n')
    with pytest.raises(SchemaError, match=r"line 2 of the trace .* got 'nonsense'"):
        rows(path)
    with pytest.raises(SchemaError, match="1, 2, 6 columns of numbers, got 3"):
        rows(packed(tmp_path / "x.txt.gz", "1 2 3\n"))
    with pytest.raises(SchemaError, match="lines of numbers"):
        rows(packed(tmp_path / "y.txt.gz", "one\n"))


def test_rows_that_are_not_in_order_are_sorted_and_equal_times_stay_as_they_are(tmp_path):
    at = pa.array([3_000_000, 1_000_000, 1_000_000], pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": at, "v": pa.array(["c", "a", "b"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    trace = replay(str(tmp_path / "t.parquet")).trace
    assert trace.rows()["v"].to_pylist() == ["a", "b", "c"]
    assert trace.timeline().times.tolist() == [0, 0, 2_000_000]


def test_a_csv_may_have_seconds_and_another_order_of_arrival(tmp_path):
    (tmp_path / "f.csv").write_text("due,came\n10,25.5\n20,21\n")
    found = rows(str(tmp_path / "f.csv"), event_time="due", arrival="came")
    assert [row["due"].timestamp() for row in found] == [20, 10]
    assert [row["came"].timestamp() for row in found] == [21, 25.5]


def test_a_file_that_has_changed_is_read_anew(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts\n1\n")
    trace = Trace(str(path), "csv", "ts", "ts", 0)
    assert len(trace.rows()) == 1
    path.write_text("ts\n1\n2\n")
    assert len(trace.rows()) == 2


def test_refusals(tmp_path):
    with pytest.raises(PenstockError, match="must tell its format by its name"):
        replay("trace.xyz")
    with pytest.raises(PenstockError, match="did you mean 'parquet'"):
        replay("x", format="parket")  # type: ignore[arg-type]
    (tmp_path / "a.csv").write_text("time\n1\n")
    with pytest.raises(PenstockError, match="must have the column, got 'ts'"):
        rows(str(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_text("ts\nsoon\n")
    with pytest.raises(PenstockError, match="must be a timestamp"):
        rows(str(tmp_path / "b.csv"))
    with pytest.raises(PenstockError, match="speed must be a number greater than 0"):
        replay("a.csv", speed=0)
    with pytest.raises(PenstockError, match="a list of dictionaries, got 'int'"):
        replay(5)
    assert format_of("A.JSONL.gz") == "json"


@pytest.mark.skipif(not TRACES.exists(), reason="there are no traces in ../shared/traces")
class TestRealOnes:
    def test_bellcore(self):
        table = ita.numbers(str(TRACES / "BC-pAug89" / "BC-pAug89-small.TL.gz"), 0)
        assert (len(table), table.column_names) == (100_001, ["ts", "size"])
        sizes = np.array(table["size"])
        assert (sizes.min(), sizes.max()) == (64, 1518)

    def test_dec(self):
        path = TRACES / "DEC-PKT-1-UDP" / "dec-pkt-1-udp.arrivals.txt.gz"
        assert len(ita.numbers(str(path), 0)) == 829_758

    def test_epa(self):
        table = ita.log(str(TRACES / "EPA-HTTP" / "epa-http.log.gz"), 0)
        assert len(table) == 47_748
        assert table["host"][0].as_py() == "141.243.1.172"

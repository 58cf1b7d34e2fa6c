"""The formats of the Internet Traffic Archive.

numbers     a line is a time in seconds and what was seen then, by the number of columns:
                time                                     arrivals
                time size                                BC-pAug89.TL and its kin (Leland, Wilson)
                time src dst src_port dst_port size      DEC-PKT, LBL-PKT (Paxson, Mogul)
log         a line is a web request: host [dd:hh:mm:ss] "GET path HTTP/1.0" status bytes
            EPA-HTTP (Bottomley), SDSC-HTTP
"""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.errors import SchemaError, complaint
from penstock.windows.durations import DAY, HOUR, MINUTE, SECOND

COLUMNS = {
    1: ("ts",),
    2: ("ts", "size"),
    6: ("ts", "src_host", "dst_host", "src_port", "dst_port", "size"),
}
_LINE = re.compile(r'(\S+) \[(\d+):(\d+):(\d+):(\d+)\] "(.*)" (\d{3})(?: (\d+|-))?\s*$')
_REQUEST = re.compile(r"([A-Z]+)\s+(.*?)(?:\s+HTTP/[\d.]+)?$")


def numbers(path: str, begin: int) -> pa.Table:
    """Lines of numbers, the first of which is a time in seconds.

    Args:
        path: of the file, which may be compressed by gzip.
        begin: when second 0 was, in µs since the epoch.
    """
    text = content(path)
    try:
        lines = np.loadtxt(io.BytesIO(text), ndmin=2) if text.strip() else np.empty((0, 1))
    except ValueError as error:
        raise SchemaError(complaint("trace", "must have lines of numbers", str(error))) from error
    names = COLUMNS.get(lines.shape[1])
    if names is None:
        rule = f"must have {', '.join(map(str, COLUMNS))} columns of numbers"
        raise SchemaError(complaint("trace", rule, lines.shape[1]))
    seconds, *rest = lines.T
    times = pa.array(begin + np.rint(seconds * SECOND).astype(np.int64))
    columns = [
        times.cast(pa.timestamp("us", tz="UTC")),
        *(pa.array(column.astype(np.int64)) for column in rest),
    ]
    return pa.table(dict(zip(names, columns, strict=True)))


def log(path: str, begin: int) -> pa.Table:
    """Requests to a web server, a line each.

    Args:
        path: of the file, which may be compressed by gzip.
        begin: when the month began whose days the lines tell, in µs since the epoch.
    """
    rows = []
    text = content(path).decode("latin-1")
    # Not splitlines(): some requests have characters that Python takes for the end of a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        found = _LINE.match(line)
        if found is None:
            rule = 'must have lines such as: host [29:23:53:25] "GET / HTTP/1.0" 200 1497'
            raise SchemaError(complaint(f"line {number} of the trace", rule, line))
        host, day, hour, minute, second, request, status, size = found.groups()
        ago = (int(day) - 1) * DAY + int(hour) * HOUR + int(minute) * MINUTE + int(second) * SECOND
        asked = _REQUEST.match(request)
        method, what = asked.groups() if asked else (None, request)
        bytes_ = None if size in (None, "-") else int(size)
        rows.append((begin + ago, host, method, what, int(status), bytes_))
    kinds = [pa.int64(), pa.string(), pa.string(), pa.string(), pa.int32(), pa.int64()]
    names = ["ts", "host", "method", "path", "status", "size"]
    columns = zip(*rows, strict=True) if rows else [()] * len(kinds)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    arrays[0] = arrays[0].cast(pa.timestamp("us", tz="UTC"))
    return pa.table(arrays, names=names)


def content(path: str) -> bytes:
    """A file, unpacked if gzip has packed it."""
    found = Path(path).read_bytes()
    return gzip.decompress(found) if found[:2] == b"\x1f\x8b" else found

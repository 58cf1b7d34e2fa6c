"""What nodes have delivered to files so far, while they go on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq


def delivered(folder: Path) -> dict[datetime, tuple[float, float]]:
    """End of a window → its rows and their total; of a batch that is being written, nothing.

    Args:
        folder: of an output.
    """
    while True:
        try:
            files = sorted(folder.glob("batch=*/*.parquet"))
            rows = [
                row for one in files for row in pq.read_table(one, partitioning=None).to_pylist()
            ]
            break
        except FileNotFoundError:
            continue  # a batch that had been killed is written anew
    found = {row["window_end"].replace(tzinfo=UTC): (row["rows"], row["total"]) for row in rows}
    assert len(found) == len(rows), "a window was delivered twice"
    return found

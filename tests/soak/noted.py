"""What two runs have written down is held against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def same_accounts(path: Path, calm: Path) -> None:
    """Of whatever batch Spark has told, the rows went where they go when nothing happens."""
    wanted, gone = attempts(calm), 0
    told = attempts(path)
    for batch, tries in told.items():
        for one in tries:
            assert one == wanted[batch][0], batch
            for rows in one.values():
                shed = rows["shed_at_stream"] + rows["shed_on_the_way"]
                assert rows["rows_in"] == shed + rows["taken"]
                gone += shed
    assert told
    assert gone


def same_ledger(path: Path, calm: Path) -> None:
    """Every window is there with its fate, as far as that was told before a driver died.

    Where the stream begins is told with the first watermark alone.
    """
    found, wanted = ({_window(row): row for row in _rows(one)} for one in (path, calm))
    first = min(entry["batch"] for entry in wanted.values())
    assert set(found) <= set(wanted)
    assert all(wanted[window]["batch"] == first for window in set(wanted) - set(found))
    for window, entry in found.items():
        if entry["fate"] == "kept":
            assert wanted[window]["fate"] in ("delivered", "empty", "unseen")
        else:
            assert entry == wanted[window]
    assert {"delivered", "dropped"} <= {entry["fate"] for entry in wanted.values()}


def exact_and_near(out: Path, whole: Path, gaps: Mapping[str, int]) -> None:
    """Subset answers are those of a run that drops nothing, and no gap is too long.

    Args:
        out: what was delivered.
        whole: what is, if nothing is dropped.
        gaps: query → how many windows in a row may be missing.
    """
    got, wanted = (list(map(json.loads, delivered(one))) for one in (out, whole))
    for name, gap in gaps.items():
        mine, all_ = ([row for row in some if row["query"] == name] for some in (got, wanted))
        assert mine
        assert len(mine) < len(all_)
        assert [row for row in mine if row not in all_] == []
        missing = longest = 0
        shown = {row["window_end"] for row in mine}
        for end in sorted({row["window_end"] for row in all_}):
            missing = 0 if end in shown else missing + 1
            longest = max(longest, missing)
        assert 0 < longest <= gap, name


def attempts(folder: Path) -> dict[int, list[Any]]:
    """Batch → what each attempt noted."""
    return {
        number: [json.loads(one.read_text()) for one in (folder / str(number)).glob("*.json")]
        for number in numbers(folder)
    }


def delivered(out: Path) -> list[str]:
    """All answers, from the last attempt of each batch."""
    found = []
    for number in numbers(out / "attempts"):
        tries = (out / "attempts" / str(number)).glob("*.json")
        found += json.loads(max(tries, key=lambda one: int(one.stem)).read_text())
    return sorted(found)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in json.loads(path.read_text())]


def _window(row: dict[str, Any]) -> tuple[str, str]:
    return row["query"], row["window_end"]


def numbers(folder: Path) -> list[int]:
    """The files and folders that have a number for a name."""
    if not folder.exists():
        return []
    return sorted(int(one.name) for one in folder.iterdir() if one.name.isdigit())

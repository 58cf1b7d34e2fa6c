"""Writes the report of a run into a folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.control.status import Status
from penstock.errors import UsageError, complaint
from penstock.view.panels import panels
from penstock.view.plots import plot
from penstock.view.report.markdown import markdown
from penstock.view.report.page import page
from penstock.view.scene import Scene

_DPI = 110


def write_report(folder: str | Path, scene: Scene) -> str:
    """Writes report.html, report.md, statuses.jsonl, statistics.json and PNGs.

    Args:
        folder: where to; it is made if it is not there, and files of the same names are replaced.
        scene: the run.

    Returns:
        A line that says what is missing, such as pictures where matplotlib is not installed; empty
        if nothing is.
    """
    where = writable(folder)
    lines = "".join(json.dumps(_plain(one.to_json())) + "\n" for one in scene.statuses)
    (where / "statuses.jsonl").write_text(lines, encoding="utf-8")
    learnt = json.dumps([one.to_json() for one in scene.statistics], indent=1)
    (where / "statistics.json").write_text(learnt, encoding="utf-8")
    (where / "report.html").write_text(page(scene), encoding="utf-8")
    missing = ""
    pictures: list[str] = []
    try:
        pictures = _pictures(where, scene.statuses)
    except UsageError as error:
        missing = str(error)
    (where / "report.md").write_text(markdown(scene, pictures[:1]), encoding="utf-8")
    return missing


def writable(folder: str | Path) -> Path:
    """The folder of a report, made if it is not there.

    Args:
        folder: where to.
    """
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
        probe = where / "report.md"
        probe.open("a").close()
    except OSError as error:
        hint = error.strerror or ""
        rule = "must be a folder to write to"
        raise UsageError(complaint("--report", rule, str(folder), hint)) from error
    return where


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """JSON has no infinite numbers: they are nothing that is known."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _pictures(where: Path, statuses: Sequence[Status]) -> list[str]:
    plot(statuses).savefig(where / "run.png", dpi=_DPI)
    names = [one.name for one in panels(statuses)]
    for name in names:
        plot(statuses, name).savefig(where / f"{name}.png", dpi=_DPI)
    return ["run.png", *(f"{name}.png" for name in names)]

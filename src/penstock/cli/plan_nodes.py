"""`penstock plan` for many nodes: the best plan on a picture of them, or plans in advance."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from penstock.cli.watch import interrupts
from penstock.control.snapshot import Snapshot
from penstock.errors import RecordDamaged, UsageError, complaint
from penstock.fleet.statistics import heard
from penstock.network.config import read_config
from penstock.nodes import Progress as Solved
from penstock.nodes import learnt, optimal_plan, plan_text, plans_in_advance, read_nodes, save_plans
from penstock.nodes.jobs import Job, of_jobs
from penstock.nodes.model import Network
from penstock.planning import Known

ERROR = 0.05
"""The share of the best score that plans in advance may lose, unless it is said."""


def nodes_of(files: Sequence[str], rates: Mapping[str, float], reports: Sequence[Path]) -> Network:
    """The nodes of one file, or those that several networks are.

    Args:
        files: TOML.
        rates: of inputs.
        reports: what was measured.
    """
    if len(files) > 1:
        return nodes_of_jobs(files, rates, reports)
    return nodes_of_file(files[0], rates, reports)


def nodes_of_file(file: str, rates: Mapping[str, float], reports: Sequence[Path]) -> Network:
    """The nodes of a file, as they were measured where they were.

    Args:
        file: TOML.
        rates: of inputs; they count more than what was measured.
        reports: of running nodes (`penstock node --report`).
    """
    network = read_nodes(file)
    if reports:
        network = learnt(network, dict(map(_snapshot, reports)), _period(reports[0]))
    return network.at(rates)


def nodes_of_jobs(
    files: Sequence[str], rates: Mapping[str, float], reports: Sequence[Path]
) -> Network:
    """The nodes that several networks are which run, with topics between them.

    Args:
        files: TOML, of a network each.
        rates: of topics that none of them writes.
        reports: NAME=FILE, the statistics of some of them.
    """
    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        raise UsageError(complaint("FILE...", "must have different names", ", ".join(files)))
    measured: dict[str, Known] = {}
    for report in reports:
        name, equals, path = str(report).partition("=")
        if not equals or name not in names:
            hint = f"such as --statistics {names[0]}=statistics.json"
            rule = f"must be of {', '.join(names)}: NAME=FILE"
            raise UsageError(complaint("--statistics", rule, str(report), hint))
        measured[name] = read_statistics(Path(path))
    jobs = [
        Job(name, read_config(file), measured.get(name, Known()))
        for name, file in zip(names, files, strict=True)
    ]
    return of_jobs(jobs, rates)


def read_statistics(path: Path) -> Known:
    """The statistics of a network, as it has written them.

    Args:
        path: of a JSON file.
    """
    try:
        return Known.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(complaint("--statistics", "must be a JSON file", str(path))) from error


def _read(path: Path) -> dict[str, Any]:
    rule = "must be the report of a node that has measured something"
    hint = "penstock node FILE --node A --report A.json writes one"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("statistics"), dict):
        raise UsageError(complaint("--statistics", rule, str(path), hint))
    return found


def _snapshot(path: Path) -> tuple[str, Snapshot]:
    found = _read(path)
    try:
        return str(found.get("node")), heard(found["statistics"])
    except RecordDamaged as error:
        raise UsageError(complaint("--statistics", "must be whole", str(path))) from error


def _period(path: Path) -> float | None:
    """Seconds that a batch may take; the same for all nodes of a pipeline."""
    period = _read(path).get("period")
    return float(period) if isinstance(period, int | float) and period > 0 else None


def print_plan(network: Network, *, as_json: bool) -> None:
    """The best plan, on a picture of the nodes.

    Args:
        network: the nodes.
        as_json: as values instead.
    """
    if not as_json:
        print(plan_text(network))
        return
    plan = optimal_plan(network)
    shown = {
        "score": plan.score,
        "keeps": {str(place): share for place, share in plan.keeps.items()},
        "loads": {"before": plan.before, "after": plan.after},
    }
    print(json.dumps(shown, indent=2))


def plan_in_advance(network: Network, path: Path, error: float) -> None:
    """Makes plans for all rates, and writes them to a file. Ctrl-C stops, with what there is.

    Args:
        network: the nodes.
        path: of the file.
        error: the share of the best score that a plan may lose.
    """
    if not 0 < error < 1:
        raise UsageError(complaint("--error", "must be between 0 and 1", error))
    words = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[so_far]}")
    with interrupts() as came, Progress(*words, console=Console(stderr=True)) as bar:
        task = bar.add_task("plans", total=1.0, so_far="")

        def stop(now: Solved) -> bool:
            so_far = f"{now.regions:,} regions, at most {now.error:.1%} below the best"
            bar.update(task, completed=min(1.0, error / max(now.error, error)), so_far=so_far)
            return came.is_set()

        plans = plans_in_advance(network, error=error, stop=stop)
    save_plans(plans, path)
    regions = sum(axis < 0 for part in plans.parts for axis in part.axis)
    print(f"{path}: plans for {regions:,} regions, at most {plans.error:.1%} below the best score")

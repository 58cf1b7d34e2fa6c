"""`penstock plan`: what would be dropped at a load, where and why, and how answers suffer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.explain_network import explained_network
from penstock.cli.failures import Verbose, one_line_errors
from penstock.errors import UsageError, complaint
from penstock.network.config import read_config
from penstock.network.graph import Graph
from penstock.network.settings import QuerySettings
from penstock.network.tables import text_of, top_table
from penstock.nodes import is_nodes_file, optimal_plan, plan_text, read_nodes
from penstock.planning import Known, Planned, Workload, plan, render, uniform, workload

EXAMPLE = "Example: penstock plan examples/packets.toml --load 3 --rates packets=50000"


def plan_network(
    file: Annotated[
        str, typer.Argument(help="A network: a .toml or .cql file; or nodes: a .toml file.")
    ],
    *,
    load: Annotated[
        float | None,
        typer.Option(
            metavar="TIMES", help="The load, in times the capacity; by costs that were measured."
        ),
    ] = None,
    rates: Annotated[
        list[str] | None,
        typer.Option(metavar="STREAM=ROWS", help="Rows per second of a stream; may be repeated."),
    ] = None,
    statistics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Statistics of a running network, as JSON (Snapshot.to_json)."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Plan what to drop at a load: where, how much, why, at which error. Starts no Spark."""
    with one_line_errors(verbose=verbose):
        if _is_of_nodes(file):
            _plan_nodes(file, _rates(rates or []), as_json=as_json)
            return
        graph, settings, known = _network(file)
        if statistics is not None:
            known = known.but(_read(statistics))
        known = known.at(_rates(rates or []))
        found, assumed = workload(graph, known, settings)
        found = replace(found, capacity=_capacity(found, known, load))
        planned, even = plan(found), uniform(found)
        if as_json:
            shown = {**planned.to_json(), "uniform": even.to_json()["queries"]}
            print(json.dumps({**shown, "assumed": list(assumed)}, indent=2))
            return
        print(render(planned, graph, assumed))
        if planned.greatest_bound and not any(q.answers == "subset" for q in found.queries):
            print(f"\n{_compared(found, planned, even)}")


def _is_of_nodes(file: str) -> bool:
    return file.endswith(".toml") and is_nodes_file(top_table(text_of(file), file).values)


def _plan_nodes(file: str, rates: Mapping[str, float], *, as_json: bool) -> None:
    """The best plan for many nodes, on a picture of them."""
    network = read_nodes(file).at(rates)
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


def _compared(found: Workload, ours: Planned, even: Planned) -> str:
    def greatest(one: Planned) -> float:
        return max((one.outcomes[q.name].bound or 0.0) * q.weight for q in found.queries)

    return (
        "compared  if the same share of rows were dropped from all, as they come in, the greatest\n"
        f"          error bound would be {greatest(even) / greatest(ours):.2g} times as large"
    )


def _network(file: str) -> tuple[Graph, Mapping[str, QuerySettings], Known]:
    if file.endswith(".toml"):
        config = read_config(file)
        return config.outline(), config.queries, Known.from_table(config.statistics)
    network = explained_network(file) if file.endswith(".cql") else None
    if network is None:
        raise UsageError(complaint("plan", "needs a network: a .toml or .cql file", file))
    return network.graph, {}, Known()


def _read(path: Path) -> Known:
    try:
        return Known.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(complaint("--statistics", "must be a JSON file", str(path))) from error


def _rates(given: Sequence[str]) -> dict[str, float]:
    found = {}
    for one in given:
        name, equals, number = one.rpartition("=")
        try:
            rate = float(number.replace("_", ""))
        except ValueError:
            rate = math.nan
        if not equals or not name or not 0 < rate < math.inf:
            hint = "such as --rates packets=50000"
            raise UsageError(complaint("--rates", "must be a stream and its rows/s", one, hint))
        found[name] = rate
    return found


def _capacity(found: Workload, known: Known, load: float | None) -> float:
    if load is not None:
        if not 0 < load < math.inf:
            raise UsageError(complaint("--load", "must be greater than 0", load))
        return found.total / load
    if not known.costs:
        hint = "such as --load 3; without it, --statistics have to tell what rows cost"
        raise UsageError(complaint("plan", "needs --load", None, hint))
    return 1.0

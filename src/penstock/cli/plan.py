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
from penstock.cli.plan_nodes import (
    ERROR,
    nodes_of,
    plan_in_advance,
    print_plan,
    read_statistics,
)
from penstock.control.checks import amount
from penstock.control.prior import MICROSECOND, default_prior
from penstock.errors import UsageError, complaint
from penstock.network.config import read_config
from penstock.network.graph import Graph
from penstock.network.operators import kind
from penstock.network.settings import QuerySettings
from penstock.network.tables import text_of, top_table
from penstock.nodes import is_nodes_file
from penstock.planning import Known, Planned, Workload, plan, render, uniform, workload
from penstock.planning.asked import Errors

EXAMPLE = "Example: penstock plan examples/packets.toml --load 3 --rates packets=50000"


def plan_network(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="A network: a .toml or .cql file; or nodes: a .toml file; or several networks "
            "that run, each a node, with topics of Kafka between them.",
        ),
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
        typer.Option(
            metavar="STREAM=ROWS",
            help="Rows per second of a stream; may be repeated. Without --load, costs say how much "
            "that is: measured ones, or those that are believed.",
        ),
    ] = None,
    statistics: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Statistics of a running network, as JSON (`penstock run --report DIR` writes "
            "DIR/statistics.json); or the report of a node; of several networks NAME=FILE, NAME "
            "being that of the network's file without its ending; may be repeated.",
        ),
    ] = None,
    drop_cost: Annotated[
        float,
        typer.Option(
            metavar="MICROSECONDS",
            help="Microseconds that a drop takes for each row it looks at; one that costs more "
            "than it saves is not placed.",
        ),
    ] = 0.0,
    margin: Annotated[
        float,
        typer.Option(
            metavar="C",
            help="Added to the C of each query (kept with probability P, it is off by C/P), for "
            "data that change: queries that are easy to sample then keep more.",
        ),
    ] = 0.0,
    errors: Annotated[
        Errors,
        typer.Option(
            help="What is made as small as possible: the paper's bound, or the error that one "
            "answer in a hundred exceeds, as a running network does.",
        ),
    ] = "bound",
    advance: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of nodes: make plans for all rates, into this file."),
    ] = None,
    error: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the best score, that those may lose.")
    ] = ERROR,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Plan what to drop at a load: where, how much, why, at which error. Starts no Spark."""
    with one_line_errors(verbose=verbose):
        amount("--drop-cost", drop_cost)
        amount("--margin", margin)
        file = files[0]
        if len(files) > 1 or _is_of_nodes(file):
            if load is not None or drop_cost or margin or errors != "bound":
                rule = "need a network: nodes are planned without them"
                what = "--load, --drop-cost, --margin and --errors"
                raise UsageError(complaint(what, rule, file))
            nodes = nodes_of(files, _rates(rates or []), statistics or [])
            if advance is None:
                print_plan(nodes, as_json=as_json)
            else:
                plan_in_advance(nodes, advance, error)
            return
        if advance is not None:
            raise UsageError(complaint("--advance", "needs a file of nodes", file))
        graph, settings, known = _network(file)
        for path in statistics or []:
            known = known.but(read_statistics(path))
        known, believed = known.at(_rates(rates or [])), tuple[str, ...]()
        if not known.costs and (drop_cost or (load is None and rates)):
            # What a drop costs says nothing beside operators whose costs have no unit.
            known, believed = _believed(graph, known)
        if believed and load is None:
            believed = (*believed, "two cores: the capacity")
        found, assumed = workload(graph, known, settings, errors=errors)
        assumed = (*assumed, *believed)
        found = replace(found, drop_cost=drop_cost * MICROSECOND, margin=margin)
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


def _believed(graph: Graph, known: Known) -> tuple[Known, tuple[str, ...]]:
    """Costs as they are believed where nothing was timed, and a line for each."""
    prior = default_prior({name: kind(one) for one, name in graph.names.items()})
    alike: dict[float, list[str]] = {}
    for name, cost in prior.costs.items():
        alike.setdefault(cost, []).append(name)
    said = [f"a row costs {cost * 1e6:g} µs: {', '.join(names)}" for cost, names in alike.items()]
    return known.but(Known(costs=prior.costs)), tuple(said)


def _capacity(found: Workload, known: Known, load: float | None) -> float:
    if load is not None:
        if not 0 < load < math.inf:
            raise UsageError(complaint("--load", "must be greater than 0", load))
        return found.total / load
    if not known.costs:
        hint = "such as --load 3; or --rates, or --statistics that tell what rows cost"
        raise UsageError(complaint("plan", "needs --load", None, hint))
    return 1.0

"""`penstock explain`: what kind of window it is, what follows, and how it would be computed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.explain_network import explained_network, written
from penstock.cli.failures import Verbose, one_line_errors
from penstock.engine.layout import needs_processor
from penstock.engine.window_query import BY_PROCESSOR
from penstock.errors import SpecificationError, UsageError, complaint
from penstock.network.aggregates import count
from penstock.network.cql import parse, render
from penstock.network.query import Query
from penstock.windows import Density, WindowSpec, choose, classify, cumulative, spark_aligned

ON = "ts"
"""What the column is called does not matter to anything that is explained."""

_INDENT = 10

EXAMPLE = "Example: penstock explain --range '60 s' --slide '1 s' --rows-per-pane-and-key 100"


def explain(
    cql: Annotated[
        str | None,
        typer.Argument(
            metavar="CQL",
            help="A query, in place of the options for a window: 'SELECT … FROM … [RANGE …]'; "
            "or a network: a file, .toml or .cql.",
            show_default=False,
        ),
    ] = None,
    *,
    range: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Length of a window, such as '60 s'.")
    ] = None,
    slide: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="From one window to the next; as long as the window if left out.",
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Instead of --range, for cumulative windows: after which they start afresh.",
        ),
    ] = None,
    rows_per_pane_and_key: Annotated[
        float | None,
        typer.Option(metavar="ROWS", help="Rows per slide and group, if known; 10 are assumed."),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the picture of a network to this file too."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Explain a window or a network: what it needs, how it is computed, why. Starts no Spark."""
    with one_line_errors(verbose=verbose):
        density = _density(rows_per_pane_and_key)
        network = None if cql is None else explained_network(cql)
        if svg is not None and network is None:
            raise UsageError(complaint("--svg", "needs a network: a .toml or .cql file", cql))
        explained: dict[str, object]
        if cql is None:
            explained = describe(_window(range, slide, period), density)
        elif any((range, slide, period)):
            given = {"--range": range, "--slide": slide, "--period": period}
            raise UsageError(complaint("explain", "needs a query or a window, not both", given))
        elif network is not None:
            if svg is not None:
                written(svg, network.picture())
            explained = network.json(lambda spec: describe(spec, density))
            if not as_json:
                print(network.text(_text, lambda spec: describe(spec, density)))
                return
        else:
            statement = parse(cql)
            explained = {"cql": render(statement)} | describe(statement.window, density)
        print(json.dumps(explained, indent=2) if as_json else _text(explained))


def describe(spec: WindowSpec, density: Density | None) -> dict[str, object]:
    """All that is known of a window without its stream.

    Args:
        spec: of any kind.
        density: how full its panes are, if known.

    >>> from penstock.windows import tumbling
    >>> describe(tumbling("1 min", on="ts"), None)["computed"]
    'direct'
    """
    processed = needs_processor(Query(spec, (), {"n": count()}))
    found, way = classify(spec), BY_PROCESSOR if processed else choose(spec, density)
    return {
        "window": str(spec),
        "kind": spec.kind.value,
        "class": found.context.value,
        "keeps_state": found.keeps_state,
        "waits": found.waits,
        "state": found.state,
        "delay": found.delay,
        "computed": way.name,
        "rungs": list(way.rungs),
        "reason": way.reason,
    }


def _text(explained: dict[str, object]) -> str:
    needs = "state" if explained["keeps_state"] else "no state"
    waits = "waiting for later rows" if explained["waits"] else "no waiting"
    lines = {"cql": explained["cql"]} if "cql" in explained else {}
    lines |= {
        "window": explained["window"],
        "kind": explained["kind"],
        "class": f"{explained['class']}: finding a row's windows needs {needs} and {waits}",
        "state": explained["state"],
        "delay": explained["delay"],
        "computed": f"{explained['computed']}: {explained['reason']}",
    }
    # The lines of a query stand below each other.
    shown = {name: str(value).replace("\n", "\n" + " " * _INDENT) for name, value in lines.items()}
    return "\n".join(f"{name:<{_INDENT}}{value}" for name, value in shown.items())


def _window(range: str | None, slide: str | None, period: str | None) -> WindowSpec:
    if (range is None) == (period is None):
        given = {"--range": range, "--period": period}
        raise UsageError(complaint("explain", "needs either --range or --period", given))
    if range is not None:
        return spark_aligned(range, range if slide is None else slide, on=ON)
    if slide is None:
        hint = "such as --period '1 day' --slide '1 min'"
        raise UsageError(complaint("--slide", "is needed with --period", slide, hint))
    return cumulative(str(period), slide, on=ON)


def _density(rows: float | None) -> Density | None:
    if rows is None:
        return None
    if not (0 < rows < math.inf):
        rule = "must be greater than 0"
        raise SpecificationError(complaint("--rows-per-pane-and-key", rule, rows))
    return Density(rows)

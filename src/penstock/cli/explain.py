"""`penstock explain`: what kind of window it is, what follows, and how it would be computed."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from penstock.cli.failures import Verbose, one_line_errors
from penstock.errors import SpecificationError, UsageError, complaint
from penstock.windows import Density, WindowSpec, choose, classify, cumulative, spark_aligned

ON = "ts"
"""What the column is called does not matter to anything that is explained."""

EXAMPLE = "Example: penstock explain --range '60 s' --slide '1 s' --rows-per-pane-and-key 100"


def explain(
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Explain a window: its kind, what it needs, how it is computed and why. Starts no Spark."""
    with one_line_errors(verbose=verbose):
        spec = _window(range, slide, period)
        explained = describe(spec, _density(rows_per_pane_and_key))
        print(json.dumps(explained, indent=2) if as_json else _text(explained))


def describe(spec: WindowSpec, density: Density | None) -> dict[str, object]:
    """All that is known of a window without its stream.

    Args:
        spec: a sliding, tumbling or cumulative window over time.
        density: how full its panes are, if known.

    >>> from penstock.windows import tumbling
    >>> describe(tumbling("1 min", on="ts"), None)["computed"]
    'direct'
    """
    found, way = classify(spec), choose(spec, density)
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
    lines = {
        "window": explained["window"],
        "kind": explained["kind"],
        "class": f"{explained['class']}: finding a row's windows needs {needs} and {waits}",
        "state": explained["state"],
        "delay": explained["delay"],
        "computed": f"{explained['computed']}: {explained['reason']}",
    }
    return "\n".join(f"{name:<10}{value}" for name, value in lines.items())


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

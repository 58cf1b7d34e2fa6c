"""`penstock backfill`: the windows that a run has left out, from where its rows are stored."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

import penstock as ps
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import Size, local_spark
from penstock.errors import UsageError, complaint
from penstock.network.config import Config, read_config
from penstock.network.secrets import filled

EXAMPLE = "Example: penstock backfill network.toml --checkpoint checkpoint --to answers --dry-run"

SIZE = Size(share=0.5, most=64)
_SINKS = ("parquet", "kafka")


def backfill(
    file: Annotated[Path, typer.Argument(help="The network that has run: a .toml file.")],
    *,
    checkpoint: Annotated[str, typer.Option(metavar="DIR", help="The checkpoint of the run.")],
    query: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this query; may be repeated."),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only windows that end after this time.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only windows that end by this time.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="A folder for parquet files, DIR/QUERY/batch=-N; else the sink of each query.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Replace what has been backfilled before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be computed, and what is gone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Compute the windows that a run has left out, exactly, from where its rows are stored.

    Times are such as 2026-03-01T12:00, in UTC unless they have a zone. What has been backfilled is
    written in the checkpoint, and not done again.
    """
    with one_line_errors(verbose=verbose):
        config = read_config(file)
        begin, end = _time("--since", since), _time("--until", until)
        names = query or list(config.queries)
        found = {} if dry_run else {name: _sink(config, name, to) for name in names}
        sinks = {name: sink for name, sink in found.items() if sink is not None}
        check_java()
        screen = Console(stderr=True)
        bar = Progress(console=screen, transient=True, disable=not screen.is_terminal)
        with bar, local_spark(SIZE, verbose=verbose) as local:
            task = bar.add_task("looking at the ledger", total=None)
            network = ps.Network(**_queries(config, local.spark))
            done = network.backfill(
                checkpoint,
                sinks=sinks,
                query=query or (),
                since=begin,
                until=end,
                again=again,
                dry_run=dry_run,
                tell=lambda what, share: bar.update(
                    task, description=what, completed=share, total=1
                ),
            )
    print(json.dumps(done.to_json(), indent=2) if as_json else done)


def _queries(config: Config, spark: Any) -> dict[str, Any]:  # noqa: ANN401 - Spark's session
    return dict(ps.toml_queries(config, spark))


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        hint = "such as 2026-03-01T12:00"
        raise UsageError(complaint(option, "must be a time", text, hint)) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _sink(config: Config, name: str, to: str | None) -> ps.sinks.Sink | None:
    """Where the answers of a query go; None where the file does not say."""
    if to is not None:
        return ps.sinks.parquet(f"{to.rstrip('/')}/{name}")
    if name not in config.queries or not config.queries[name].sink:
        return None
    given: Mapping[str, Any] = filled(
        dict(config.queries[name].sink), os.environ, f"sink of {name}"
    )
    options = {key: value for key, value in given.items() if key != "format"}
    kind = given.get("format")
    if kind not in _SINKS:
        hint = "or give a folder: --to DIR"
        rule = f"must be of format {' or '.join(_SINKS)}"
        raise UsageError(complaint(f"sink of query {name}", rule, kind, hint))
    try:
        found: ps.sinks.Sink = getattr(ps.sinks, kind)(**options)
    except TypeError as error:
        raise UsageError(complaint(f"sink of query {name}", "must be complete", given)) from error
    return found

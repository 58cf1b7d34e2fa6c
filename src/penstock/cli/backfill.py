"""`penstock backfill`: the windows that a run has left out, from where its rows are stored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

import penstock as ps
from penstock.cli.asked import Asked
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import Size, running_spark
from penstock.engine.toml_network import TomlNetwork, toml_network
from penstock.errors import UsageError, complaint
from penstock.network.config import Config, read_config

EXAMPLE = "Example: penstock backfill network.toml --checkpoint checkpoint --to answers --dry-run"

SIZE = Size(share=0.5, most=64)
_SINKS = ("parquet", "kafka")


def backfill(
    file: Annotated[Path, typer.Argument(help="The network that has run: a .toml file.")],
    *,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="The checkpoint of the run; else that of the file."),
    ] = None,
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
            help="A folder for parquet files, DIR/QUERY/batch=-N; else the sinks of the file.",
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
        if dry_run or to is not None:
            config = _without_sinks(config)
        for name in names:
            _check_sink(config, name)
        wanted = Asked(_at(config, checkpoint), speed=None)
        settings, where = wanted.spark, wanted.checkpoint
        if where is None:
            hint = "that of the run, unless the file has one in [run]"
            raise UsageError(complaint("--checkpoint", "must be given", None, hint))
        check_java()
        screen = Console(stderr=True)
        bar = Progress(console=screen, transient=True, disable=not screen.is_terminal)
        with bar, running_spark(SIZE, settings, verbose=verbose) as local:
            task = bar.add_task("looking at the ledger", total=None)
            made = toml_network(config, local.spark)
            done = made.network.backfill(
                where,
                sink=made.sink,
                sinks=_sinks(made, names, to),
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


def _at(config: Config, checkpoint: str | None) -> Config:
    if checkpoint is None:
        return config
    return replace(config, run=replace(config.run, checkpoint=checkpoint))


def _without_sinks(config: Config) -> Config:
    """The file without its sinks, where they are not used: neither their variables are needed."""
    queries = {name: replace(one, sink={}) for name, one in config.queries.items()}
    return replace(config, run=replace(config.run, sink={}), queries=queries)


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        hint = "such as 2026-03-01T12:00"
        raise UsageError(complaint(option, "must be a time", text, hint)) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _check_sink(config: Config, name: str) -> None:
    """Refuses a sink that is gone with this command."""
    own = config.queries[name].sink if name in config.queries else {}
    given = own or config.run.sink
    if given and given.get("format") not in _SINKS:
        place = f"sink of query {name}" if own else "[run] sink"
        rule, hint = f"must be of format {' or '.join(_SINKS)}", "or give a folder: --to DIR"
        raise UsageError(complaint(place, rule, given.get("format"), hint))


def _sinks(made: TomlNetwork, names: Sequence[str], to: str | None) -> dict[str, ps.sinks.Sink]:
    """Query → where its answers go; without those for which the file names no sink of their own."""
    if to is not None:
        return {name: ps.sinks.parquet(f"{to.rstrip('/')}/{name}") for name in names}
    # A run computes answers that are kept nowhere; there is no use in that afterwards.
    return {name: made.sinks[name] for name, one in made.config.queries.items() if one.sink}

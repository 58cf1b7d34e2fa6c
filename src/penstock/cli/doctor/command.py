"""`penstock doctor FILE`: a line for each thing that a run needs, before there is a run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pyspark
import typer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.cli.asked import KAFKA, Asked
from penstock.cli.doctor.check import Check, ok, wrong
from penstock.cli.doctor.checkpoint import checkpoint_checks
from penstock.cli.doctor.machine import machine
from penstock.cli.doctor.network import answers, places
from penstock.cli.doctor.rows import stream_checks
from penstock.cli.failures import FAILED, Verbose, one_line_errors
from penstock.cli.session import DEMO, running_spark
from penstock.engine.failures import cause
from penstock.engine.toml_network import toml_network
from penstock.errors import PenstockError
from penstock.network.config import Config, read_config
from penstock.network.secrets import filled
from penstock.sources.options import Options

EXAMPLE = "Example: penstock doctor examples/packets.toml --json"


def doctor(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A network: a .toml file.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Check all that a run of the file needs; say what is wrong, and how to mend it."""
    with one_line_errors(verbose=verbose):
        found: list[Check] = []
        for one in checks(file, verbose=verbose):
            found.append(one)
            if not as_json:
                print(one.line(_WIDTH), flush=True)
        bad = [one for one in found if one.state == "wrong"]
        if as_json:
            shown = {"ok": not bad, "checks": [one.to_json() for one in found]}
            print(json.dumps(shown, indent=2, ensure_ascii=False))
        else:
            print(f"\n{_summary(found)}")
        if bad:
            raise typer.Exit(FAILED)


_WIDTH = 18
"""Characters for the names of what is looked at."""


def checks(file: Path, *, verbose: bool) -> Iterator[Check]:
    """All checks of a file, those that need no Spark first.

    Args:
        file: of the network.
        verbose: whether what Spark logged is shown at the end.
    """
    bad = False
    for one in machine():
        bad |= one.state == "wrong"
        yield one
    try:
        config = read_config(file)
        config.outline()
        settings = Asked(config, speed=None).spark  # as a run has it
    except PenstockError as error:
        yield wrong("file", str(error).partition("\n")[0])
        return
    streams, queries = len(config.streams), len(config.queries)
    yield ok("file", f"{file}: {_count(streams, 'stream')}, {_count(queries, 'query')}")
    if bad:  # Spark would not start
        return
    try:
        with running_spark(DEMO, settings, verbose=verbose) as local:
            yield from with_spark(config, local.spark, local.scratch, os.environ)
    except PySparkException as error:
        yield wrong("Spark", Options(settings).hide(cause(str(error))))


def with_spark(
    config: Config, spark: SparkSession, scratch: Path, environ: Mapping[str, str]
) -> Iterator[Check]:
    """The checks that need Spark.

    Args:
        config: the file.
        spark: the session.
        scratch: an empty folder.
        environ: the variables that `${NAME}` stands for.
    """
    if spark.version != pyspark.__version__:
        mend = f"pip install pyspark=={spark.version} there, and what fits it here"
        yield wrong("Spark", f"is {spark.version}, and Python's is {pyspark.__version__}", mend)
    else:
        yield ok("Spark", f"{spark.version} at {spark.sparkContext.master}")
    if "kafka" in _formats(config):
        yield connector(spark)
    seen: list[Check] = []
    for one in config.streams.values():
        for check in stream_checks(one, spark, environ, datetime.now(UTC)):
            seen.append(check)
            yield check
    text = None
    try:
        network = toml_network(config, spark, environ=environ).network
    except PenstockError as error:
        if not any(check.state == "wrong" for check in seen):  # else it has been said
            yield wrong("network", str(error).partition("\n")[0])
    else:
        text = str(network)
        split = network.split
        apart = f", {_count(len(split.alone), 'query')} by themselves" if split.alone else ""
        yield ok("network", f"compiles: {_count(len(split.parts), 'shared stream')}{apart}")
        yield from answers(config, network)
        yield places(network, spark, scratch)
    place = f"{config.file}: [run] checkpoint"
    where = config.run.checkpoint
    yield from checkpoint_checks(filled(where, environ, place) if where else None, text)


def connector(spark: SparkSession) -> Check:
    """Whether Spark has its Kafka connector.

    Args:
        spark: the session.
    """
    try:
        options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "none"}
        spark.readStream.format("kafka").options(**options).load()
    except PySparkException:
        mend = f'give it in [run.spark]: "spark.jars.packages" = "{KAFKA}"'
        return wrong("connector", "Spark has no connector for Kafka", mend)
    return ok("connector", "Spark has the one for Kafka")


def _formats(config: Config) -> Iterator[Any]:
    yield from (one.source for one in config.streams.values())
    yield config.run.sink.get("format")
    yield from (one.sink.get("format") for one in config.queries.values())


def _count(number: int, what: str) -> str:
    several = what.removesuffix("y") + "ies" if what.endswith("y") else f"{what}s"
    return f"{number} {what if number == 1 else several}"


def _summary(found: list[Check]) -> str:
    wrongs = sum(one.state == "wrong" for one in found)
    warnings = sum(one.state == "warn" for one in found)
    if not wrongs and not warnings:
        return "All is well."
    said = [_count(wrongs, "thing") + " to mend"] if wrongs else ["Nothing is wrong"]
    return ", ".join([*said, _count(warnings, "warning")] if warnings else said) + "."

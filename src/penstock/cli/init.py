"""`penstock init`: a first TOML file for a source, with the columns that were found there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from penstock.cli.asked import with_connector
from penstock.cli.failures import Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import DEMO, local_spark
from penstock.errors import UsageError, complaint
from penstock.network.config import parse_config
from penstock.network.secrets import filled
from penstock.network.starter import Start, starter
from penstock.sources.options import HIDDEN, Options, without_login
from penstock.sources.sample import sample_files, sample_kafka

EXAMPLE = "Example: penstock init kafka://localhost:9092/packets -o packets.toml"

_KAFKA = re.compile(r"kafka://(?P<servers>[^/]+)/(?P<topic>[^/]+)/?")


def init(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="kafka://host:port/topic, or a folder or file of parquet, JSON or CSV.",
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="What to write; by the source's name."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Of Kafka's connector or consumer; ${NAME} is a variable of the environment.",
        ),
    ] = None,
    spark: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A setting of Spark's, such as spark.jars=FILES."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write a first TOML file for a source: its columns, its event time, a count per minute."""
    with one_line_errors(verbose=verbose):
        if output is not None:
            _free(output, force=force)
        options, settings = _pairs("--option", option or []), _pairs("--spark", spark or [])
        used = filled(dict(settings), os.environ, "--spark")
        check_java()
        more = with_connector(used) if source.startswith("kafka:") else used
        with local_spark(DEMO, verbose=verbose, more=more) as local:
            start = look(local.spark, source, options, os.environ, local.scratch)
        start = replace(start, spark=without_secrets(settings))
        file = output or Path(f"{start.name}.toml")
        _free(file, force=force)
        write(start, file)
        print(said(start, file))


def look(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    environ: Mapping[str, str],
    scratch: Path,
) -> Start:
    """What is found at a source.

    Args:
        spark: the session.
        source: as the user names it.
        options: for Kafka; `${NAME}` in them is a variable of the environment.
        environ: the variables.
        scratch: an empty folder.
    """
    if not source.startswith("kafka:"):
        if options:
            raise UsageError(complaint("--option", "must be left out for files", list(options)))
        if (shown := without_login(source)) != source:
            hint = "give it by --spark, such as spark.hadoop.fs.s3a.secret.key=…"
            raise UsageError(complaint("SOURCE", "must have no login in it", shown, hint))
        return sample_files(spark, source)
    found = _KAFKA.fullmatch(source)
    if found is None or "@" in source:
        hint = "a login is given by --option, with ${NAME} for what is secret"
        rule = "must be kafka://host:port/topic"
        # What stands before an @ may be a password.
        shown = re.sub(r"//.*@", f"//{HIDDEN}@", source)
        raise UsageError(complaint("SOURCE", rule, shown, hint))
    used = filled(dict(options), environ, "--option")
    start = sample_kafka(spark, found["servers"], found["topic"], used, str(scratch / "sample"))
    return replace(start, options={**start.options, **without_secrets(options)})


def without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """Options as a file may have them: what is secret is the name of a variable.

    >>> without_secrets({"kafka.ssl.key.password": "hunter2", "kafka.security.protocol": "SSL"})
    {'kafka.ssl.key.password': '${KAFKA_SSL_KEY_PASSWORD}', 'kafka.security.protocol': 'SSL'}
    """
    shown = Options(options)
    return {
        name: value
        if "${" in value or shown.shown(name) != HIDDEN
        else "${" + re.sub(r"\W", "_", name).upper() + "}"
        for name, value in options.items()
    }


def write(start: Start, file: Path) -> None:
    """Writes the file; its own reader must take it.

    Args:
        start: what was found.
        file: where to.
    """
    text = starter(start, file.name)
    parse_config(text, file.name).outline()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(complaint("-o", "must be a file to write", str(file))) from error


def said(start: Start, file: Path) -> str:
    """What the command says at its end.

    Args:
        start: what was found.
        file: that was written.
    """
    time = f"event time {start.times[0].name}" if start.times else "no event time: fill it in"
    return (
        f"{file}: stream {start.name}, {len(start.columns)} columns, {time}\n"
        f"next: penstock doctor {file}"
    )


def _free(file: Path, *, force: bool) -> None:
    if file.exists() and not force:
        rule, hint = "must not be there yet", "--force writes over it; -o names another"
        raise UsageError(complaint(str(file), rule, "a file", hint))


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise UsageError(complaint(option, "must be NAME=VALUE", name))
        found[name] = value
    return found

"""The queries of a TOML file over real streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.cql_network import Answers, bound
from penstock.engine.failures import cause
from penstock.engine.opening import stream
from penstock.engine.stream import Stream
from penstock.errors import PenstockError
from penstock.network.config import Config, read_config
from penstock.network.right_values import with_hint
from penstock.network.secrets import filled
from penstock.network.settings import RelationSettings, StreamSettings
from penstock.network.tables import ConfigError
from penstock.sources import Source, named
from penstock.sources.options import Options

Load = Callable[[str, Mapping[str, Any]], DataFrame | Source]
"""Kind of a source, its options → its rows."""


def toml_queries(
    file: str | Path | Config,
    spark: SparkSession,
    load: Load = named,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Answers]:
    """The queries of a TOML file, by name and in its order, each as Python would make it.

    Args:
        file: its path, or what `read_config` made of it.
        spark: the session that relations are read with.
        load: makes a source from its kind, such as "kafka", and its options; one of `ps.sources`
            if it is not given.
        environ: the variables that `${NAME}` stands for; those of this process if not given.
    """
    config = file if isinstance(file, Config) else read_config(file)
    variables = os.environ if environ is None else environ
    streams = {name: _opened(one, load, variables) for name, one in config.streams.items()}
    relations = {n: _stored(one, spark, variables) for n, one in config.relations.items()}
    return bound(config.definitions, streams, relations)


def source_of(
    one: StreamSettings, environ: Mapping[str, str], load: Load = named
) -> DataFrame | Source:
    """The source of a stream; what is wrong with its options is said with their table.

    Args:
        one: what the file says of the stream.
        environ: the variables that `${NAME}` stands for.
        load: makes a source from its kind and its options.
    """
    options = filled(dict(one.options), environ, f"{one.place} options")
    try:
        return load(one.source, options)
    except PenstockError as error:
        what = str(error).split(maxsplit=1)[0]
        raise ConfigError(with_hint(f"{one.place} options: {error}", what)) from error


def _opened(one: StreamSettings, load: Load, environ: Mapping[str, str]) -> Stream:
    rows = source_of(one, environ, load)
    try:
        return stream(
            rows,
            one.event_time,
            one.slack,
            one.late,
            progress=one.progress,
            order=one.order or None,
            name=one.name,
            identity=one.identity or None,
            weight=one.weight,
        )
    except PenstockError as error:
        raise ConfigError(f"{one.place} {error}") from error


def _stored(one: RelationSettings, spark: SparkSession, environ: Mapping[str, str]) -> DataFrame:
    options = filled(dict(one.options), environ, f"{one.place} options")
    reader = spark.read.format(one.format).options(**options)
    reader = reader.schema(one.schema) if one.schema is not None else reader
    path = filled(one.path, environ, f"{one.place} path")
    try:
        return reader.load(path)
    except PySparkException as error:
        # Without the cause: it may hold what is taken out here.
        said = Options({**options, "path": path}).hide(cause(str(error)))
        raise ConfigError(f"{one.place} cannot be read: {said}") from None

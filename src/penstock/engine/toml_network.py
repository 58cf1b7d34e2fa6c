"""A TOML file as a network that is ready to run: its queries, their kinds of answers, its sinks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock import sinks
from penstock.engine.cql_network import Answers
from penstock.engine.from_toml import Load, toml_queries
from penstock.engine.kinds import check_kind
from penstock.engine.network import Network
from penstock.engine.window_query import WindowQuery
from penstock.errors import PenstockError, UsageError, complaint
from penstock.network.config import Config, read_config
from penstock.network.secrets import filled
from penstock.network.settings import QuerySettings
from penstock.network.tables import ConfigError
from penstock.sources import named

CONFIDENCE = 0.99
"""How often the exact answer is within the bounds, if nothing is said."""


@dataclass(frozen=True)
class TomlNetwork:
    """What a file says, over real streams.

    Args:
        config: the file.
        network: its queries.
        sink: where the answers go of queries without a sink of their own; None if none is named.
        sinks: query → its own sink; where none is named at all, one that keeps nothing.
    """

    config: Config
    network: Network
    sink: sinks.Sink | None
    sinks: Mapping[str, sinks.Sink]


def toml_network(
    file: str | Path | Config,
    spark: SparkSession,
    load: Load = named,
    environ: Mapping[str, str] | None = None,
) -> TomlNetwork:
    """The network of a TOML file, with the kinds of answers and the sinks that it names.

    A query that says what kind of answers it wants has them, or is refused. What the file says for
    all holds for those that can have such answers; the others are exact.

    Args:
        file: its path, or what `read_config` made of it.
        spark: the session that relations are read with.
        load: makes a source from its kind, such as "kafka", and its options; one of `ps.sources`
            if it is not given.
        environ: the variables that `${NAME}` stands for; those of this process if not given.
    """
    config = file if isinstance(file, Config) else read_config(file)
    variables = os.environ if environ is None else environ
    exact = Network(**toml_queries(config, spark, load, variables))
    queries = {
        name: _asked(exact, query, config.queries[name], f"{config.file}: [query.{name}]")
        for name, query in exact.queries.items()
    }
    own = {
        name: _sink(of.sink, variables, f"{config.file}: [query.{name}.sink]")
        for name, of in config.queries.items()
        if of.sink
    }
    common = config.run.sink
    sink = _sink(common, variables, f"{config.file}: [run.sink]") if common else None
    network = Network(**queries)
    for name in queries:
        try:
            network.check_weights(name)
        except PenstockError as error:
            raise ConfigError(f"{config.file}: [query.{name}] answers: {error}") from error
    return TomlNetwork(config, network, sink, own if sink is not None else unkept(network, own))


def unkept(network: Network, own: Mapping[str, sinks.Sink]) -> dict[str, sinks.Sink]:
    """The sinks of all queries, where those that have none keep nothing.

    The answers of a part of the network are computed once for all of its queries: so one query of
    each part computes them, and the others have nothing to do.

    Args:
        network: the queries.
        own: query → its sink.
    """
    found = dict(own)
    for part in [*(tuple(graph.queries) for graph in network.split.parts), *_each(network)]:
        computed = any(name in own for name in part)
        for name in part:
            if name not in own:
                found[name] = sinks.function(_nothing if computed else _computed)
                computed = True
    return found


def _each(network: Network) -> list[tuple[str, ...]]:
    return [(name,) for name in network.split.alone]


def _computed(batch: DataFrame, _: int) -> None:
    batch.write.format("noop").mode("overwrite").save()


def _nothing(_: DataFrame, __: int) -> None:
    pass


def _asked(exact: Network, query: Answers, settings: QuerySettings, place: str) -> Answers:
    """The query with the kind of answers that is asked of it."""
    alone = settings.name in exact.split.alone
    try:
        if not isinstance(query, WindowQuery):
            rule = f"must be windows, for {settings.answers} answers"
            raise UsageError(complaint(f"query {settings.name}", rule, "rows one by one"))
        of = _kind(query, settings)
        check_kind(exact.graph, settings.name, of.answers, alone=alone)
    except ConfigError as error:
        raise ConfigError(f"{place} {error}") from error
    except PenstockError as error:
        if settings.asked:
            raise ConfigError(f"{place} answers: {error}") from error
        return query
    return of


def _kind(query: WindowQuery, settings: QuerySettings) -> WindowQuery:
    if settings.answers == "subset":
        if settings.max_gap is None:
            hint = "how many windows in a row may be missing, such as max_gap = 5"
            raise ConfigError(complaint("max_gap", "must be given for a run", None, hint))
        return query.subset(
            settings.max_gap,
            per=settings.per,
            weight=settings.weight,
            priority=settings.priority,
        )
    sure = CONFIDENCE if settings.confidence is None else settings.confidence
    weight, priority, floor = settings.weight, settings.priority, settings.floor
    return query.approximate(sure, weight=weight, priority=priority, floor=floor)


def _sink(settings: Mapping[str, object], environ: Mapping[str, str], place: str) -> sinks.Sink:
    given = filled(dict(settings), environ, place)
    try:
        return sinks.named(given)
    except PenstockError as error:
        raise ConfigError(f"{place} {error}") from error

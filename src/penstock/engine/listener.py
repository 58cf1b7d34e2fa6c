"""Prometheus' metrics of any Spark stream, without anything else of this library.

spark ──► StreamingQueryListener ──► http://127.0.0.1:PORT/metrics ◄── Prometheus
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock.view import prometheus
from penstock.view.page.exchange import Reply, Route, line
from penstock.view.page.site import Site
from penstock.view.streams import Streams

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class Listener(StreamingQueryListener):
    """Publishes rates, durations, state and watermarks of all streams of a session.

    Attach it with `spark.streams.addListener(ps.Listener(port=9400))`. The metrics have the label
    `query`: the name of the stream, or the beginning of its id if it has none.

    Args:
        port: where Prometheus finds `/metrics`; 0 for any that is free, see `url`. None opens none
            if there is a registry, else a free one.
        registry: a registry of prometheus_client's that is published elsewhere.
        host: the address to listen on; of another than this machine's own only with a token.
        token: what Prometheus has to show (`authorization: credentials`), at least 16 characters.
    """

    def __init__(
        self,
        port: int | None = None,
        registry: CollectorRegistry | None = None,
        *,
        host: str = "127.0.0.1",
        token: str | None = None,
    ) -> None:
        prometheus.library()  # that it is missing is said now, not at the first scrape
        self._streams = Streams()
        self._site: Site | None = None
        self._registry = registry
        if port is not None or registry is None:
            routes = {
                "/metrics": Route(lambda _: self._metrics()),
                "/healthz": Route(lambda _: line("ok"), public=True),
            }
            self._site = Site(routes, host=host, port=port or 0, token=token)
        self._collector = prometheus.Collector(self._streams.collect)
        if registry is not None:
            registry.register(self._collector)

    @property
    def url(self) -> str | None:
        """Where the metrics are; None if they are in a registry only."""
        return None if self._site is None else f"{self._site.url}metrics"

    def close(self) -> None:
        """Publishes no longer; remove it from the session too, with `removeListener`."""
        if self._site is not None:
            self._site.close()
        if self._registry is not None:
            self._registry.unregister(self._collector)

    def _metrics(self) -> Reply:
        return Reply(prometheus.text(self._streams.collect), prometheus.CONTENT_TYPE)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Spark tells that a stream has begun."""
        self._streams.started(str(event.id), event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Spark tells of a batch."""
        self._streams.progressed(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Spark tells that there is nothing to do: nothing has changed."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Spark tells that a stream has ended."""
        self._streams.ended(str(event.id), failed=event.exception is not None)

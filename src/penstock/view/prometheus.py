"""The library for Prometheus' metrics, which is an extra."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def library() -> Any:  # noqa: ANN401 - a module
    """The module `prometheus_client`."""
    try:
        return importlib.import_module("prometheus_client")
    except ImportError as error:
        text = "metrics need the package prometheus-client: pip install 'penstock[metrics]'"
        raise UsageError(text) from error


def text(collect: Callable[[], Iterable[Metric]]) -> bytes:
    """Metrics in the format that Prometheus reads.

    Args:
        collect: tells them.
    """
    client = library()
    # A registry of its own: what else this process counts is not ours to tell.
    registry = client.CollectorRegistry()
    registry.register(Collector(collect))
    found: bytes = client.generate_latest(registry)
    return found


class Collector:
    """What a registry asks for metrics.

    Args:
        collect: tells them.
    """

    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self.collect = collect


def gauge(name: str, meaning: str, *labels: str) -> GaugeMetricFamily:
    """A metric that goes up and down."""
    library()
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - an extra

    return GaugeMetricFamily(f"penstock_{name}", meaning, labels=labels)


def counter(name: str, meaning: str, *labels: str) -> CounterMetricFamily:
    """A metric that only goes up; its name ends in `_total`."""
    library()
    from prometheus_client.core import CounterMetricFamily  # noqa: PLC0415 - an extra

    return CounterMetricFamily(f"penstock_{name}", meaning, labels=labels)

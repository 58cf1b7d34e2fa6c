"""Where rows come from.

kafka       topics, with a parse step        files     parquet, JSON, CSV
rate        Spark's own numbered rows        frame     any DataFrame
replay      a recorded trace, at any pace    packets   made-up traffic with bursts
"""

from penstock.sources.aside import Aside
from penstock.sources.files import files
from penstock.sources.frame import frame
from penstock.sources.kafka import kafka
from penstock.sources.malformed import bad, good, malformed_in
from penstock.sources.named import named
from penstock.sources.packets import packets
from penstock.sources.parse import json
from penstock.sources.rate import rate
from penstock.sources.replay import replay
from penstock.sources.source import Source

__all__ = [
    "Aside",
    "Source",
    "bad",
    "files",
    "frame",
    "good",
    "json",
    "kafka",
    "malformed_in",
    "named",
    "packets",
    "rate",
    "replay",
]

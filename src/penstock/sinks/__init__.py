"""Where results go.

parquet     a folder per batch, replaced when the batch comes again: every row once
kafka       records with the number of their batch in a header: at least once
memory      in the driver; console: on the screen; function: whatever the user does with a batch
"""

from penstock.sinks.console import console
from penstock.sinks.function import function
from penstock.sinks.kafka import kafka
from penstock.sinks.memory import memory
from penstock.sinks.named import named
from penstock.sinks.parquet import parquet
from penstock.sinks.sink import Sink

__all__ = ["Sink", "console", "function", "kafka", "memory", "named", "parquet"]

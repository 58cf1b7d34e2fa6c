"""Load shedding and fast windows for Spark Structured Streaming."""

from importlib.metadata import version

__version__ = version("penstock")

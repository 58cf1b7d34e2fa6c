"""Penstock keeps windowed Spark streams within a latency target.

>>> import penstock as ps
>>> ps.sum("size")
Aggregate(function='sum', column='size', parameter=None, fold=None, returns=None)
"""

from importlib.metadata import version

from penstock import sinks, sources
from penstock.engine.cql import cql
from penstock.engine.cql_network import cql_queries
from penstock.engine.from_toml import toml_queries
from penstock.engine.interpolation import interpolated
from penstock.engine.listener import Listener
from penstock.engine.network import Network
from penstock.engine.network_run import NetworkRun
from penstock.engine.opening import stream
from penstock.engine.run import Run
from penstock.engine.stream import Stream
from penstock.engine.window_query import WindowQuery
from penstock.errors import PenstockError
from penstock.network.aggregates import (
    approx_count_distinct,
    approx_percentile,
    avg,
    count,
    max,  # noqa: A004 - as in Spark's functions
    min,  # noqa: A004 - as in Spark's functions
    stddev_pop,
    stddev_samp,
    sum,  # noqa: A004 - as in Spark's functions
    user_defined,
    var_pop,
    var_samp,
)
from penstock.network.progress import heartbeat, ordered_by, punctuation, row_slack
from penstock.windows import (
    Density,
    Fold,
    landmark,
    rows,
    session,
    slide_by_rank,
    slide_by_rows,
    slide_by_tuple,
    sliding,
    tumbling,
)

__version__ = version("penstock")

__all__ = [
    "Density",
    "Fold",
    "Listener",
    "Network",
    "NetworkRun",
    "PenstockError",
    "Run",
    "Stream",
    "WindowQuery",
    "__version__",
    "approx_count_distinct",
    "approx_percentile",
    "avg",
    "count",
    "cql",
    "cql_queries",
    "heartbeat",
    "interpolated",
    "landmark",
    "max",
    "min",
    "ordered_by",
    "punctuation",
    "row_slack",
    "rows",
    "session",
    "sinks",
    "slide_by_rank",
    "slide_by_rows",
    "slide_by_tuple",
    "sliding",
    "sources",
    "stddev_pop",
    "stddev_samp",
    "stream",
    "sum",
    "toml_queries",
    "tumbling",
    "user_defined",
    "var_pop",
    "var_samp",
]

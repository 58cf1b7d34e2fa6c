"""What a window is: its specification, its rows, its panes, and the naive answer; no engine.

>>> q1 = sliding("300 seconds", "60 seconds", on="ts")
>>> print(q1)
RANGE 5 min SLIDE 1 min WATTR ts
>>> [window_bounds(w, q1) for w in wids_at(250_000_000, q1)][0]
(0, 300000000)

    spec, domain_windows, row_windows     a specification, and the constructors of each kind
    functions, arithmetic                 windows, extent and wids: on rows, and as plain formulas
    classify                              what must be known of other rows
    panes, ladder                         the pieces that windows share
    evaluation                            which way of computing costs least
    fold, aggregates, spread              aggregates that know nothing of windows
    oracle, replay                        the naive answer: for a list, and batch by batch

Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams", SIGMOD 2005.
"""

from penstock.windows.arithmetic import (
    first_wid,
    last_closed,
    last_wid,
    late_before,
    lost_before,
    wids_at,
    window_bounds,
    window_end,
)
from penstock.windows.classify import classify
from penstock.windows.domain_windows import cumulative, landmark, sliding, spark_aligned, tumbling
from penstock.windows.durations import format_duration, parse_duration
from penstock.windows.evaluation import Density, Evaluation, choose
from penstock.windows.fold import Fold
from penstock.windows.functions import extent, wids, windows
from penstock.windows.kinds import DOMAIN_KINDS, Kind
from penstock.windows.ladder import Ladder
from penstock.windows.oracle import evaluate
from penstock.windows.replay import Late, replay
from penstock.windows.row_windows import rows, slide_by_rank, slide_by_rows, slide_by_tuple
from penstock.windows.sessions import SessionSpec, session
from penstock.windows.spec import WindowSpec

__all__ = [
    "DOMAIN_KINDS",
    "Density",
    "Evaluation",
    "Fold",
    "Kind",
    "Ladder",
    "Late",
    "SessionSpec",
    "WindowSpec",
    "choose",
    "classify",
    "cumulative",
    "evaluate",
    "extent",
    "first_wid",
    "format_duration",
    "landmark",
    "last_closed",
    "last_wid",
    "late_before",
    "lost_before",
    "parse_duration",
    "replay",
    "rows",
    "session",
    "slide_by_rank",
    "slide_by_rows",
    "slide_by_tuple",
    "sliding",
    "spark_aligned",
    "tumbling",
    "wids",
    "wids_at",
    "window_bounds",
    "window_end",
    "windows",
]

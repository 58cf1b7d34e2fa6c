"""What a running network costs and brings, learnt batch by batch; no engine.

    batch ──► Observation ──► Statistics ──► Snapshot ──► planner, controller, a person
                                  │
                                  └─ CostModel: seconds = fixed + Σ cost · rows in

    observation, moments      what one batch tells
    prior, calibration        what is believed before anything was measured
    fitting, nonnegative      the arithmetic of the cost model
    costs                     the cost model: memory, forgetting, a machine that changes
    fading, groups            sums in which older entries count less, also by group, bounded
    settings                  warm-up, and how fast the past is forgotten
    records, statistics       learn from each batch
    snapshot, text            what is known now: records, a table, JSON

The statistics manager of Babcock, Datar and Motwani, "Load Shedding for Aggregation Queries over
Data Streams", ICDE 2004, §2.
"""

from penstock.control.calibration import calibrate
from penstock.control.costs import CostModel, Costs
from penstock.control.moments import Answers, Moments
from penstock.control.observation import Flow, Observation
from penstock.control.prior import Prior, default_prior
from penstock.control.settings import Memory, Warmup
from penstock.control.snapshot import (
    OperatorStatistics,
    QueryStatistics,
    Snapshot,
    StreamStatistics,
)
from penstock.control.statistics import Statistics

__all__ = [
    "Answers",
    "CostModel",
    "Costs",
    "Flow",
    "Memory",
    "Moments",
    "Observation",
    "OperatorStatistics",
    "Prior",
    "QueryStatistics",
    "Snapshot",
    "Statistics",
    "StreamStatistics",
    "Warmup",
    "calibrate",
    "default_prior",
]

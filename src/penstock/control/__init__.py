"""What a running network costs and brings, and how much it may take in; no engine.

    batch ──► Observation ──► Statistics ──► Snapshot ──► planner, controller, a person
                                  │
                                  └─ CostModel: seconds = fixed + Σ cost · rows in

    batch ──► Batch ──► SeamlessBatches ──► Admitted: the work that the next batch may bring

    observation, moments      what one batch tells
    prior, calibration        what is believed before anything was measured
    fitting, nonnegative      the arithmetic of the cost model
    costs                     the cost model: memory, forgetting, a machine that changes
    fading, groups            sums in which older entries count less, also by group, bounded
    settings                  warm-up, and how fast the past is forgotten
    records, statistics       learn from each batch
    snapshot, text            what is known now: records, a table, JSON

    batch, admitted           what a controller is told once a batch, and its answer
    batches, pace             SEaMLeSS for micro-batches: the default
    period, feedback          what a controller is told of an engine that works row by row
    seamless, headroom        SEaMLeSS as in the paper, its headroom found by itself
    aurora, ctrl, in_batches  the two it is compared with
    coefficients              the work that a row brings to an operator and all below it

The statistics manager of Babcock, Datar and Motwani, "Load Shedding for Aggregation Queries over
Data Streams", ICDE 2004, §2; the controllers of Pham, Chrysanthis and Labrinidis, "Self-managing
load shedding for data stream management systems", 2013.
"""

from penstock.control.admitted import Admitted
from penstock.control.aurora import Aurora
from penstock.control.batch import Batch
from penstock.control.batches import SeamlessBatches
from penstock.control.calibration import calibrate
from penstock.control.coefficients import coefficients, queued_load
from penstock.control.costs import CostModel, Costs
from penstock.control.ctrl import Ctrl
from penstock.control.headroom import ResponseTimes, WorkDone
from penstock.control.in_batches import InBatches
from penstock.control.moments import Answers, Moments
from penstock.control.observation import Flow, Observation
from penstock.control.period import Period
from penstock.control.prior import Prior, default_prior
from penstock.control.seamless import Seamless
from penstock.control.settings import Memory, Warmup
from penstock.control.snapshot import (
    OperatorStatistics,
    QueryStatistics,
    Snapshot,
    StreamStatistics,
)
from penstock.control.statistics import Statistics

__all__ = [
    "Admitted",
    "Answers",
    "Aurora",
    "Batch",
    "CostModel",
    "Costs",
    "Ctrl",
    "Flow",
    "InBatches",
    "Memory",
    "Moments",
    "Observation",
    "OperatorStatistics",
    "Period",
    "Prior",
    "QueryStatistics",
    "ResponseTimes",
    "Seamless",
    "SeamlessBatches",
    "Snapshot",
    "Statistics",
    "StreamStatistics",
    "Warmup",
    "WorkDone",
    "calibrate",
    "coefficients",
    "default_prior",
    "queued_load",
]

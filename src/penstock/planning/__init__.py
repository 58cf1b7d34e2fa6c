"""Where to drop: the plan with the smallest loss, from statistics and a load. No Spark.

    graph, Known ──► workload ──► Workload ──► plan ──► Planned: a Plan, errors, reasons

    asked, workload           what a plan is made from: plain numbers
    known, guesses            what was measured, and what is assumed where nothing was
    wanted, assume            the workload of a network
    levels                    priorities, and who is closed
    sampling, placement       random drops: how much, and where
    spans, spread, subset     window drops: what they keep together, what they save, where
    panes                     aggregates that are computed together cost once
    planner                   all of it, in order
    outcome, reasons, result  what becomes of each query, and why; expected, text
    analysis, uniform         what to compare with

Babcock, Datar and Motwani, "Load Shedding for Aggregation Queries over Data Streams", ICDE 2004;
Tatbul and Zdonik, "Window-Aware Load Shedding for Aggregation Queries over Data Streams", VLDB
2006.
"""

from penstock.planning.asked import Asked, Node, Window
from penstock.planning.assume import workload
from penstock.planning.expected import expected_error, expected_error_of_groups
from penstock.planning.known import Known
from penstock.planning.planner import plan
from penstock.planning.result import Outcome, Planned
from penstock.planning.text import render
from penstock.planning.uniform import uniform
from penstock.planning.workload import Workload

__all__ = [
    "Asked",
    "Known",
    "Node",
    "Outcome",
    "Planned",
    "Window",
    "Workload",
    "expected_error",
    "expected_error_of_groups",
    "plan",
    "render",
    "uniform",
    "workload",
]

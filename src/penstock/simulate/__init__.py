"""A stream system in virtual time: operators, queues, a scheduler, arrivals. No Spark.

arrivals, machine     what comes, and how fast the machine is
network               operators with costs and selectivities
tuples                row by row, on small networks: every row waits in queues
fluid                 a thousand operators for an hour
batches               micro-batches, with their dead time
record, least         what a run was like, and the least loss that was possible
marks, windrop        the window drop of the paper, with marks in the rows
"""

from penstock.simulate.arrivals import Arrivals, spread, steps
from penstock.simulate.batches import run_batches
from penstock.simulate.engine import Engine
from penstock.simulate.fluid import run_fluid
from penstock.simulate.least import least_loss, least_loss_in_batches, least_loss_steady
from penstock.simulate.machine import Machine
from penstock.simulate.marks import Filter, Marked, answers, through
from penstock.simulate.network import Box, Boxes, flat, shared
from penstock.simulate.record import Record
from penstock.simulate.tuples import run_tuples
from penstock.simulate.windrop import Aggregate, WinDrop

__all__ = [
    "Aggregate",
    "Arrivals",
    "Box",
    "Boxes",
    "Engine",
    "Filter",
    "Machine",
    "Marked",
    "Record",
    "WinDrop",
    "answers",
    "flat",
    "least_loss",
    "least_loss_in_batches",
    "least_loss_steady",
    "run_batches",
    "run_fluid",
    "run_tuples",
    "shared",
    "spread",
    "steps",
    "through",
]

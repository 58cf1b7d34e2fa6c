"""Many nodes: where a chain or tree of jobs sheds on behalf of the jobs downstream. No Spark.

    model, parts, config        nodes, inputs, boxes, outputs, links; in Python or TOML
    learnt                      the same from the statistics of running nodes
    splits, compiling, program  where drops can stand; the network as a linear program
    highs, optimum              the exact plan, solved while the system runs
    regions, workload, advance  Solver, Solver-W: plans for all rates in advance
    lookup, saving              found in microseconds; saved to a file
    fit                         feasible input tables: C-FIT in one place, D-FIT between neighbours
    phases                      planned, overloaded, chosen, in force, lifted
    render, fair                a picture of a plan; what overloaded nodes get done without one

Tatbul, Çetintemel and Zdonik, "Staying FIT: Efficient Load Shedding Techniques for Distributed
Stream Processing", VLDB 2007.

>>> network = Network(
...     (Node("A"), Node("B")),
...     (Input("left", 1.0), Input("right", 1.0)),
...     (Box("a1", "A", ("left",), 1.0), Box("a2", "A", ("right",), 2.0),
...      Box("b1", "B", ("a1",), 3.0), Box("b2", "B", ("a2",), 1.0)),
...     (Output("first", "b1"), Output("second", "b2")),
... )
>>> plan = optimal_plan(network)
>>> {str(location): round(keep, 3) for location, keep in plan.keeps.items()}
{'left ─► a1': 0.2, 'right ─► a2': 0.4}
"""

from penstock.nodes.advance import plans_in_advance
from penstock.nodes.config import is_nodes_file, parse_nodes, read_nodes
from penstock.nodes.fit.central import Fit, fit
from penstock.nodes.fit.peers import Peer
from penstock.nodes.fit.tree import Tree
from penstock.nodes.jobs import Job, of_jobs
from penstock.nodes.learnt import learnt
from penstock.nodes.lookup import Choice, Plans
from penstock.nodes.model import Box, Input, Link, Network, Node, Output
from penstock.nodes.optimum import NodesPlan, Planner, optimal_plan
from penstock.nodes.phases import Phases
from penstock.nodes.regions import Progress
from penstock.nodes.render import plan_text, render
from penstock.nodes.saving import load_plans, save_plans
from penstock.nodes.splits import Location
from penstock.nodes.workload import Exponential, Observed

__all__ = [
    "Box",
    "Choice",
    "Exponential",
    "Fit",
    "Input",
    "Job",
    "Link",
    "Location",
    "Network",
    "Node",
    "NodesPlan",
    "Observed",
    "Output",
    "Peer",
    "Phases",
    "Planner",
    "Plans",
    "Progress",
    "Tree",
    "fit",
    "is_nodes_file",
    "learnt",
    "load_plans",
    "of_jobs",
    "optimal_plan",
    "parse_nodes",
    "plan_text",
    "plans_in_advance",
    "read_nodes",
    "render",
    "save_plans",
]

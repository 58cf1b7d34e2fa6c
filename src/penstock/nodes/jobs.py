"""A model of networks that run already, each a job of its own: topics link them.

        a.toml                                          b.toml
packets ─► filter ─► web, sink topic "web" ═══════► stream of topic "web" ─► per_host

A job is a node. Every operator of its network is a box there, with the cost and selectivity that
were measured; a query whose topic another job reads feeds its stream, and the others are outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.control.prior import default_prior, taking
from penstock.errors import SpecificationError, complaint
from penstock.network.config import Config
from penstock.network.graph import Graph
from penstock.network.operators import Operator, Source, inputs, kind
from penstock.nodes.model import Network
from penstock.nodes.parts import Box, Input, Node, Output
from penstock.planning import Known


@dataclass(frozen=True)
class Job:
    """A network that runs.

    Args:
        name: of the job.
        config: its file.
        measured: its statistics, as a snapshot has them; what is not there is believed.
    """

    name: str
    config: Config
    measured: Known = field(default_factory=Known)

    @cached_property
    def graph(self) -> Graph:
        """Its operators."""
        return self.config.outline()

    @cached_property
    def known(self) -> Known:
        """What was measured, before what the file says, before what is believed."""
        kinds = {name: kind(one) for one, name in self.graph.names.items()}
        believed = Known(costs=default_prior(kinds).costs)
        return believed.but(Known.from_table(self.config.statistics)).but(self.measured)

    def box(self, operator: Operator) -> str:
        """What an operator is called among those of all jobs."""
        return f"{self.name}.{self.graph.names[operator]}"

    def reads(self, source: Source) -> tuple[str, ...]:
        """The topics of a stream; itself, with the name of the job, if it is of something else."""
        of = self.config.streams[source.name]
        listed = of.options.get("topics") if of.source == "kafka" else None
        if isinstance(listed, str):
            listed = listed.split(",")
        return tuple(one.strip() for one in listed) if listed else (f"{self.name}.{source.name}",)

    def writes(self, query: str) -> str | None:
        """The topic that the answers of a query go to; None if they go elsewhere."""
        sink: Mapping[str, Any] = self.config.queries[query].sink or self.config.run.sink
        return str(sink["topic"]) if sink.get("format") == "kafka" else None


def of_jobs(jobs: Sequence[Job], rates: Mapping[str, float] | None = None) -> Network:
    """The nodes, boxes and outputs of jobs that are linked by topics.

    Args:
        jobs: all of them.
        rates: rows per second of topics, and of streams of something else (JOB.STREAM), that no job
            writes; they count more than what was measured.
    """
    written: dict[str, list[str]] = {}
    for job in jobs:
        for query, operator in job.graph.queries.items():
            if (topic := job.writes(query)) is not None:
                written.setdefault(topic, []).append(job.box(operator))
    read = {topic for job in jobs for source in job.graph.sources for topic in job.reads(source)}
    return Network(
        tuple(Node(job.name) for job in jobs),
        tuple(_inputs(jobs, written, rates or {})),
        tuple(box for job in jobs for box in _boxes(job, written)),
        tuple(
            Output(f"{job.name}.{query}", job.box(operator), job.config.queries[query].weight)
            for job in jobs
            for query, operator in job.graph.queries.items()
            if job.writes(query) not in read
        ),
    )


def _inputs(
    jobs: Sequence[Job], written: Mapping[str, object], rates: Mapping[str, float]
) -> Iterator[Input]:
    found: dict[str, float | None] = {}
    for job in jobs:
        for source in job.graph.sources:
            outside = [topic for topic in job.reads(source) if topic not in written]
            rate = job.known.rates.get(source.name)
            for topic in outside:
                # Of several topics of one stream only the sum was measured.
                found[topic] = found.get(topic) or (rate and rate / len(outside))
    for topic, rate in found.items():
        known = rates.get(topic, rate)
        if known is None:
            hint = f"such as --rates {topic}=50000, or --statistics of a job that reads it"
            raise SpecificationError(complaint(f"the rate of {topic}", "must be known", None, hint))
        yield Input(topic, known)


def _boxes(job: Job, written: Mapping[str, Sequence[str]]) -> Iterator[Box]:
    known, names = job.known, job.graph.names
    for operator in job.graph.operators:
        name = names[operator]
        cost = known.costs.get(name, 0.0)
        if isinstance(operator, Source):
            cost += known.costs.get(taking(name), 0.0)
            fed = [one for topic in job.reads(operator) for one in written.get(topic, [topic])]
            yield Box(job.box(operator), job.name, tuple(fed), cost)
        else:
            fed = [job.box(one) for one in inputs(operator)]
            passes = known.selectivities.get(name, 1.0)
            yield Box(job.box(operator), job.name, tuple(fed), cost, passes)

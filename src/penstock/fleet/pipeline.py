"""One file for a whole pipeline: its nodes, what runs on each, and the topics that link them.

[control]                     [input.left]                [box.b1]
servers = "kafka:9092"        rate = 2000                 node = "B"
topic = "penstock"            source = "kafka"            from = "a1"
mode = "coordinator"          event_time = "ts"           cost = 1e-3
                              slack = "1 second"          cql = "SELECT count(*) AS n FROM a1 […]"
[node.A]
cores = 2                     [box.a1]                    [output.first]
                              node = "A"                  from = "b1"
                              from = "left"               answers = "subset", max_gap = 5
                              cost = 1e-3                 sink = { format = "console" }
                              cql = "SELECT … FROM left"

A box is a CQL query. One without a window hands its rows on, through a topic of its own name; one
with a window answers, and is the last of its branch: so whatever is dropped above it, on whatever
node, can be a drop of its windows. Boxes that feed others of their node, windows that feed windows
among them, are computed with those (`nodes.inner`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from penstock.errors import SpecificationError, complaint, did_you_mean
from penstock.fleet.messages import COORDINATOR
from penstock.network.cql import Definition, parse_query
from penstock.network.run_table import run_of
from penstock.network.settings import ANSWERS, AnswerKind, RunSettings
from penstock.network.tables import ConfigError, Table, text_of, top_table
from penstock.nodes.config import nodes_of
from penstock.nodes.inner import is_inner, joined, within
from penstock.nodes.model import Network
from penstock.nodes.parts import Box, Output
from penstock.windows.durations import SECOND

Mode = Literal["coordinator", "peers", "alone"]
MODES: tuple[Mode, ...] = ("coordinator", "peers", "alone")


@dataclass(frozen=True, slots=True)
class Control:
    """The topic on which nodes and coordinator talk.

    Args:
        servers: of the Kafka cluster, for this topic and those between nodes.
        topic: its name.
        mode: who plans.
        name: of the pipeline: several may share the topic.
        options: of Spark's connector, for the topics between nodes.
        client: of the client (librdkafka) that reads and writes the control topic.
    """

    servers: str
    topic: str
    mode: Mode
    name: str
    options: Mapping[str, Any]
    client: Mapping[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """What a file says.

    Args:
        file: its name.
        written: its model, with all boxes.
        network: the same as it runs: boxes of one node that feed each other are one.
        control: how nodes talk.
        run: how they are run; a checkpoint has a folder for each node.
        definitions: box → its query.
        top: the whole file.
    """

    file: str
    written: Network
    network: Network
    control: Control
    run: RunSettings
    definitions: Mapping[str, Definition]
    top: Table

    @property
    def latency(self) -> float:
        """The target of each node, in seconds."""
        return (self.run.latency or 0) / SECOND

    @property
    def interval(self) -> float:
        """Seconds from one batch to the next, if there is time."""
        return (self.run.trigger or SECOND) / SECOND

    @property
    def period(self) -> float:
        """Seconds that a batch of a node may take, for the target to be met."""
        return self.latency / 1.95

    def boxes(self, node: str) -> tuple[Box, ...]:
        """The boxes of a node."""
        return tuple(box for box in self.network.boxes if box.node == node)

    def relays(self, node: str) -> tuple[Box, ...]:
        """Those that hand rows on."""
        return tuple(box for box in self.boxes(node) if not self.answers(box.name))

    def windows(self, node: str) -> tuple[Box, ...]:
        """Those that answer."""
        return tuple(box for box in self.boxes(node) if self.answers(box.name))

    def answers(self, box: str) -> bool:
        """Whether a box has windows."""
        return self.definitions[box].windowed is not None

    def views(self, box: str) -> tuple[str, ...]:
        """The boxes of its node that a box is computed with, those first that feed others."""
        return within(self.written, box)

    def output(self, box: str) -> Output:
        """The output of a box with windows."""
        return next(one for one in self.network.outputs if one.after == box)

    def topic(self, box: str) -> str:
        """The topic that a box hands its rows on through."""
        return self.top.table("box").table(box).text("topic") or f"{self.control.name}.{box}"

    def kind(self, box: str) -> AnswerKind:
        """What kind of answers a box serves."""
        (last, *_) = self.below(box)
        return cast("AnswerKind", self._output_table(last).choice("answers", *ANSWERS))

    def below(self, box: str) -> tuple[str, ...]:
        """The boxes with windows that the rows of a box end up in; itself if it is one."""
        if self.answers(box):
            return (box,)
        fed = [one.name for one in self.network.boxes if box in one.inputs]
        return tuple(dict.fromkeys(last for name in fed for last in self.below(name)))

    def _output_table(self, box: str) -> Table:
        return self.top.table("output").table(self.output(box).name)

    def stream_table(self, name: str) -> dict[str, Any]:
        """What the file says of an input, as a network has it."""
        values = self.top.table("input").table(name).values
        return {key: value for key, value in values.items() if key not in ("rate", "most")}

    def view_table(self, box: str) -> dict[str, Any]:
        """What the file says of the rows of a box, as a network has it."""
        return {"cql": self.top.table("box").table(box).needed("cql")}

    def query_table(self, box: str) -> dict[str, Any]:
        """What the file says of a box, as a network has it."""
        found = self.view_table(box)
        if self.answers(box):
            values = self._output_table(box).values
            found |= {key: value for key, value in values.items() if key != "from"}
            if not found.get("weight", 1.0):
                del found["weight"]
        return found

    def size(self, node: str) -> tuple[int | None, int | None]:
        """Cores of a node, and GiB of memory; None for as much as there is."""
        table = self.top.table("node").table(node)
        cores, memory = table.number("cores", whole=True), table.number("memory", whole=True)
        return None if cores is None else int(cores), None if memory is None else int(memory)

    def planned_by(self, mode: str) -> Pipeline:
        """The same pipeline in another mode.

        Args:
            mode: one of `MODES`.
        """
        return replace(self, control=replace(self.control, mode=cast("Mode", mode)))

    @cached_property
    def relation_tables(self) -> Mapping[str, Any]:
        """Stored relations, as a network has them."""
        return self.top.table("relation").values


def read_pipeline(path: str | Path) -> Pipeline:
    """Reads and checks a file; Spark is not needed.

    Args:
        path: of the TOML file.
    """
    return parse_pipeline(text_of(path), Path(path).name)


def parse_pipeline(text: str, file: str = "pipeline.toml") -> Pipeline:
    """Checks the text of such a file.

    Args:
        text: TOML.
        file: what messages call it.
    """
    top = top_table(text, file)
    network = nodes_of(top)
    run = run_of(top)
    if run.latency is None:
        hint = 'such as latency = "3 seconds"'
        raise ConfigError(complaint(f"{file}: latency", "must be given", None, hint))
    boxes = {one.name: one for one in top.tables("box")}
    definitions = {
        name: parse_query(one.needed("cql"), name, place=f"{one.place} cql")
        for name, one in boxes.items()
    }
    for box in network.boxes:
        _check_box(network, definitions, box, boxes[box.name])
    try:
        runs = joined(network)
    except SpecificationError as error:
        raise ConfigError(f"{file}: {error}") from error
    made = Pipeline(file, network, runs, _control(top, file), run, definitions, top)
    for table in top.tables("input"):
        table.needed("source")
    for output in network.outputs:
        _check_output(made, output)
    return made


def _control(top: Table, file: str) -> Control:
    table = top.table("control")
    table.known("servers", "topic", "mode", "name", "options", "client")
    return Control(
        table.needed("servers"),
        table.needed("topic"),
        cast("Mode", table.choice("mode", *MODES) or "coordinator"),
        table.text("name") or Path(file).stem,
        table.table("options").values,
        table.table("client").values,
    )


def _check_box(
    network: Network, definitions: Mapping[str, Definition], box: Box, table: Table
) -> None:
    asked = [part.stream for part in definitions[box.name].parts]
    if {name.lower() for name in asked} != {name.lower() for name in box.inputs}:
        rule = f"must be what its cql has after FROM, {', '.join(asked)}"
        raise table.refused("from", rule, "use the same names")
    if box.windows:
        raise table.refused("windows", "must be left out: streams that run are not joined")
    if box.node == COORDINATOR:
        raise table.refused("node", f"must not be called {COORDINATOR!r}", "call it something else")
    fed = [one for one in network.boxes if box.name in one.inputs]
    outputs = [one.name for one in network.outputs if one.after == box.name]
    if definitions[box.name].windowed is not None:
        if len(box.inputs) > 1 or len(outputs) > 1 or not (fed or outputs):
            rule = "has a window: it must have one input, and feed one output or other windows"
            raise table.refused("cql", rule, "a box without a window unites streams")
        if any(one.node != box.node for one in fed):
            rule = "has a window: boxes that read its answers must be of its node"
            raise table.refused("cql", rule, f"put them on node {box.node}")
    elif outputs or not fed:
        rule = "has no window: it must feed boxes, and no output"
        raise table.refused("cql", rule, "of rows one by one none may be missing")
    elif not is_inner(network, box.name) and any(
        definitions[name].windowed is not None for name in within(network, box.name)
    ):
        rule = "reads answers of windows: it must feed windows of its node only"
        raise table.refused("cql", rule, "answers are not handed on")


def _check_output(made: Pipeline, output: Output) -> None:
    table = made.top.table("output").table(output.name)
    if output.after not in made.network.box:
        names = list(made.network.box)
        raise table.refused("from", "must be a box", did_you_mean(output.after, names))
    answers = table.choice("answers", *ANSWERS)
    if answers is None:
        raise table.refused("answers", "must be given", 'such as answers = "subset"')
    if answers == "subset":
        table.number("max_gap", whole=True)
        if "max_gap" not in table.values:
            raise table.refused(
                "max_gap", "must be given for subset answers", "such as max_gap = 5"
            )
    for box in made.network.boxes:
        kinds = {
            made.top.table("output").table(made.output(last).name).values.get("answers")
            for last in made.below(box.name)
        }
        if len(kinds) > 1:
            rule = "must all be of one kind where their rows pass one box"
            raise table.refused("answers", rule, f"box {box.name} feeds both kinds")

"""`penstock explain` for a whole network: its picture, and a paragraph for each query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UsageError, complaint
from penstock.network.config import read_config
from penstock.network.cql import Definition, parse_network, render
from penstock.network.graph import Graph
from penstock.network.operators import inputs, kind
from penstock.network.outline import outline
from penstock.network.render import svg, text
from penstock.windows import WindowSpec

Describe = Callable[[WindowSpec], dict[str, object]]
"""What is known of a window."""

_ENDINGS = (".toml", ".cql")


@dataclass(frozen=True, slots=True)
class Explained:
    """A network without Spark: what is asked, and the graph of it."""

    definitions: Sequence[Definition]
    graph: Graph

    def picture(self) -> str:
        """As SVG."""
        return svg(self.graph)

    def text(self, paragraph: Callable[[dict[str, object]], str], describe: Describe) -> str:
        """The picture, then each query.

        Args:
            paragraph: what is known of a query as text.
            describe: what is known of a window.
        """
        said = [
            f"{name}\n{paragraph(found) if 'window' in found else found['answers']}"
            for name, found in self._queries(describe).items()
        ]
        return "\n\n".join([text(self.graph), *said])

    def json(self, describe: Describe) -> dict[str, object]:
        """Everything as values.

        Args:
            describe: what is known of a window.
        """
        names, users = self.graph.names, self.graph.users
        operators = [
            {
                "name": names[one],
                "kind": kind(one),
                "text": str(one),
                "inputs": [names[fed_by] for fed_by in inputs(one)],
                "queries": list(users[one]),
            }
            for one in self.graph.operators
        ]
        return {"operators": operators, "queries": self._queries(describe)}

    def _queries(self, describe: Describe) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = {}
        for one in self.definitions:
            if one.delivered and (statement := one.windowed) is not None:
                found[one.name] = {"cql": render(statement)} | describe(statement.window)
            elif one.delivered:
                rows = self.graph.names[self.graph.queries[one.name]]
                found[one.name] = {"answers": f"each row of {rows}, as it comes"}
        return found


def explained_network(asked: str) -> Explained | None:
    """The network that a file or a text describes; None if it is a text of one SELECT.

    Args:
        asked: the path of a .toml or .cql file, or CQL text.
    """
    word = asked.split(maxsplit=1)[0].upper() if asked.split() else ""
    if word == "SELECT":
        return None
    if word != "CREATE" and asked.endswith(_ENDINGS):
        if asked.endswith(".toml"):
            config = read_config(asked)
            return Explained(config.definitions, config.outline())
        definitions = parse_network(_read(Path(asked)), Path(asked).name)
    elif word == "CREATE":
        definitions = parse_network(asked)
    else:
        return None
    return Explained(definitions, outline(definitions))


def written(path: Path, picture: str) -> None:
    """Writes the picture, or says why not."""
    try:
        path.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise UsageError(complaint("--svg", "must be a file to write", str(path))) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(complaint("explain", "needs a file to read", str(path))) from error

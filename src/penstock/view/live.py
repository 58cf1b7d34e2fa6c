"""What is shown while a run goes on: a picture in a terminal, a line for each batch elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.view.parts import after, last_batches
from penstock.view.scene import Scene
from penstock.view.staged import Staged
from penstock.view.summary import Summary
from penstock.view.terminal import Moment, frame, plain

_NARROW, _LOW = 40, 12
"""A terminal that says it is smaller does not know its size."""


class View(Staged):
    """Shows a run; as a context it leaves no spinner behind.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._said: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Says something that stays."""
        self._status.stop()
        self.console.print(text, highlight=False, markup=False)

    def show(self, scene: Scene, moment: Moment) -> None:
        """Shows the run as it is now.

        Args:
            scene: the run.
            moment: how long it has been.
        """
        if self._live is not None:
            width, height = self.console.size
            room = max(width, _NARROW), max(height, _LOW) - 1
            self._live.update(frame(scene, moment, *room), refresh=True)
            return
        new = after(scene.statuses, self._said)
        self._said |= last_batches(new)
        for status in new:
            self.console.print(plain(status), highlight=False, markup=False, soft_wrap=True)

    def end(self, found: Summary, more: dict[str, str]) -> None:
        """Shows the summary.

        Args:
            found: what the run came to.
            more: lines that come after it, such as where the report is.
        """
        self._status.stop()
        lines = {**found.lines(), **more}
        if not self.console.is_terminal:
            for name, text in lines.items():
                self.console.out(f"{name:<10}{text}", highlight=False)
            return
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column()
        good = {"target": found.target_held, "accounts": found.balanced}
        styles = {True: "bold green", False: "bold red", None: ""}
        for name, text in lines.items():
            grid.add_row(name, Text(text, style=styles[good.get(name)]))
        self.console.print(Text(), grid)

"""What every view of a run has in common: a spinner before there is something to show, then it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from rich.console import Console
from rich.live import Live


class Staged:
    """A view; as a context it leaves no spinner behind.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live: Live | None = None
        self._status = console.status("")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def stage(self, text: str) -> None:
        """Says what is being waited for while there is nothing else to show."""
        if self.console.is_terminal:
            self._status.update(text)
            self._status.start()
        else:
            self.console.print(text, highlight=False)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Shows the run while the body lasts; the last picture stays."""
        if not self.console.is_terminal:
            yield
            return
        self._status.stop()
        with Live(console=self.console, auto_refresh=False) as self._live:
            yield
        self._live = None

"""The live page of `penstock run`: where it is served, and what it may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import typer

from penstock.engine.network_run import NetworkRun
from penstock.engine.shed_record import Mode
from penstock.errors import UsageError, complaint
from penstock.view.page import serve
from penstock.view.scene import Scene

OPTIONS = ("host", "token", "changes")


def no_page(context: typer.Context) -> None:
    """Refuses options of the page where there is none; a token of the environment is no such one.

    Args:
        context: of a command.
    """
    for name in OPTIONS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{name} needs the live page; give its port, as --dashboard 8080")


@dataclass(frozen=True)
class PageOf:
    """What was asked for.

    Args:
        port: 0 for any that is free.
        host: the address that it listens on.
        token: what a browser has to know.
        changes: whether the page may change the mode.
    """

    port: int
    host: str
    token: str | None
    changes: bool

    def check(self) -> None:
        """Refuses what cannot be served, before Spark is started for it."""
        if self.changes and self.token is None:
            hint = "set PENSTOCK_TOKEN, or give --token"
            raise UsageError(complaint("--changes", "needs a token", None, hint))
        with serve(lambda: Scene(title=""), host=self.host, port=self.port, token=self.token):
            pass

    @contextmanager
    def served(self, run: NetworkRun) -> Iterator[str]:
        """Serves the page of a run; its address, without the token."""

        def change(mode: str) -> None:
            run.set_mode(cast("Mode", mode))

        may = change if self.changes else None
        with serve(run.scene, host=self.host, port=self.port, token=self.token, change=may) as page:
            yield page.url
            page.end()
            page.linger()

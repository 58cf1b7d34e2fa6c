"""The console script `penstock`."""

from __future__ import annotations

from typing import Annotated

import typer

import penstock
from penstock.cli import bench
from penstock.cli.backfill import EXAMPLE as BACKFILL_EXAMPLE
from penstock.cli.backfill import backfill
from penstock.cli.coordinate import EXAMPLE as COORDINATE_EXAMPLE
from penstock.cli.coordinate import coordinate
from penstock.cli.demo.command import EXAMPLE as DEMO_EXAMPLE
from penstock.cli.demo.command import demo
from penstock.cli.doctor.command import EXAMPLE as DOCTOR_EXAMPLE
from penstock.cli.doctor.command import doctor
from penstock.cli.explain import EXAMPLE as EXPLAIN_EXAMPLE
from penstock.cli.explain import explain
from penstock.cli.init import EXAMPLE as INIT_EXAMPLE
from penstock.cli.init import init
from penstock.cli.node import EXAMPLE as NODE_EXAMPLE
from penstock.cli.node import node
from penstock.cli.plan import EXAMPLE as PLAN_EXAMPLE
from penstock.cli.plan import plan_network
from penstock.cli.run import EXAMPLE as RUN_EXAMPLE
from penstock.cli.run import run

app = typer.Typer(
    no_args_is_help=True,
    epilog="Example: penstock init packets -o packets.toml && penstock doctor packets.toml",
    pretty_exceptions_enable=False,  # a bug has a plain traceback
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=RUN_EXAMPLE)(run)
app.command(epilog=DEMO_EXAMPLE)(demo)
app.command(epilog=INIT_EXAMPLE)(init)
app.command(epilog=DOCTOR_EXAMPLE)(doctor)
app.command(epilog=EXPLAIN_EXAMPLE)(explain)
app.command("plan", epilog=PLAN_EXAMPLE)(plan_network)
app.command(epilog=BACKFILL_EXAMPLE)(backfill)
app.command(epilog=NODE_EXAMPLE)(node)
app.command(epilog=COORDINATE_EXAMPLE)(coordinate)
app.add_typer(bench.app, name="bench")


def _version(asked: bool) -> None:
    if asked:
        print(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Load shedding and fast windows for Spark Structured Streaming."""

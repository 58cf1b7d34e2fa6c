"""`penstock bench`: the measurements, and whether they are what is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from penstock.bench import network as network_bench
from penstock.bench import nodes as nodes_bench
from penstock.bench import overhead as overhead_bench
from penstock.bench import overload as overload_bench
from penstock.bench import placement as placement_bench
from penstock.bench import stateful as stateful_bench
from penstock.bench import windows as windows_bench
from penstock.bench.kafka.jars import jars
from penstock.cli.failures import FAILED, Verbose, one_line_errors
from penstock.cli.java import check_java
from penstock.cli.session import BENCH, local_spark

app = typer.Typer(
    no_args_is_help=True,
    help="Measure on this machine.",
    epilog="Example: penstock bench windows --quick --json",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer rows, no large overlaps.")]


@app.command("windows", epilog="Example: penstock bench windows --quick --json")
def windows(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Compare the speed of windows with Spark's own window(), on two cores."""
    result = _measured(windows_bench.run, quick=quick, verbose=verbose)
    _show(result, table(result), as_json=as_json, failed=different(result) > 0)


@app.command("stateful", epilog="Example: penstock bench stateful --quick --json")
def stateful(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Compare windows that Spark has no operator for with evaluating each extent anew."""
    result = _measured(stateful_bench.run, quick=quick, verbose=verbose)
    apart = any(report["batches_different"] for _, report in _reports(result))
    _show(result, stateful_table(result), as_json=as_json, failed=apart)


@app.command("network", epilog="Example: penstock bench network --quick --json")
def network(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Compare seven queries as one network with seven streams of Spark."""
    result = _measured(network_bench.run, quick=quick, verbose=verbose)
    _show(result, network_table(result), as_json=as_json, failed=result["differ"] > 0)


@app.command("overhead", epilog="Example: penstock bench overhead --quick --json")
def overhead(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Measure what drops cost that have nothing to drop, and what a dropped row costs."""
    connector = jars("connector")
    more = {} if isinstance(connector, str) else {"spark.jars": ",".join(map(str, connector))}
    result = _measured(overhead_bench.run, quick=quick, verbose=verbose, more=more)
    _show(result, overhead_table(result), as_json=as_json, failed=False)


@app.command("overload", epilog="Example: penstock bench overload --quick --json")
def overload(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Bring several times the capacity: is the latency target held, and how much is lost?"""
    result = _measured(overload_bench.run, quick=quick, verbose=verbose)
    wrong = any(case["wrong_rows"] for case in result["on"].values())
    _show(result, overload_table(result), as_json=as_json, failed=wrong)


@app.command("placement", epilog="Example: penstock bench placement --quick --json")
def placement(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Compare the errors of plans that run on Spark with those planned, and with uniform drops."""
    result = _measured(placement_bench.run, quick=quick, verbose=verbose)
    _show(result, placement_table(result), as_json=as_json, failed=False)


@app.command("nodes", epilog="Example: penstock bench nodes --json")
def nodes(*, as_json: AsJson = False, quick: Quick = False, verbose: Verbose = False) -> None:
    """Time the plans for many nodes; without --quick also run two nodes on Spark and Kafka."""
    with one_line_errors(verbose=verbose):
        progress = Console(stderr=True, highlight=False)

        def say(text: str) -> None:
            progress.print(text, markup=False)

        result = nodes_bench.run(quick=quick, say=say)
        if not quick:
            # It needs a client of Kafka, which is an extra.
            from penstock.bench import fleet as fleet_bench  # noqa: PLC0415

            check_java()
            result["spark"] = fleet_bench.run(say)
    _show(result, nodes_table(result), as_json=as_json, failed=False)


def _measured(
    run: Callable[..., dict[str, object]],
    *,
    quick: bool,
    verbose: bool,
    more: dict[str, str] | None = None,
) -> dict[str, Any]:
    with one_line_errors(verbose=verbose):
        check_java()
        progress = Console(stderr=True, highlight=False)
        progress.print("starting Spark")
        with local_spark(BENCH, verbose=verbose, more=more) as local:
            return run(
                local.spark, quick=quick, say=lambda text: progress.print(text, markup=False)
            )


def _show(result: dict[str, Any], shown: Table, *, as_json: bool, failed: bool) -> None:
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        Console().print(shown)
    if failed:
        raise typer.Exit(FAILED)


def table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.windows.run` returns it.
    """
    shown = Table(title="Windows: penstock and Spark's window()", title_justify="left")
    shown.add_column("data")
    shown.add_column("overlap", justify="right")
    shown.add_column("measured", justify="right")
    shown.add_column("wanted", justify="right")
    shown.add_column("")
    for data, overlap, measured, wanted, good in _rows(result):
        mark = "" if good is None else "[green]✓[/]" if good else "[red]✗[/]"
        shown.add_row(data, overlap, measured, wanted, mark)
    shown.caption = (
        "dense, sparse: how many times as fast as Spark. free: overlap 60 costs so many times "
        "overlap 1; day: so does overlap 8,640 (a day by 10 s)."
    )
    shown.caption_justify = "left"
    return shown


def stateful_table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.stateful.run` returns it.
    """
    shown = Table(title="Stateful windows: penstock and buffering", title_justify="left")
    shown.add_column("window")
    shown.add_column("group by")
    for name in ("overlap", "penstock, rows/s", "buffering, rows/s", "ratio", "wanted"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    for wanted, report in _reports(result):
        good = [report[name] >= least for name, least in wanted.items()]
        mark = "" if not good else "[green]✓[/]" if all(good) else "[red]✗[/]"
        shown.add_row(
            report["window"],
            ", ".join(report["group_by"]),
            "" if report["overlap"] is None else f"{report['overlap']:,}",
            f"{report['penstock']:,}",
            f"{report['buffering']:,}",
            _times(report["ratio"]),
            ", ".join(f"≥ {least:,}{' x' * (name == 'ratio')}" for name, least in wanted.items()),
            mark,
        )
    compared = sum(report["results_compared"] for _, report in _reports(result))
    apart = sum(report["batches_different"] for _, report in _reports(result))
    shown.caption = f"{compared:,} results compared; {apart} batches differ."
    shown.caption_justify = "left"
    return shown


def network_table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.network.run` returns it.
    """
    least = {"speedup"}
    shown = _figures(
        "Seven queries: one network and seven streams",
        ((name, result[name], wanted, name in least) for name, wanted in result["wanted"].items()),
    )
    shown.caption = (
        f"penstock {result['penstock_us_per_row']:g} µs per row, "
        f"Spark {result['spark_us_per_row']:g}; one query {result['one_query_us_per_row']:g}. "
        f"{result['compared']:,} windows compared, {result['differ']} differ."
    )
    shown.caption_justify = "left"
    return shown


def overhead_table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.overhead.run` returns it.
    """
    least, most = result["wanted"]["overhead"], result["wanted"]["dropped_row"]
    cases = [
        (f"window/selectivity {case} ({_from_to(result['interval'][case])})", measured, least, True)
        for case, measured in result["overhead"].items()
    ]
    row = ("a dropped row / a kept one", result["dropped_row"], most, False)
    shown = _figures("What drops cost", [*cases, row])
    apart = _from_to(result["a_a_range"])
    shown.caption = f"In brackets: 95 % intervals. Equal streams over each other (A/A): {apart}."
    if result["dropped_row_kafka"] is not None:
        shown.caption += f" From Kafka, reading included: {result['dropped_row_kafka']:g}."
    shown.caption_justify = "left"
    return shown


def _from_to(interval: list[float]) -> str:
    low, high = interval
    return f"{low:g} to {high:g}"


def overload_table(result: dict[str, Any]) -> Table:
    """The cases, one a line.

    Args:
        result: as `penstock.bench.overload.run` returns it.
    """
    machine = result["machine"]
    title = f"Overload: {machine['capacity']:,} rows/s can be kept up with"
    shown = Table(title=title, title_justify="left")
    shown.add_column("answers, load")
    for name in ("p50", "p95", "max", "p95/target", "shed", "least", "error", "wrong"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    most = result["wanted"]
    for of, cases in (("", result["on"]), (", nothing shed", result["off"])):
        for name, case in cases.items():
            good = case["held"] <= most["held"] and case["excess_shed"] <= most["excess_shed"]
            wrong = case["wrong_rows"]
            shown.add_row(
                f"{name} times{of}",
                *(f"{case[key]:.2f} s" for key in ("p50_s", "p95_s", "max_s")),
                f"{case['held']:.2f}",
                *(f"{100 * case[key]:.1f} %" for key in ("shed", "least_shed")),
                f"{100 * case['avg_error']:.2f} %",
                "" if wrong is None else str(wrong),
                "" if of else "[green]✓[/]" if good and not wrong else "[red]✗[/]",
            )
    return shown


def nodes_table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.nodes.run` returns it.
    """
    shown = _figures(
        "Plans for many nodes",
        ((name, result[name], most, False) for name, most in result["wanted"].items()),
    )
    shown.caption = (
        f"8 inputs of {result['fit_8_kinds']} kinds: {result['fit_8_entries']:,} entries. After a "
        f"selectivity fell by a tenth {result['delta_share']:.0%} of a table was sent again."
    )
    if "coordinator" in (told := result.get("spark", {})):
        best = {name: f"{share:.0%}" for name, share in told["of_optimum"].items()}
        shown.caption += (
            f"\nTwo Spark applications: {told['uncoordinated']:,.0f} rows/s at the outputs if each "
            f"node sheds for itself, {told['coordinator']:,.0f} with a coordinator "
            f"({best['coordinator']} of the optimum), {told['peer']:,.0f} among peers "
            f"({best['peer']}); p95 {told['p95_over_target']} of the target."
        )
    shown.caption_justify = "left"
    return shown


def placement_table(result: dict[str, Any]) -> Table:
    """The result beside what is wanted.

    Args:
        result: as `penstock.bench.placement.run` returns it.
    """
    wanted = result["wanted"]
    loads = [load for load in result if load.isdigit()]
    shown = Table(title="Errors under a plan, and under uniform drops", title_justify="left")
    shown.add_column("load", justify="right")
    for name in ("planned", "measured", "uniform", "ratio", "greatest", "uniform", "ratio"):
        shown.add_column(name, justify="right")
    for load in loads:
        one = result[load]
        off = abs(one["planned_avg_error"] - one["avg_error"]) / one["avg_error"]
        good = load != loads[-1] or one["avg_error"] <= wanted["avg_error"]
        shown.add_row(
            f"{load} x",
            f"{one['planned_avg_error']:.2%} {_mark(off <= wanted['planned_off'])}",
            f"{one['avg_error']:.2%} {_mark(good)}",
            f"{one['uniform_avg_error']:.2%}",
            f"{_times(one['avg_ratio'])} {_mark(one['avg_ratio'] >= wanted['avg_ratio'])}",
            f"{one['max_error']:.2%}",
            f"{one['uniform_max_error']:.2%}",
            f"{_times(one['max_ratio'])} {_mark(one['max_ratio'] >= wanted['max_ratio'])}",
        )
    shown.caption = (
        "Relative errors of each query and window: their mean, and the greatest. Wanted: ratios "
        f"of {wanted['avg_ratio']} and {wanted['max_ratio']}, planned within "
        f"{wanted['planned_off']:.0%} of measured, {wanted['avg_error']:.0%} at {loads[-1]} x."
    )
    shown.caption_justify = "left"
    return shown


def _mark(good: bool) -> str:
    return "[green]✓[/]" if good else "[red]✗[/]"


def _figures(title: str, figures: Iterable[tuple[str, float, float, bool]]) -> Table:
    """Figures beside what is wanted: name, measured, wanted, whether at least so much is."""
    shown = Table(title=title, title_justify="left")
    shown.add_column("figure")
    for name in ("measured", "wanted"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    for name, measured, wanted, least in figures:
        good = measured >= wanted if least else measured <= wanted
        mark = "[green]✓[/]" if good else "[red]✗[/]"
        shown.add_row(name, f"{measured:g}", f"{'≥' if least else '≤'} {wanted:g}", mark)
    return shown


def _reports(result: dict[str, Any]) -> Iterator[tuple[dict[str, int], dict[str, Any]]]:
    """What is wanted of each case, and what was measured."""
    for kind, report in result.items():
        if kind == "wanted":
            continue
        yield result["wanted"].get(kind, {}), report
        for sweep in ("by_overlap", "by_range", "grouped"):
            yield from (({}, case) for case in report.get(sweep, ()))


def different(result: dict[str, Any]) -> int:
    """Windows for which the two engines gave different answers."""
    return sum(case.get("different", 0) for case in result["cases"])


def _rows(result: dict[str, Any]) -> Iterator[tuple[str, str, str, str, bool | None]]:
    wanted = result["wanted"]
    for data in ("dense", "sparse"):
        for overlap, least in wanted[data].items():
            ratio = result[data].get(overlap)
            good = None if ratio is None else ratio >= least
            yield data, overlap, _times(ratio), f"≥ {_times(least)}", good
    for data, overlap in (("free", "60"), ("day", "8640")):
        cost = result[data]
        good = None if cost is None else cost <= wanted[data]
        yield data, overlap, _times(cost), f"≤ {_times(wanted[data])}", good
    compared = sum(case.get("windows_compared", 0) for case in result["cases"])
    apart = different(result)
    yield "windows", "", f"{apart:,} of {compared:,} differ", "0", apart == 0


def _times(ratio: float | None) -> str:
    return "not measured" if ratio is None else f"{ratio:.2f} x"

"""The plots of a run as a figure of matplotlib, which the extra `plots` brings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.control.status import Status
from penstock.errors import UsageError
from penstock.view.panels import Panel, panels, shedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEEDED = "pictures need matplotlib: pip install 'penstock[plots]'"
_COLOURS = ("#2f7fc1", "#35914a", "#b9862a")
_WIDTH, _HEIGHT = 8.0, 2.2


def plot(statuses: Sequence[Status], only: str | None = None) -> Figure:
    """A run over time: response, rates, demand, what was dropped, backlog, expected error.

    Args:
        statuses: of its batches, oldest first.
        only: the name of one plot, such as "response"; None for all.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(NEEDED) from error
    shown = [one for one in panels(statuses) if only in (None, one.name)]
    height = _HEIGHT * max(1, len(shown)) + 0.4
    figure = Figure(figsize=(_WIDTH, height))
    # By hand: it takes a tenth of the time of matplotlib's own layouts.
    figure.subplots_adjust(0.1, 0.5 / height, 0.98, 1 - 0.3 / height, hspace=0.3)
    if shown:
        all_axes = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
        times = [one.at - statuses[0].at for one in statuses]
        for axes, panel in zip(all_axes, shown, strict=True):
            _draw(axes, panel, times)
            for first, last in shedding(statuses):
                axes.axvspan(times[first], times[last], color="#b9862a", alpha=0.12, lw=0)
        all_axes[-1].set_xlabel("seconds since the first batch; shaded: rows are dropped")
    _for_notebooks()
    return figure


def _draw(axes: Axes, panel: Panel, times: Sequence[float]) -> None:
    for line, colour in zip(panel.lines, _COLOURS, strict=False):
        values = [float("nan") if value is None else value for value in line.values]
        style = {"color": "#a3341f", "linestyle": "--"} if line.dashed else {"color": colour}
        axes.plot(times, values, label=line.name, linewidth=1.4, **style)  # type: ignore[arg-type]
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_ylim(0, panel.top * 1.15)
    axes.yaxis.set_major_formatter(lambda value, _: panel.label(value))
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    if len(panel.lines) > 1:
        axes.legend(loc="upper right", fontsize=8, frameon=False, ncols=3)


def _for_notebooks() -> None:
    """A notebook draws figures once its own way of drawing has been loaded."""
    if "ipykernel" in sys.modules:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - only there

        plt.switch_backend("module://matplotlib_inline.backend_inline")

"""A plot of a run as SVG that takes its colours from the page, light or dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import floor, log10

from penstock.view.panels import Panel, Values

WIDTH, HEIGHT = 760, 190
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 8, 22
_TICKS = 4


def chart(panel: Panel, times: Sequence[float], bands: Sequence[tuple[int, int]]) -> str:
    """A plot.

    Args:
        panel: what stands in it.
        times: of the batches, in seconds from the first.
        bands: first and last batch of each time that is shaded.
    """
    over = _step(panel.top * 1.05)
    span = (times[-1] - times[0]) or 1.0

    def x(time: float) -> float:
        return LEFT + (time - times[0]) / span * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return TOP + (1 - value / over) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<rect class="band" x="{x(times[a]):.1f}" y="{TOP}" height="{HEIGHT - TOP - BOTTOM}" '
        f'width="{max(1.0, x(times[b]) - x(times[a])):.1f}"/>'
        for a, b in bands
    ]
    for tick in range(_TICKS + 1):
        value = over * tick / _TICKS
        parts.append(f'<path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">'
            f"{escape(panel.label(value))}</text>"
        )
    every = _step(span / 8)
    for tick in range(floor(span / every) + 1):
        at = times[0] + tick * every
        parts.append(
            f'<text class="tick" x="{x(at):.1f}" y="{HEIGHT - 5}" text-anchor="middle">'
            f"{tick * every:g} s</text>"
        )
    for number, line in enumerate(panel.lines):
        kind = "limit" if line.dashed else f"line-{number}"
        path = _path([x(t) for t in times], line.values, y)
        parts.append(f'<path class="line {kind}" d="{path}"/>')
    parts.append(f'<path class="cursor" d="M0 {TOP}V{HEIGHT - BOTTOM}"/>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(panel.title)}">'
        f"{''.join(parts)}</svg>"
    )


def _path(at: Sequence[float], values: Values, y: Callable[[float], float]) -> str:
    drawn, pen = [], "M"
    for x, value in zip(at, values, strict=True):
        if value is None:
            pen = "M"
            continue
        drawn.append(f"{pen}{x:.1f} {y(value):.1f}")
        pen = "L"
    return "".join(drawn)


def _step(least: float) -> float:
    """The next round number: 1, 2, 2.5, 4, 5, 6 or 8 times a power of ten.

    >>> [_step(n) for n in (0.9, 3.1, 17, 23_000)]
    [1.0, 4.0, 20.0, 25000.0]
    """
    power = 10.0 ** floor(log10(least)) if least > 0 else 1.0
    steps = (m * power for m in (1.0, 2.0, 2.5, 4.0, 5.0, 6.0, 8.0))
    return next((step for step in steps if step >= least), 10 * power)

"""What must be known of other rows to find the windows of a row decides state and delay.

CF          nothing                      the row itself has all that is needed
FCF         rows that came before        a little state, no delay
FCA-FCB     rows that come after, but    the ids fall in a known range: partial results are
            in a known range             kept for it
FCA-FCU     any rows that come after     every arrival may move the windows of earlier rows
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.windows.kinds import Kind
from penstock.windows.sessions import SessionSpec
from penstock.windows.spec import WindowSpec


class Context(Enum):
    """The categories of the paper, from the one that needs least to the one that needs most."""

    CF = "CF"
    FCF = "FCF"
    FCB = "FCA-FCB"
    FCU = "FCA-FCU"


@dataclass(frozen=True, slots=True)
class WindowClass:
    """The category of a window, and what follows from it.

    Args:
        context: the category.
        keeps_state: whether finding a row's windows needs anything of earlier rows.
        waits: whether a row's windows are known only when later rows have come.
        state: what is kept, in words.
        delay: what a result waits for, in words.
    """

    context: Context
    keeps_state: bool
    waits: bool
    state: str
    delay: str

    def __str__(self) -> str:
        return f"{self.context.value}: state: {self.state}; delay: {self.delay}"


_CLOSES = "a result is due as soon as its window is closed"
_PER_WINDOW = "one partial aggregate per open window and group"
_BINS = "one start bin and one end bin per row within RANGE, and no rows"

_CONTEXT_FREE = WindowClass(Context.CF, False, False, _PER_WINDOW, _CLOSES)
_BOUNDED = WindowClass(
    Context.FCB, True, True, _BINS, "a row's windows are known once RANGE after it is closed"
)

_CLASSES = {
    Kind.SLIDING: _CONTEXT_FREE,
    Kind.TUMBLING: _CONTEXT_FREE,
    Kind.LANDMARK: WindowClass(
        Context.CF, False, False, "one partial aggregate per group, kept for ever", _CLOSES
    ),
    Kind.CUMULATIVE: _CONTEXT_FREE,
    Kind.TUPLE: WindowClass(
        Context.CF, False, False, f"{_PER_WINDOW}; the row number comes with the row", _CLOSES
    ),
    Kind.PARTITIONED_TUPLE: WindowClass(
        Context.FCF,
        True,
        False,
        f"a count of the rows of each partition; {_PER_WINDOW}",
        "a result is due with the last row of its window",
    ),
    Kind.SLIDE_BY_TUPLE: _BOUNDED,
    Kind.SLIDE_BY_ROWS: WindowClass(
        Context.FCB, True, True, f"{_BINS}; with each the row number", _BOUNDED.delay
    ),
    Kind.SLIDE_BY_RANK: WindowClass(
        Context.FCU,
        True,
        True,
        f"{_BINS}; with each the rank, which every earlier row that comes late moves",
        "no window-id is certain before all rows up to it are in",
    ),
    Kind.SESSION: WindowClass(
        Context.FCU,
        True,
        True,
        "one partial aggregate per open session and group",
        "a session is certain once the gap after its last row is closed",
    ),
}


def classify(spec: WindowSpec | SessionSpec) -> WindowClass:
    """The category follows from the kind of window alone.

    Args:
        spec: any kind.

    >>> from penstock.windows import sliding, slide_by_rank
    >>> print(classify(sliding("5 min", "1 min", on="ts")))
    CF: state: one partial aggregate per open window and group;
        delay: a result is due as soon as its window is closed
    >>> classify(slide_by_rank("5 min", on="ts", every=5)).context
    <Context.FCU: 'FCA-FCU'>

    Li et al., SIGMOD 2005, §4 and §6.
    """
    return _CLASSES[spec.kind]

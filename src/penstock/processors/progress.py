"""How far a stream is: below which value no more rows are to come, for every key or for all.

    order per key      a key's rows come in order: it is as far as its newest row
    slack in rows      a row comes at most n rows after one that is ahead of it
    punctuation        a row of the stream says so, for all keys or for its own

What they say holds from the next batch on. A row that comes all the same is counted as a promise
broken, and is late. Li et al., SIGMOD 2005, §5.1 and §7.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from penstock.processors.partials import Indices
from penstock.processors.rows import NEVER

_NONE = np.empty(0, np.int64)


class Progress(Protocol):
    """One way to know."""

    @property
    def over(self) -> Indices:
        """For each key by its number, the value below which no more of its rows are to come."""

    def advance(self, at: Indices, key: Indices, promised: Indices, promised_key: Indices) -> None:
        """Takes the rows of a batch.

        Args:
            at: their values of RATTR, in order of arrival.
            key: the numbers of their keys.
            promised: what the punctuation in the batch promises.
            promised_key: for which keys.
        """


@dataclass(slots=True)
class KeyOrder:
    """The rows of a key come in order."""

    over: Indices = field(default_factory=lambda: _NONE)

    def advance(self, at: Indices, key: Indices, promised: Indices, promised_key: Indices) -> None:
        """Every key is as far as its newest row."""
        del promised, promised_key
        self.over = _raise(self.over, key, at)


@dataclass(slots=True)
class RowSlack:
    """A row comes at most `rows` rows after one that is ahead of it.

    Args:
        rows: how many.
    """

    rows: int
    newest: int = NEVER
    """Of all rows but the last `rows`."""
    latest: Indices = field(default_factory=lambda: _NONE)

    @property
    def over(self) -> Indices:
        """As far as the newest row, but for the last ones."""
        return np.array([self.newest])

    def advance(self, at: Indices, key: Indices, promised: Indices, promised_key: Indices) -> None:
        """Keeps the times of the last rows."""
        del key, promised, promised_key
        both = np.concatenate([self.latest, at])
        settled = max(0, len(both) - self.rows)
        self.newest = int(both[:settled].max(initial=self.newest))
        self.latest = both[settled:]


@dataclass(slots=True)
class Punctuated:
    """The stream itself says how far a key is."""

    over: Indices = field(default_factory=lambda: _NONE)

    def advance(self, at: Indices, key: Indices, promised: Indices, promised_key: Indices) -> None:
        """A promise holds for ever: a smaller one after it says nothing new."""
        del at
        self.over = _raise(self.over, key, np.full(len(key), NEVER))
        self.over = _raise(self.over, promised_key, promised)


def _raise(over: Indices, key: Indices, to: Indices) -> Indices:
    keys = max(len(over), int(key.max(initial=-1)) + 1)
    raised = np.append(over, np.full(keys - len(over), NEVER))
    np.maximum.at(raised, key, to)
    return raised

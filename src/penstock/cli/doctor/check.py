"""One thing that was looked at: whether it is well, what is wrong, how to mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "wrong"]
MARKS: dict[State, str] = {"ok": "✓", "warn": "!", "wrong": "✗"}


@dataclass(frozen=True, slots=True)
class Check:
    """What was found.

    Args:
        name: of what was looked at.
        state: "ok", "warn" where it runs but not as one may think, "wrong" where it does not.
        says: what was found.
        mend: how to mend it; empty if there is nothing to mend.
    """

    name: str
    state: State
    says: str
    mend: str = ""

    def line(self, width: int = 0) -> str:
        """One line.

        Args:
            width: of the names, in characters.

        >>> print(Check("Java", "wrong", "there is none", "install 17").line(6))
        ✗ Java    there is none; install 17
        """
        said = " ".join(f"{self.says}{'; ' if self.mend else ''}{self.mend}".split())
        return f"{MARKS[self.state]} {self.name:<{width}}  {said}"

    def to_json(self) -> dict[str, str]:
        """As values."""
        return {"check": self.name, "state": self.state, "says": self.says, "mend": self.mend}


def ok(name: str, says: str) -> Check:
    """It is well."""
    return Check(name, "ok", says)


def warn(name: str, says: str, mend: str = "") -> Check:
    """It runs, but not as one may think."""
    return Check(name, "warn", says, mend)


def wrong(name: str, says: str, mend: str = "") -> Check:
    """It does not run."""
    return Check(name, "wrong", says, mend)

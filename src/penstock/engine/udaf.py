"""placeholder"""

from __future__ import annotations
from typing import Any


def check(rows: Any, query: Any) -> None: ...
def windows(rows: Any, query: Any, late: Any, accounts: Any) -> Any: ...

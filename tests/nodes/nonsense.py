"""Messages of peers that are whole, and say what cannot be."""

from __future__ import annotations

from typing import Any

from penstock.nodes.fit.messages import Kind

PROFILE: dict[str, Any] = {
    "worth": {"a0": 1.0, "a1": 1.0},
    "loads": [{"a0": 3.0, "a1": 1.0}],
    "dimensions": 2,
    "merges": 0,
    "depth": 1,
}
SPACING: dict[str, Any] = {
    "most": {"a0": 3.0, "a1": 3.0},
    "reference": 0.3,
    "dimensions": 2,
    "error": 0.05,
    "merge_error": 0.0,
    "near": 0.0,
}
TABLE: dict[str, Any] = {"base": None, "removed": [], "added": [[0, [0.1, 0.1], 0.2]]}

NONSENSE: list[tuple[Kind, Any]] = [
    ("profile", {}),
    ("profile", {**PROFILE, "worth": {"elsewhere": 1.0}, "loads": []}),
    ("profile", {**PROFILE, "worth": {}, "loads": []}),
    ("profile", {**PROFILE, "worth": [1.0]}),
    ("profile", {**PROFILE, "worth": {"a0": None, "a1": 1.0}}),
    ("profile", {**PROFILE, "loads": [{"a0": 1.0}]}),
    ("profile", {**PROFILE, "loads": 7}),
    ("profile", {**PROFILE, "depth": 0}),
    ("profile", {**PROFILE, "dimensions": "two"}),
    ("spacing", {**SPACING, "most": {"a0": 3.0}}),
    ("spacing", {**SPACING, "most": {"a0": 3.0, "a1": -1.0}}),
    ("spacing", {**SPACING, "most": {"a0": 3.0, "a1": 10**400}}),
    ("spacing", {**SPACING, "error": 0.0}),
    ("spacing", {**SPACING, "error": float("nan")}),
    ("spacing", {**SPACING, "dimensions": 0}),
    ("spacing", {**SPACING, "reference": "much"}),
    ("table", {**TABLE, "removed": [99]}),
    ("table", {**TABLE, "removed": 3}),
    ("table", {**TABLE, "added": [[0, [0.1], 0.2]]}),
    ("table", {**TABLE, "added": [[0, [0.1, 0.1], float("inf")]]}),
    ("table", {**TABLE, "added": [[0, [0.1, 0.1]]]}),
    ("table", {**TABLE, "added": [["0", [0.1, 0.1], 0.2]]}),
    ("table", {**TABLE, "added": [[0, [0.1, 0.1], 0.2], [0, [0.2, 0.1], 0.3]]}),
    ("table", {**TABLE, "added": {"0": 1}}),
    ("table", {**TABLE, "base": "first"}),
    ("table", {**TABLE, "base": True}),
]
"""Of node B of Fig. 1, to node A above it, and of spacings from A to B."""

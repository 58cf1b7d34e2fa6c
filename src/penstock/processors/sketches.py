"""Approximate aggregates, with the sketches of Apache DataSketches, which Spark has too.

A state is the sketch as bytes: it is small, and no value is kept in it as it was. The library is
looked up where a sketch is made, since Spark's workers cannot be handed its functions.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from penstock.errors import UsageError
from penstock.processors.partials import Folded
from penstock.windows import Fold

_LEVELS = 12
"""2^12 registers, as Spark's `hll_sketch_agg` has them."""
_K = 200
"""As Spark's KLL sketches have it."""


def distinct() -> Folded:
    """About how many different values there are."""
    _library()
    fold = Fold("approx_count_distinct", _hll, _hll_incr, _hll_merge, _hll_final)
    return Folded(fold, _hll_dumps, _hll_loads)


def quantile(share: float) -> Folded:
    """About the value below which that share of the values lies.

    Args:
        share: 0 to 1.
    """
    _library()
    fold = Fold("approx_percentile", _kll, _kll_incr, _kll_merge, partial(_kll_final, share))
    return Folded(fold, _kll_dumps, _kll_loads)


def _hll() -> Any:  # noqa: ANN401 - a sketch, here and below
    sketches = _library()
    return sketches.hll_sketch(_LEVELS, sketches.tgt_hll_type.HLL_8)


def _hll_incr(state: Any, value: Any) -> Any:  # noqa: ANN401
    if value is not None:
        state.update(_plain(value))
    return state


def _hll_merge(left: Any, right: Any) -> Any:  # noqa: ANN401
    sketches = _library()
    union = sketches.hll_union(_LEVELS)
    union.update(left)
    union.update(right)
    return union.get_result(sketches.tgt_hll_type.HLL_8)


def _hll_final(state: Any) -> int:  # noqa: ANN401
    estimate: float = state.get_estimate()
    return round(estimate)


def _hll_dumps(state: Any) -> bytes:  # noqa: ANN401
    return bytes(state.serialize_compact())


def _hll_loads(state: bytes) -> Any:  # noqa: ANN401
    return _library().hll_sketch.deserialize(state)


def _kll() -> Any:  # noqa: ANN401
    return _library().kll_doubles_sketch(_K)


def _kll_incr(state: Any, value: float | None) -> Any:  # noqa: ANN401
    if value is not None and value == value:  # noqa: PLR0124 - NaN counts as no value
        state.update(value)
    return state


def _kll_merge(left: Any, right: Any) -> Any:  # noqa: ANN401
    merged = _kll()
    merged.merge(left)
    merged.merge(right)
    return merged


def _kll_final(share: float, state: Any) -> float | None:  # noqa: ANN401
    return None if state.is_empty() else float(state.get_quantile(share))


def _kll_dumps(state: Any) -> bytes:  # noqa: ANN401
    return bytes(state.serialize())


def _kll_loads(state: bytes) -> Any:  # noqa: ANN401
    return _library().kll_doubles_sketch.deserialize(state)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return value + 0.0  # 0.0 and -0.0 are one value
    # The sketch passes over an empty text, which is a value like any other.
    return (
        value if isinstance(value, int) else f"-{value if isinstance(value, str) else repr(value)}"
    )


def _library() -> Any:  # noqa: ANN401 - a module
    try:
        import datasketches  # noqa: PLC0415 - only who asks for a sketch needs it
    except ImportError:
        message = (
            "approximate aggregates over this kind of window need the package datasketches; "
            "install it with: pip install 'penstock[sketches]'"
        )
        raise UsageError(message) from None
    return datasketches

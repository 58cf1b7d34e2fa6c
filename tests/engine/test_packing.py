"""What is kept between batches comes back as it was, in less room."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import packing
from penstock.engine.packing import deserialise, freeze, in_parts, serialise, thaw

LONG = st.integers(64, 200)
WHOLE = st.integers(-(1 << 63), (1 << 63) - 1)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Whole numbers of any width, rising or not, and floats that are whole or not."""
    number = draw(LONG)
    least, most = sorted((draw(WHOLE), draw(WHOLE | st.integers(-300, 300))))
    whole = np.array(draw(st.lists(st.integers(least, most), min_size=number, max_size=number)))
    return draw(st.sampled_from([whole, np.sort(whole), whole.astype(np.float64), whole / 7]))


@given(arrays())
def test_arrays_come_back_with_their_type_and_every_bit(array):
    [back] = thaw(freeze([array]))
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()
    assert back.flags.writeable


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.0, -0.0, np.nan, np.inf] * 20),
        np.array([None, "a", 7, b"x"] * 20, object),
        np.array([True, False] * 40),
        np.array([1e300, -1e300, 0.5] * 30),
        np.array([-(1 << 63), (1 << 63) - 1] * 40),
        np.zeros(0, np.int64),
    ],
    ids=lambda array: str(array.dtype),
)
def test_what_is_not_made_smaller_comes_back_too(array):
    back = thaw(freeze({"x": array}))["x"]
    assert back.dtype == array.dtype
    assert repr(back.tolist()) == repr(array.tolist())


def test_bins_of_a_million_rows_take_a_tenth_of_the_room():
    number = np.arange(1_000_000)
    times = 1_700_000_000_000_000 + number * 1000 + number % 7
    state = [times, np.ones_like(number), number % 1009, (number % 1009).astype(np.float64)]
    frozen = freeze(state)
    assert len(frozen) < len(pickle.dumps(state)) / 10
    assert all((a == b).all() for a, b in zip(thaw(frozen), state, strict=True))


def test_an_answer_in_several_messages_is_the_same_answer(monkeypatch):
    monkeypatch.setattr(packing, "_MOST_ROWS", 10)
    table = pa.table({"wid": range(25), "n": [None, *range(24)]})
    parts = [deserialise(serialise(part)) for part in in_parts(table)]
    assert [part.num_rows for part in parts] == [10, 10, 5]
    assert pa.concat_tables(parts).equals(table)

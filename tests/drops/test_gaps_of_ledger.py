"""Which windows are missing, and which rows are read again for them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.gaps import gaps, stretches
from penstock.drops.ledger import Fate

ENTRIES = [
    {"query": q, "window_start": end - 10, "window_end": end, "fate": fate}
    for q in ("a", "b")
    for end, fate in zip(range(10, 100, 10), [*Fate], strict=True)
]


def test_gaps_are_windows_that_had_rows_and_no_answer():
    missing = [(20, 30), (30, 40), (40, 50), (50, 60)]
    assert [fate.value for fate in Fate][2:6] == ["dropped", "revoked", "skipped", "lost"]
    assert gaps([*reversed(ENTRIES), *ENTRIES]) == {"a": missing, "b": missing}
    # Two stretches of time that touch have each window once.
    assert gaps(ENTRIES, until=40)["a"] == missing[:2]
    assert gaps(ENTRIES, since=40)["a"] == missing[2:]
    assert gaps(ENTRIES, since=60) == {}


spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 9)).map(lambda p: (p[0], sum(p))), max_size=9
)


@given(spans, st.integers(1, 9))
def test_stretches_have_all_times_of_the_spans_and_no_more_than_they_must(several, most):
    found = stretches(several, most)
    assert len(found) <= most
    assert all(a[1] < b[0] for a, b in pairwise(found))
    inside = {t for start, end in several for t in range(start, end)}
    covered = {t for start, end in found for t in range(start, end)}
    assert inside <= covered
    exact = stretches(several, 99)
    assert {t for start, end in exact for t in range(start, end)} == inside
    if len(exact) <= most:
        assert found == exact

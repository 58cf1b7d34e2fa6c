"""A plan is a value: it reads as text, and what was damaged on the way is never believed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.plan import Arc, Plan, RandomDrop, WindowDrop
from penstock.drops.sealed import seal, unseal
from penstock.errors import RecordDamaged, SpecificationError

ARC = Arc("packets", "filter 1")
WINDOW = WindowDrop(ARC, 60_000_000, 5_000_000, 0.25, 12, ("web", "hosts"))
PLAN = Plan((RandomDrop(Arc("packets", "traffic"), 0.4),), (WINDOW,), ("alarms",))

names = st.text("abc ", min_size=1, max_size=3)
shares = st.floats(0, 1)
arcs = st.builds(Arc, names, names)
plans = st.builds(
    Plan,
    st.lists(st.builds(RandomDrop, arcs, shares), max_size=3, unique_by=lambda d: str(d.arc)).map(
        tuple
    ),
    st.lists(
        st.builds(
            WindowDrop,
            arcs,
            st.integers(1, 10**12),
            st.integers(1, 10**12),
            shares,
            st.integers(1, 99),
            st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
        ),
        max_size=1,
    ).map(tuple),
    st.lists(names, max_size=3, unique=True).map(tuple),
)


def test_a_plan_reads_as_text():
    assert str(PLAN).splitlines() == [
        "random   packets ─► traffic    keep 0.4 of the rows",
        f"window   packets ─► filter 1   {WINDOW}",
        "closed   alarms                all windows are dropped",
    ]
    wanted = "drop 0.25 of batches of 12 windows of web, hosts (RANGE 1 min SLIDE 5 s)"
    assert str(WINDOW) == wanted
    assert str(Plan()) == "nothing is dropped"


@given(plans)
def test_a_plan_comes_back_as_it_was_written(plan):
    assert Plan.from_json(plan.to_json()) == plan
    assert Plan.from_json(json.dumps(json.loads(plan.to_json()), indent=2, sort_keys=True)) == plan


@given(plans, st.data())
def test_a_truncated_plan_is_never_believed(plan, data):
    text = plan.to_json()
    with pytest.raises(RecordDamaged):
        Plan.from_json(text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.data())
def test_a_plan_with_another_character_is_never_believed(data):
    text = PLAN.to_json()
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda c: c != text[at]))
    changed = text[:at] + other + text[at + 1 :]
    try:
        found = Plan.from_json(changed)
    except RecordDamaged:
        return
    assert found == PLAN  # a blank for another, outside of the values


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "7", b"\xff\x00", "[" * 100_000])
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(RecordDamaged):
        Plan.from_json(text)


def test_another_kind_or_version_is_refused_and_says_so():
    with pytest.raises(RecordDamaged, match="plan of version 1"):
        Plan.from_json(seal("plan", 2, PLAN.values()))
    with pytest.raises(RecordDamaged, match="plan of version 1"):
        Plan.from_json(seal("record", 1, PLAN.values()))
    with pytest.raises(RecordDamaged, match="one that can be"):
        Plan.from_json(seal("plan", 1, {"random": [{"arc": 3}]}))
    with pytest.raises(RecordDamaged, match="one that can be"):
        Plan.from_json(seal("plan", 1, {**PLAN.values(), "closed": [""]}))
    assert unseal("x", 3, seal("x", 3, {"a": [1, None]})) == {"a": [1, None]}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RandomDrop(ARC, 1.5), "keep on packets ─► filter 1 must be a number from 0 to 1"),
        (lambda: RandomDrop(ARC, float("nan")), "from 0 to 1, got nan"),
        (lambda: RandomDrop(ARC, True), "from 0 to 1, got True"),
        (lambda: WindowDrop(ARC, 1, 1, 0.5, 0, ("a",)), "batch on .* 1 or more, got 0"),
        (lambda: WindowDrop(ARC, 1, 0, 0.5, 1, ("a",)), "slide on .* got 0"),
        (lambda: WindowDrop(ARC, 1, 1, 0.5, 1, ()), "must name its queries"),
        (lambda: WindowDrop(ARC, 1, 1, 0.5, 1, ("a", "a")), "must be different"),
        (lambda: Plan((RandomDrop(ARC, 0.5), RandomDrop(ARC, 0.4))), "arcs .* must be different"),
        (lambda: Plan(windows=(WINDOW, WINDOW)), "window drops must be different"),
        (lambda: Plan(closed=("a", "a")), "closed queries must be different"),
        (lambda: Arc("", "b"), "must be a name"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(build, message):
    with pytest.raises(SpecificationError, match=message):
        build()

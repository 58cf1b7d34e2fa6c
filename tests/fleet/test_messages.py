"""A message is what was said, or it is ignored and reported."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.drops.decisions import Decisions, Run
from penstock.errors import RecordDamaged
from penstock.fleet.dropped import Withheld, announced, joined
from penstock.fleet.messages import KINDS, Mailbox, Message
from penstock.fleet.plans import Handed
from penstock.fleet.statistics import heard, told
from penstock.nodes.splits import Location
from tests.fleet.bus import seen
from tests.nodes.networks import FIG1

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
BODIES = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)


def mailbox(name: str = "B", now: float = 5.0) -> Mailbox:
    return Mailbox("fleet", name, ["A", "coordinator"], lambda: now)


@given(st.sampled_from(KINDS), st.text(max_size=8), st.integers(0, 2**53), BODIES)
def test_what_is_sent_is_what_arrives(kind, sender, number, body):
    message = Message(kind, "fleet", sender, number, body)
    assert Message.decode(message.encode()) == message


@given(BODIES, st.data())
def test_no_byte_can_change_unseen(body, data):
    sent = Message("plan", "fleet", "A", 7, body).encode()
    place = data.draw(st.integers(0, len(sent) - 1))
    changed = bytes(
        [*sent[:place], sent[place] ^ data.draw(st.integers(1, 255)), *sent[place + 1 :]]
    )
    box = mailbox()
    found = box.read(changed)
    # White space may be another: what is said is the same.
    assert found == Message.decode(sent) if found else box.ignored == 1


@given(st.binary(max_size=60))
def test_bytes_that_are_no_message_are_reported(data):
    box = mailbox()
    assert box.read(data) is None
    assert "damaged" in box.reports[0]


def test_stale_and_unknown_messages_are_reported_and_own_ones_are_not():
    box, other = mailbox(), Mailbox("fleet", "A", ["B"], lambda: 1.0)
    first, second = other.write("plan", {}), other.write("plan", {})
    assert box.read(second) is not None
    assert box.read(first) is None
    assert box.read(second) is None
    assert box.read(Message("plan", "fleet", "nobody", 9, {}).encode()) is None
    assert box.read(Message("gossip", "fleet", "A", 99, {}).encode()) is None  # type: ignore[arg-type]
    assert [line.partition(":")[0] for line in box.reports] == [
        "B ignored a stale message",
        "B ignored a stale message",
        "B ignored an unknown message",
        "B ignored an unknown message",
    ]
    assert box.read(Message("plan", "another", "A", 100, {}).encode()) is None
    assert box.read(box.write("applied", {})) is None
    assert box.ignored == 4


def test_one_that_comes_back_with_a_slow_clock_speaks_above_what_it_said_before():
    before = mailbox("A", now=500.0).write("statistics", {})
    again = mailbox("A", now=5.0)
    again.read(before)
    after = Message.decode(again.write("statistics", {}))
    assert after.number > Message.decode(before).number


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": "1", "scaling": {"left": 2.0}, "keeps": []},
        {"id": "1", "scaling": {"left": float("nan")}, "keeps": []},
        {"id": "1", "scaling": {}, "keeps": [["left", ["a1"], -1]]},
        {"id": "1", "scaling": {}, "keeps": [["left", ["a1"]]]},
        {"id": "1", "scaling": [], "keeps": {}},
    ],
)
def test_a_plan_that_cannot_be_is_refused(body):
    with pytest.raises(RecordDamaged):
        Handed.of(body)


SHARES = st.floats(0, 1)


@given(st.dictionaries(st.text(max_size=4), SHARES), st.lists(SHARES, max_size=3))
def test_plans_and_statistics_come_through_json(scaling, shares):
    keeps = {Location(f"s{i}", ("a", "b")): share for i, share in enumerate(shares)}
    plan = Handed("x", scaling, keeps)
    assert Handed.of(json.loads(json.dumps(plan.body()))) == plan
    snapshot = seen(FIG1, "A", {"left": 3.0})
    again = heard(json.loads(json.dumps(told(snapshot))))
    assert again.operators == snapshot.operators
    assert again.streams == snapshot.streams


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 9)), max_size=8))
def test_what_is_withheld_is_all_that_was_ever_said(some):
    runs = [(first, first + more) for first, more in some]
    withheld = Withheld()
    for first, last in runs:
        state = Decisions(dropped={"q": (Run(first, last),)})
        withheld.take(json.loads(json.dumps(announced(state, ["q"]))))
    wanted = {w for first, last in runs for w in range(first, last + 1)}
    assert {w for w in range(-60, 70) if withheld.has("q", w)} == wanted
    assert joined(withheld.runs("q")) == withheld.runs("q")


@pytest.mark.parametrize("body", [{}, {"windows": {"q": [[3, 1]]}}, {"windows": {"q": [["a", 1]]}}])
def test_windows_that_cannot_be_are_refused(body):
    with pytest.raises(RecordDamaged):
        Withheld().take(body)

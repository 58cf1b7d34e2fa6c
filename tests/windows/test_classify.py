"""Each kind has the category that the paper gives it, and says what follows."""

import pytest
from hypothesis import given

from penstock.windows import Kind, classify
from penstock.windows.classify import Context
from tests.strategies import specs

EXPECTED = {
    Kind.SLIDING: Context.CF,
    Kind.TUMBLING: Context.CF,
    Kind.LANDMARK: Context.CF,
    Kind.CUMULATIVE: Context.CF,
    Kind.TUPLE: Context.CF,
    Kind.PARTITIONED_TUPLE: Context.FCF,
    Kind.SLIDE_BY_TUPLE: Context.FCB,
    Kind.SLIDE_BY_ROWS: Context.FCB,
    Kind.SLIDE_BY_RANK: Context.FCU,
}


@given(spec=specs())
def test_the_category_is_that_of_the_paper(spec):
    assert classify(spec).context is EXPECTED[spec.kind]


@given(spec=specs())
def test_what_follows_agrees_with_the_category(spec):
    found = classify(spec)
    assert found.keeps_state == (found.context is not Context.CF)
    assert found.waits == (found.context in {Context.FCB, Context.FCU})


@given(spec=specs())
def test_it_explains_itself_in_one_line(spec):
    found = classify(spec)
    assert str(found).startswith(found.context.value)
    assert found.state in str(found)
    assert found.delay in str(found)
    assert "\n" not in str(found)


@pytest.mark.parametrize(("context", "name"), [(Context.FCB, "FCA-FCB"), (Context.FCU, "FCA-FCU")])
def test_categories_have_the_names_of_the_paper(context, name):
    assert context.value == name

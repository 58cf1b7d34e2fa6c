"""One tree of exceptions, and messages of one shape."""

import pytest

from penstock import errors
from penstock.errors import PenstockError, StreamFailed, complaint, did_you_mean

TREE = {
    "SpecificationError": ValueError,
    "SchemaError": PenstockError,
    "ArithmeticOverflow": OverflowError,
    "StreamFailed": PenstockError,
    "RecordDamaged": PenstockError,
    "UsageError": PenstockError,
}


@pytest.mark.parametrize(("name", "base"), TREE.items())
def test_every_exception_stands_in_the_tree(name, base):
    found = getattr(errors, name)
    assert issubclass(found, PenstockError)
    assert issubclass(found, base)


def test_the_tree_drawn_at_the_top_is_complete():
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, PenstockError)
    }
    assert classes == {*TREE, "PenstockError"}
    assert errors.__doc__ is not None
    assert all(name in errors.__doc__ for name in classes)


def test_a_failed_stream_keeps_its_trace_and_its_message_stays_short():
    failed = StreamFailed("query 'bytes' failed in batch 7", trace="line 1\nline 2")
    assert failed.trace == "line 1\nline 2"
    assert str(failed) == "query 'bytes' failed in batch 7"
    assert StreamFailed("x").trace == ""


def test_a_message_has_name_rule_value_and_hint_on_one_line():
    assert complaint("slide", "must be greater than 0", 0) == "slide must be greater than 0, got 0"
    assert complaint("x", "must be", "a\nb", "so") == "x must be, got 'a\\nb'; so"


class Table:
    def __repr__(self):
        return "row 1\n" * 100


def test_a_value_that_is_shown_over_many_lines_is_cut():
    message = complaint("rows", "must be a list", Table())
    assert "\n" not in message
    assert len(message) < 120


def test_the_closest_name_is_proposed_and_otherwise_all_are_listed():
    assert did_you_mean("windw", ["window", "row"]) == "did you mean 'window'?"
    assert did_you_mean("xyz", ["window", "row"]) == "known: window, row"
    assert did_you_mean("xyz", []) == ""

"""One specification type for every kind; a bad one is refused by parameter, rule and value."""

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given

from penstock.errors import SpecificationError
from penstock.windows import (
    Kind,
    WindowSpec,
    cumulative,
    landmark,
    rows,
    slide_by_rank,
    slide_by_rows,
    slide_by_tuple,
    sliding,
    spark_aligned,
    tumbling,
)
from penstock.windows.kinds import ROW_NUM
from tests.strategies import specs


@pytest.mark.parametrize(
    ("spec", "kind", "text"),
    [
        (sliding("5 min", "1 min", "ts"), Kind.SLIDING, "RANGE 5 min SLIDE 1 min WATTR ts"),
        (sliding("1 s", "1 s", "ts"), Kind.TUMBLING, "RANGE 1 s SLIDE 1 s WATTR ts"),
        (tumbling("1 s", "ts", origin="-2 s"), Kind.TUMBLING, "ORIGIN -2 s"),
        (
            sliding(9, 2, "n", unit="value", start=4),
            Kind.SLIDING,
            "RANGE 9 SLIDE 2 WATTR n START 4",
        ),
        (landmark("1 min", "ts"), Kind.LANDMARK, "LANDMARK SLIDE 1 min WATTR ts"),
        (cumulative("1 day", "1 min", "ts"), Kind.CUMULATIVE, "PERIOD 1 day SLIDE 1 min WATTR ts"),
        (rows(1000, 10), Kind.TUPLE, "RANGE 1000 rows SLIDE 10 rows WATTR row-num"),
        (rows(5, by="k"), Kind.PARTITIONED_TUPLE, "SLIDE 1 row WATTR row-num PATTR k"),
        (slide_by_tuple("5 min", "ts"), Kind.SLIDE_BY_TUPLE, "SLIDE 1 row SATTR row-num"),
        (slide_by_rows("5 min", "ts", every=5), Kind.SLIDE_BY_ROWS, "SLIDE 5 rows SATTR row-num"),
        (slide_by_rank("5 min", "ts", every=5), Kind.SLIDE_BY_RANK, "SLIDE 5 rows SATTR rank(ts)"),
    ],
    ids=str,
)
def test_the_kind_follows_from_the_parameters(spec, kind, text):
    assert spec.kind is kind
    assert text in str(spec)


def test_every_kind_has_a_constructor_of_its_own():
    built = {
        sliding(2, 1, "ts").kind,
        tumbling(2, "ts").kind,
        landmark(2, "ts").kind,
        cumulative(4, 2, "ts").kind,
        rows(2).kind,
        rows(2, by=["k"]).kind,
        slide_by_tuple(2, "ts").kind,
        slide_by_rows(2, "ts", every=2).kind,
        slide_by_rank(2, "ts", every=2).kind,
    }
    assert built == set(Kind) - {Kind.SESSION}


def test_by_one_row_the_order_of_counting_does_not_matter():
    assert slide_by_rank(5, "ts", every=1).kind is Kind.SLIDE_BY_TUPLE
    assert slide_by_rows(5, "ts", every=1) == slide_by_tuple(5, "ts")


def test_a_specification_cannot_be_changed():
    spec = tumbling("1 s", on="ts")
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.slide = 5  # type: ignore[misc]


@given(spec=specs())
def test_specifications_are_values(spec):
    assert dataclasses.replace(spec) == spec
    assert hash(dataclasses.replace(spec)) == hash(spec)
    assert str(spec)


GOOD: dict[str, Any] = {"range": 10, "slide": 5, "rattr": "ts", "sattr": "ts"}
TUPLE = {"rattr": ROW_NUM, "sattr": ROW_NUM, "unit": "rows", "start": 0}
PERIODIC = {"range": None, "period": 10}

REFUSED: list[tuple[dict[str, Any], str, str, object]] = [
    ({"range": 0}, "range", "must be greater than 0", 0),
    ({"range": -3}, "range", "must be greater than 0", -3),
    ({"range": 2.5}, "range", "must be a whole number", 2.5),
    ({"range": True}, "range", "must be a whole number", True),
    ({"slide": 0}, "slide", "must be greater than 0", 0),
    ({"slide": None}, "slide", "must be a whole number", None),
    ({"slide": "5 s"}, "slide", "must be a whole number", "5 s"),
    ({"range": None, "period": 0}, "period", "must be greater than 0", 0),
    ({"origin": 0.5}, "origin", "must be a whole number", 0.5),
    ({"origin": None}, "origin", "must be a whole number", None),
    ({"start": "noon"}, "start", "must be a whole number", "noon"),
    ({"rattr": ""}, "rattr", "must be the name of a column", ""),
    ({"sattr": 7}, "sattr", "must be the name of a column", 7),
    ({**TUPLE, "pattr": "key"}, "pattr", "must be a tuple of column names", "key"),
    ({**TUPLE, "pattr": ("",)}, "pattr", "must be a tuple of column names", ("",)),
    ({**TUPLE, "pattr": ("k", "k")}, "pattr", "must name each column once", ("k", "k")),
    ({"pattr": ("k",)}, "pattr", "must be empty unless rattr is 'row-num'", ("k",)),
    ({"unit": "tim"}, "unit", "must be 'time', 'rows' or 'value'", "tim"),
    ({**TUPLE, "unit": "time"}, "unit", "must be 'rows' where rattr is 'row-num'", "time"),
    ({"unit": "rows"}, "rattr", "must be 'row-num' where unit is 'rows'", "ts"),
    ({"rank": 1}, "rank", "must be True or False", 1),
    ({"rank": True, "sattr": "n"}, "sattr", "must be 'ts' where rank is set", "n"),
    ({**TUPLE, "rank": True}, "rank", "must be False where rattr is 'row-num'", True),
    ({"sattr": "n"}, "sattr", "must be 'ts' (the range attribute) or 'row-num'", "n"),
    ({**TUPLE, "range": None}, "range", "must be given where slide counts rows", None),
    ({"range": None, "rank": True}, "range", "must be given where slide counts rows", None),
    ({**TUPLE, "origin": 3}, "origin", "must be 0 where slide counts rows", 3),
    ({**TUPLE, "start": None}, "start", "must be 0 where slide counts rows", None),
    ({"sattr": ROW_NUM, "start": 0}, "start", "must be None where slide counts rows", 0),
    ({"period": 10}, "range", "must be None where period is given", 10),
    ({**PERIODIC, "slide": 3}, "slide", "must divide the period", 3),
    ({**PERIODIC, "rank": True}, "period", "must be None where slide counts rows", 10),
]


@pytest.mark.parametrize(("change", "name", "rule", "got"), REFUSED)
def test_a_bad_specification_is_refused_by_parameter_rule_and_value(change, name, rule, got):
    with pytest.raises(SpecificationError, match=f"^{name} {re.escape(rule)}, got ") as refused:
        WindowSpec(**(GOOD | change))
    assert f"got {got!r}" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sliding("0 s", "1 s", "ts"), "range must be greater than 0, got 0"),
        (lambda: sliding("1 s", "-1 s", "ts"), "slide must be greater than 0, got -1000000"),
        (lambda: sliding("1 month", "1 s", "ts"), "range must have a fixed length, got '1 month'"),
        (lambda: tumbling("10", "ts"), "range must be a duration, got '10'"),
        (lambda: landmark("1 sec ond", "ts"), "slide must be a duration, got '1 sec ond'"),
        (lambda: cumulative("1 h", "7 min", "ts"), "slide must divide the period, got 420000000"),
        (lambda: sliding("1 s", 1, "n", unit="value"), "range must be a whole number, got '1 s'"),
        (lambda: sliding(5, 1, "n", unit="value", origin="1 s"), "origin must be a whole number"),
        (lambda: rows(True), "range must be a whole number, got True"),
        (lambda: rows(10, 0), "slide must be greater than 0, got 0"),
        (lambda: slide_by_rows("1 s", "ts", every=0), "slide must be greater than 0, got 0"),
        (lambda: spark_aligned("1 s", "0 s", "ts"), "slide must be greater than 0, got 0"),
        (lambda: sliding("1 s", "1 s", ROW_NUM), "unit must be 'rows' where rattr is 'row-num'"),
    ],
)
def test_the_constructors_refuse_in_the_same_words(build, message):
    with pytest.raises(SpecificationError, match=re.escape(message)):
        build()


def test_slide_may_exceed_range_where_both_are_on_one_attribute():
    assert sliding(2, 5, "ts").kind is Kind.SLIDING
    assert rows(2, 5).kind is Kind.TUPLE

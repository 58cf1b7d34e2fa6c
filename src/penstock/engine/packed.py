"""Few keys without nulls: what rows are grouped by costs each of them, column by column.

    group   port   host          small                              k1
    web     -      17            group web, nulls 01, host 17       ""
    dns     53     -      ─►     group dns, nulls 10, port 53       ""
    all     -      -             group all, nulls 11                "TCP"

Small numbers are packed into as few longs as hold them. The fast hash map of Spark's generated code
goes by the lowest bits of what it is given, so words are stirred: what does not reach those bits
collides. It also passes over rows with a null among their keys, and queries that share their panes
have different keys, so nearly every row has one: bits say which keys are null, and any value
stands in their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from penstock.engine.columns import bits

_WORD = 64
_PACKED = "penstock_packed_"
_NULLS = "penstock_nulls"
_WIDTHS: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 8,
    ShortType: 16,
    IntegerType: 32,
    DateType: 32,
}
_OWN: set[type[DataType]] = {
    *(LongType, FloatType, DoubleType, TimestampType, TimestampNTZType, StringType)
}
_STIR = 23
"""The upper half of a word is laid over the lower one from its tenth bit on."""
_PLACES = 62
"""Keys that have a bit; those after them stay as they are, nulls included."""


@dataclass(frozen=True)
class Packed:
    """How keys are packed.

    Args:
        group: a column of small whole numbers that are never null; its bits, sign included.
        types: key → its type.
        masks: those of the keys that are masks, where null is the same as 0 → their bits.
    """

    group: tuple[str, int]
    types: Mapping[str, DataType]
    masks: Mapping[str, int]

    @cached_property
    def _null(self) -> list[str]:
        """The keys with a bit that says whether they are null."""
        plain = {*_WIDTHS, *_OWN}
        able = [n for n, of in self.types.items() if type(of) in plain and n not in self.masks]
        return able[:_PLACES]

    @cached_property
    def _at(self) -> dict[str, tuple[int, int, int]]:
        """What is packed → its word, its first bit there, and how many it has."""
        widths = dict([self.group])
        if self._null:
            widths[_NULLS] = len(self._null)
        widths |= self.masks
        widths |= {n: w for n in self._null if (w := _WIDTHS.get(type(self.types[n]))) is not None}
        free: list[int] = []
        found = {}
        # The widest first: they are at the lower end of the words.
        for name, width in sorted(widths.items(), key=lambda item: -item[1]):
            word = next((i for i, left in enumerate(free) if left >= width), len(free))
            free += [_WORD] * (word == len(free))
            found[name] = word, _WORD - free[word], width
            free[word] -= width
        return found

    @property
    def names(self) -> list[str]:
        """The columns to group by."""
        words = 1 + max(word for word, _, _ in self._at.values())
        return [
            *(f"{_PACKED}{i}" for i in range(words)),
            *(name for name in self.types if name not in self._at),
        ]

    def columns(self) -> list[Column]:
        """The columns to group by, computed from group and keys."""
        words: dict[int, list[Column]] = {}
        for name, (word, first, width) in self._at.items():
            value = self._small(name)
            # What is above fills the bits that this leaves; what is negative would fill them too.
            low = value if width == _WORD else value.bitwiseAND(F.lit((1 << width) - 1))
            words.setdefault(word, []).append(F.shiftleft(low, first) if first else low)
        return [
            *(
                _stirred(reduce(Column.bitwiseOR, words[i])).alias(f"{_PACKED}{i}")
                for i in sorted(words)
            ),
            *(self._whole(name) for name in self.types if name not in self._at),
        ]

    def restored(self, rows: DataFrame) -> DataFrame:
        """Rows with group and keys again instead of what they were packed into."""
        found = {name: self._unpacked(name) for name in self._at if name != _NULLS}
        keys = {}
        for name, of in self.types.items():
            value = _as(found[name], of) if name in found else F.col(name)
            keys[name] = F.when(~self._is_null(name), value) if name in self._null else value
        group = found[self.group[0]].cast("int").alias(self.group[0])
        packed = [name for name in rows.columns if name.startswith(_PACKED)]
        rest = [name for name in rows.columns if name not in packed and name not in self.types]
        return rows.select(*rest, group, *(key.alias(name) for name, key in keys.items()))

    def _small(self, name: str) -> Column:
        if name == self.group[0]:
            return F.col(name).cast("bigint")
        if name == _NULLS:
            return bits((bit, F.col(key).isNull()) for bit, key in enumerate(self._null))
        value = F.col(name)
        if isinstance(self.types[name], DateType):
            value = F.unix_date(value)
        return F.coalesce(value.cast("bigint"), F.lit(0).cast("bigint"))

    def _whole(self, name: str) -> Column:
        if name not in self._null:
            return F.col(name)
        return F.coalesce(F.col(name), _nothing(self.types[name])).alias(name)

    def _unpacked(self, name: str) -> Column:
        word, first, width = self._at[name]
        left, right = _WORD - first - width, _WORD - width
        value = _unstirred(F.col(f"{_PACKED}{word}"))
        value = F.shiftleft(value, left) if left else value
        return F.shiftright(value, right) if right else value

    def _is_null(self, name: str) -> Column:
        bit = F.lit(1 << self._null.index(name)).cast("bigint")
        return self._unpacked(_NULLS).bitwiseAND(bit) != 0


def _stirred(word: Column) -> Column:
    return word.bitwiseXOR(F.shiftrightunsigned(word, _STIR))


def _unstirred(word: Column) -> Column:
    return _stirred(word).bitwiseXOR(F.shiftrightunsigned(word, 2 * _STIR))


def _as(value: Column, of: DataType) -> Column:
    if isinstance(of, DateType):
        return F.date_from_unix_date(value.cast("int"))
    return value != 0 if isinstance(of, BooleanType) else value.cast(of)


def _nothing(of: DataType) -> Column:
    """Any value of a type."""
    if isinstance(of, TimestampType | TimestampNTZType):
        return F.lit("1970-01-01").cast(of)
    return F.lit("" if isinstance(of, StringType) else 0).cast(of)

"""CQL text: the paper's own words for a window query, read without Spark.

>>> q5 = parse('''
...     SELECT `seg-id`, count(*)
...     FROM Traffic [RANGE 300 seconds RATTR ts SLIDE 5 rows SATTR rank(ts)]
... ''')
>>> print(render(q5))
SELECT `seg-id`, count(*)
FROM Traffic [RANGE 5 min RATTR ts SLIDE 5 rows SATTR rank(ts)]

    tokens, cursor                  words, names, numbers; what is next, and what was expected
    parser, functions, clause       the grammar: the statement, aggregates, the window clause
    windows, rules                  the clause as a window; what does not go together
    statement                       what is asked
    selection, joins                a SELECT without a window; relations that rows are joined with
    network, arrange                several statements, and the order in which they need each other
    render, names                   the way back to text
    check                           the names against a stream's columns

Li et al., "Semantics and Evaluation Techniques for Window Aggregates in Data Streams", SIGMOD 2005.
"""

from penstock.network.cql.arrange import arranged
from penstock.network.cql.check import check_columns
from penstock.network.cql.errors import CqlError
from penstock.network.cql.network import Definition, parse_network, parse_query
from penstock.network.cql.parser import parse
from penstock.network.cql.render import render
from penstock.network.cql.selection import Selection
from penstock.network.cql.statement import Statement

__all__ = [
    "CqlError",
    "Definition",
    "Selection",
    "Statement",
    "arranged",
    "check_columns",
    "parse",
    "parse_network",
    "parse_query",
    "render",
]

"""How to drop: at random with error bounds, or by whole windows with none wrong. No Spark.

plan, sealed                            what is dropped, and where; as text and as JSON
coins                                   chance that a replay repeats
targets, decisions, marks               whole windows: which are dropped, as a small value
advance, flips, per_group               from one batch to the next: windows ahead are decided
cells, arrays, arrays_per_group         the same as arrays, for an engine to look rows up in
nested                                  aggregates over aggregates
sampling, bounds, mean_bounds           a sample of the rows: answers, and how far off they are
refusals                                what neither can answer
log, ledger                             what each batch dropped by; what became of each window
"""

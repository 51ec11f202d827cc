"""Rank candidates by a profile at a moment, and explain every score.

The package is pure arithmetic: no clock, no store, no randomness. The core can be read in one sitting, in this order;
each module needs only those before it:

1. `explanation`: the score as the sum and the product of the parts that are shown
2. `curves`: from a number to 0..1, each formula once
3. `quantities`: the numbers that are read from a candidate
4. `signals`: a quantity and a curve, with the options that a profile may set
5. `profile`: terms, factors and gates, and what missing evidence is worth
6. `result`: scores, rankings, and the proof that a ranking is complete
7. `scorer`: the definition of a ranking, in plain Python
8. `columns`: the same for many candidates at once, each column within a known error
9. `set_signals`: the signals that compare candidates with each other
10. `selection`: columns select, and the scorer decides whatever lies within their error
11. `bound_pruning`: the same where similarities must be fetched from a database

Beside the core: `rank` for candidates that a caller brings, `why` for the reason of a rank and the smallest change,
`profile_toml`, `profiles` and `tuning_report_check` for files, `candidates_json` for lines of JSON.
"""

"""Golden files: what a store keeps and what a user sees, so that a restructuring cannot change it unnoticed.

`data` has what this version gives; `data/messages` has the part that is mostly wording. When a test here fails after
a move or a rename, the code is wrong, not the file. When wording changes on purpose, rewrite the files and review
their diff: `python -m tests.golden.write messages/help.txt`, or without names for all of them. A change to a stored key
(`keys.jsonl`, `tables.jsonl`) also needs a migration. A tool that renames things must skip this folder, except
`entry_points.py`, which has every internal name that the tests use.
"""

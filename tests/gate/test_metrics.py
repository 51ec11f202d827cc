"""The ratchet: no figure of this commit may be worse than `benchmarks/metrics.json` says.

`scripts/metrics` shows old and new figures; CONTRIBUTING.md says what to do when one gets worse on purpose.
"""

import sys

import metrics
import pytest


def check(parts: metrics.Parts) -> None:
    rows = metrics.run(parts, metrics.read())
    better = [str(row) for row in rows if row.mark == "better"]
    if better:
        sys.stdout.write("\n".join(["better than the file says; scripts/metrics --write keeps it:", *better, ""]))
    failed = [str(row) for row in rows if row.fails]
    assert not failed, "\n".join(["name, file, now:", *failed])


def test_a_worse_figure_fails_with_its_old_and_its_new_value() -> None:
    old = metrics.read()["size.modules"].value
    with pytest.raises(AssertionError, match=rf"size\.modules +{old:,.0f} +{2 * old:,.0f} +worse"):
        check({("size.modules",): lambda: {"size.modules": 2 * old}})


def test_no_quick_figure_is_worse_than_the_file_says() -> None:
    check(metrics.QUICK)


@pytest.mark.thorough
def test_no_figure_that_takes_long_is_worse_than_the_file_says() -> None:
    check(metrics.THOROUGH)

"""A diagnosis, told."""

from recollect.cli import doctor
from recollect.cli.doctor_checks import ok, problem, warning

CHECKS = [
    ok("python", "3.11"),
    warning("disk", "1.0 MB freed", "make room"),
    problem("model cache", "\x1b[31mred", "paint it \x07black"),
]


def test_a_remedy_stands_below_what_it_is_for_and_nothing_steers_the_terminal() -> None:
    assert list(doctor.format_checks(CHECKS)) == [
        "ok       python       3.11",
        "warning  disk         1.0 MB freed",
        "                      → make room",
        "problem  model cache  \\x1b[31mred",
        "                      → paint it \\x07black",
    ]


def test_the_tally_counts_what_is_not_well() -> None:
    assert doctor.tally_checks(CHECKS) == "3 checks, 1 problem, 1 warning"
    assert doctor.tally_checks(CHECKS[:1]) == "1 check, 0 problems, 0 warnings"


def test_the_json_says_first_whether_all_is_well() -> None:
    assert doctor.diagnosis_fields(CHECKS[:2]) == {
        "ok": True,
        "checks": [
            {"name": "python", "finding": "ok", "seen": "3.11", "remedy": None},
            {"name": "disk", "finding": "warning", "seen": "1.0 MB freed", "remedy": "make room"},
        ],
    }
    assert doctor.diagnosis_fields(CHECKS)["ok"] is False

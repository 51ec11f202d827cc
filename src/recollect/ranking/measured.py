"""Measured: whether the numbers of a profile are those that its report tells of."""

import hashlib
import json
from typing import Any

from recollect.errors import FieldError, ProfileError, show
from recollect.ranking.lines import read_object
from recollect.ranking.parse import describe
from recollect.ranking.profile import Profile
from recollect.ranking.profiles import BUILT_IN

SAID = ("about", "version", "report")
"""The keys of a profile that say something of it, and rank nothing."""

FINGERPRINT = "fingerprint"
"""The key of a report that says which profile it tells of."""

CARRIES_OVER = "carries_over"
"""The key of a report that says whether the numbers did good where they were not fitted."""

FOLDERS, FIGURES, FOLDS, NUMBERS = "folders", "figures", "folds", "numbers"
"""The keys of a report whose lists tell what was measured, and on what; none is empty."""


def fingerprint(profile: Profile) -> str:
    """A SHA-256 of all that decides a ranking, every option spelled out: another weight gives another one."""
    document = {key: value for key, value in describe(profile).items() if key not in SAID}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def refuse_unmeasured(profile: Profile, report: str | None) -> None:
    """Refuse a profile whose report, as it is written, tells of other numbers, and one that passes for a built-in one.

    A profile with a name of its own needs no report. One with the name of a built-in profile and other numbers needs
    one, and another version.
    """
    if report is not None:
        _refuse_other_numbers(profile, report)
    ours = BUILT_IN.get(profile.name)
    if ours is None or fingerprint(ours) == fingerprint(profile):
        return
    if report is None:
        told = (
            f"it has the name of a built-in profile, but other numbers than {ours.name} {ours.version}, and no report"
        )
        raise _refused(profile, f"{told}; give it a name of its own, or tune it with `recollect profiles tune`")
    if profile.version == ours.version:
        told = f"it has the name and the version of the built-in {ours.name} {ours.version}, but other numbers"
        raise _refused(profile, f"{told}; raise its version, or give it a name of its own")


def _refuse_other_numbers(profile: Profile, report: str) -> None:
    found, its_report = _read(profile, report), f"its report {show(profile.report)}"
    measured = found.get(FINGERPRINT)
    if not isinstance(measured, str):
        raise _refused(profile, f"{its_report} has no {FINGERPRINT}; {REMEDY}")
    if measured != fingerprint(profile):
        raise _refused(profile, f"its numbers are not those that {its_report} tells of; {REMEDY}")
    _refuse_untold(profile, found)


def _refuse_untold(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report that leaves out what was measured, or says that the numbers are no better."""
    its_report = f"its report {show(profile.report)}"
    for name in (FOLDERS, FIGURES, FOLDS, NUMBERS):
        told = report.get(name)
        if not isinstance(told, list) or not told or not all(isinstance(one, dict) for one in told):
            raise _refused(profile, f"{its_report} tells nothing of its {name}; {REMEDY}")
    carries_over = report.get(CARRIES_OVER)
    if not isinstance(carries_over, bool):
        raise _refused(profile, f"{its_report} does not say whether it {CARRIES_OVER}; {REMEDY}")
    if not carries_over:
        told = f"{its_report} says that its numbers are no better where they were not fitted"
        raise _refused(profile, f"{told} ({CARRIES_OVER} is false); {REMEDY}")


def _read(profile: Profile, report: str) -> dict[str, Any]:
    """The report as it is written; refused if it is no JSON object, or says anything twice."""
    try:
        return read_object(report)
    except FieldError as error:
        raise _refused(profile, f"its report {show(profile.report)} cannot be read: {error}; {REMEDY}") from error


REMEDY = "tune it again with `recollect profiles tune`, or take its line `report` out and give it a name of its own"
"""What to do about a report that does not tell of the profile."""


def _refused(profile: Profile, why: str) -> ProfileError:
    return ProfileError(f"profile {profile.name!r}: {why}")

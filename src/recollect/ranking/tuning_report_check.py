"""Check that a tuned profile's numbers are those that its report measured."""

import hashlib
import json
import math
from typing import Any

from recollect.errors import FieldError, ProfileError, show
from recollect.ranking.candidates_json import parse_json_object
from recollect.ranking.profile import Profile
from recollect.ranking.profile_toml import profile_to_document
from recollect.ranking.profiles import BUILTIN_PROFILES

DESCRIPTIVE_KEYS = ("about", "version", "report")
"""The keys of a profile that describe it and do not affect ranking."""

FINGERPRINT_KEY = "fingerprint"
"""The key of a report for the fingerprint of the measured profile."""

CARRIES_OVER_KEY = "carries_over"
"""The key of a report for whether the numbers helped on data they were not fitted to."""

FOLDERS_KEY, FIGURES_KEY, FOLDS_KEY, NUMBERS_KEY = "folders", "figures", "folds", "numbers"
"""The keys of a report's lists of measurements; none may be empty."""

WORTH_MEASURE = "worth"
"""The name of the measure that tuning maximizes.

For judgments it is the mean of recall and nDCG. For feedback it is what helpful memories gain by their places, less
what misleading ones lose.
"""

REQUIRED_ENTRY_KEYS = {
    FOLDERS_KEY: ("folder", "digest", "memories", "queries"),
    FIGURES_KEY: ("measure", "folder", "before", "held_out", "gained"),
    FOLDS_KEY: ("queries", "before", "after"),
    NUMBERS_KEY: ("signal", "number", "after"),
}
"""The keys that every entry of these lists must have."""

MAX_FIGURE = 1e300
"""Larger than any measured value, and small enough that sums stay finite."""

FIGURE_TOLERANCE = 1e-6
"""The largest difference between two figures that must be equal."""


def fingerprint(profile: Profile) -> str:
    """Return a SHA-256 of everything that affects ranking, with every option spelled out."""
    document = {key: value for key, value in profile_to_document(profile).items() if key not in DESCRIPTIVE_KEYS}
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def refuse_unproven_profile(profile: Profile, report: str | None) -> None:
    """Refuse a profile whose report measured other numbers, or that poses as a built-in one.

    A profile with its own name needs no report. One with the name of a built-in profile and other numbers needs a
    report and another version.
    """
    if report is not None:
        _check_report(profile, report)
    ours = BUILTIN_PROFILES.get(profile.name)
    if ours is None or fingerprint(ours) == fingerprint(profile):
        return
    if report is None:
        problem = f"it has the name of the built-in profile {ours.name} {ours.version}, but other numbers and no report"
        raise _profile_error(profile, f"{problem}; rename it, or tune it with `recollect profiles tune`")
    if profile.version == ours.version:
        problem = f"it has the name and version of the built-in profile {ours.name} {ours.version}, but other numbers"
        raise _profile_error(profile, f"{problem}; raise its version, or rename it")


def _check_report(profile: Profile, report: str) -> None:
    content = _parse_report(profile, report)
    measured = content.get(FINGERPRINT_KEY)
    if not isinstance(measured, str):
        raise _report_error(profile, f"has no {FINGERPRINT_KEY}")
    if measured != fingerprint(profile):
        problem = f"its numbers differ from those that its report {show(profile.report)} measured"
        raise _profile_error(profile, f"{problem}; {REPORT_REMEDY}")
    _refuse_missing_entries(profile, content)
    _refuse_wrong_name(profile, content)
    _refuse_wrong_numbers(profile, content)
    _refuse_infinite(profile, content)
    _refuse_no_gain(profile, content)


def _refuse_missing_entries(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report that lacks measurements, or says that the numbers are no better."""
    for name in REQUIRED_ENTRY_KEYS:
        entries = report.get(name)
        if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
            raise _report_error(profile, f"has no list of {name}")
        missing = [key for one in entries for key in REQUIRED_ENTRY_KEYS[name] if key not in one]
        if missing:
            raise _report_error(profile, f"has no {missing[0]} in one of its {name}")
    carries_over = report.get(CARRIES_OVER_KEY)
    if not isinstance(carries_over, bool):
        raise _report_error(profile, f"has no {CARRIES_OVER_KEY}, which is true or false")
    if not carries_over:
        problem = "says that its numbers are no better on data they were not fitted to"
        raise _report_error(profile, f"{problem} ({CARRIES_OVER_KEY} is false)")


def _refuse_wrong_name(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report of another profile or version."""
    for what, own in (("profile", profile.name), ("version", profile.version)):
        if report.get(what) != own:
            raise _report_error(profile, f"is about the {what} {show(report.get(what))}, not {show(own)}")


def _refuse_wrong_numbers(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report whose numbers differ from the profile's weights and floors."""
    weights = [(term.signal.name, "weight", term.weight) for term in profile.terms]
    floors = [(factor.signal.name, "floor", factor.floor) for factor in profile.factors]
    reported = [(one["signal"], one["number"], one["after"]) for one in report[NUMBERS_KEY]]
    missing = [one for one in (*weights, *floors) if one not in reported]
    if missing:
        signal, what, value = missing[0]
        raise _report_error(profile, f"does not have the {what} of {signal}, {value}, in its {NUMBERS_KEY}")
    if len(reported) > len(weights) + len(floors):
        raise _report_error(profile, f"has more {NUMBERS_KEY} than the profile has weights and floors")


def _refuse_infinite(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report that contains a number that is not finite."""
    pending = list(report.items())
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending += [(f"{name}.{key}", one) for key, one in value.items()]
        elif isinstance(value, list):
            pending += [(f"{name}[{place}]", one) for place, one in enumerate(value)]
        elif isinstance(value, int | float) and not abs(value) <= MAX_FIGURE:  # rejects NaN too
            raise _report_error(profile, f"has {show(value)} for {show(name)}, which is not a finite number")


def _refuse_no_gain(profile: Profile, report: dict[str, Any]) -> None:
    """Refuse a report whose held-out figures show no gain."""
    rows = [one for one in report[FIGURES_KEY] if one["measure"] == WORTH_MEASURE and one["folder"] is None]
    means = [_read_mean(rows[0].get(name)) for name in ("before", "held_out", "gained")] if len(rows) == 1 else []
    if not means or None in means:
        raise _report_error(
            profile, f"needs one figure {WORTH_MEASURE} for all folders together, with before, held_out and gained"
        )
    before, held_out, gained = (one or 0.0 for one in means)
    problem = f"says {CARRIES_OVER_KEY}, but on held-out data {WORTH_MEASURE} went from {before:g} to {held_out:g}"
    if gained <= 0.0 or not math.isclose(gained, held_out - before, abs_tol=FIGURE_TOLERANCE):
        raise _report_error(profile, f"{problem}, a gain of {gained:g}")
    low = _read_interval_low(rows[0]["gained"])
    if low is None or low <= 0.0:
        raise _report_error(profile, f"{problem}, a gain of {gained:g} that may be due to chance")


def _read_mean(figure: Any) -> float | None:
    """Return the mean of a figure, if it has one."""
    mean = figure.get("mean") if isinstance(figure, dict) else None
    return float(mean) if isinstance(mean, int | float) and not isinstance(mean, bool) else None


def _read_interval_low(figure: dict[str, Any]) -> float | None:
    """Return the low end of a figure's interval, if it has one."""
    interval = figure.get("interval")
    low = interval[0] if isinstance(interval, list) and len(interval) == 2 else None
    return float(low) if isinstance(low, int | float) and not isinstance(low, bool) else None


def _parse_report(profile: Profile, report: str) -> dict[str, Any]:
    """Parse the report; refuse it if it is not a JSON object or repeats a key."""
    try:
        return parse_json_object(report)
    except FieldError as error:
        raise _report_error(profile, f"cannot be read: {error}") from error


REPORT_REMEDY = "tune it again with `recollect profiles tune`, or remove its line `report` and rename it"
"""The advice in the error about a report that does not match the profile."""


def _report_error(profile: Profile, why: str) -> ProfileError:
    return _profile_error(profile, f"its report {show(profile.report)} {why}; {REPORT_REMEDY}")


def _profile_error(profile: Profile, why: str) -> ProfileError:
    return ProfileError(f"profile {profile.name!r}: {why}")

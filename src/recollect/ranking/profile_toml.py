"""Read profiles from TOML, write them back, and override their keys."""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from recollect.errors import ProfileError, show, show_name, suggest
from recollect.model.enums import Kind
from recollect.ranking.profile import Factor, Gate, Hearing, Profile, QuestionPolicy, Term
from recollect.ranking.quantities import AgeClock
from recollect.ranking.signals import SET_SIGNALS, SIGNALS, SetSignal, Signal

ProfileDocument = Mapping[str, Any]
"""A profile as parsed TOML: tables, texts and numbers."""

DURATION_UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "us": timedelta(microseconds=1),
}
DURATION_PATTERN = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(DURATION_UNITS)})")
EnumT = TypeVar("EnumT", bound=StrEnum)
PROFILE_KEYS = (
    "about",
    "version",
    "report",
    "question",
    "hearing",
    "min_score",
    "max_items",
    "terms",
    "factors",
    "gates",
)
GATE_KEYS = ("at_least", "or")


def parse_profile(text: str, *, name: str) -> Profile:
    """Parse a profile from TOML."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"profile {name!r} is not TOML: {error}") from error
    return build_profile(document, name=name)


def build_profile(document: ProfileDocument, *, name: str) -> Profile:
    """Build a profile from a parsed document."""
    try:
        parts = _read_document(document)
    except ProfileError as error:
        raise ProfileError(f"profile {name!r}: {error}") from error
    return Profile(name=name, **parts)


def override_profile(profile: Profile, changes: ProfileDocument) -> Profile:
    """Return the profile with some keys changed and checked; `None` removes a key.

    The version gets a hash of the result, so equal results have equal versions. The changed profile has no report.
    """
    if not isinstance(changes, Mapping):
        raise ProfileError(f"overrides is {show(changes)}; give a mapping with keys of the profile")
    if not changes:
        return profile
    changed = build_profile(
        _merge_documents(_expand_gates(profile_to_document(profile)), _expand_gates(changes)), name=profile.name
    )
    if changed == profile:
        return profile
    base = changed.version.split("+")[0]
    changed = replace(changed, version=base, report=None)
    content = json.dumps(profile_to_document(changed), sort_keys=True)
    return replace(changed, version=f"{base}+{hashlib.sha256(content.encode()).hexdigest()[:8]}")


def profile_to_document(profile: Profile) -> dict[str, Any]:
    """Return the document that builds the profile again, with every option spelled out."""
    document: dict[str, Any] = {"about": profile.about, "version": profile.version}
    if profile.report is not None:
        document["report"] = profile.report
    document["question"] = profile.question.value
    document["hearing"] = profile.hearing.value
    document["min_score"] = profile.min_score
    if profile.max_items is not None:
        document["max_items"] = profile.max_items
    document["terms"] = {t.signal.name: _describe_use(t, weight=t.weight) for t in profile.terms}
    document["factors"] = {f.signal.name: _describe_use(f, floor=f.floor) for f in profile.factors}
    document["gates"] = {gate.signal.name: _describe_gate(gate) for gate in profile.gates}
    return document


def _read_document(document: ProfileDocument) -> dict[str, Any]:
    _refuse_unknown(document, PROFILE_KEYS, "key")
    terms = {key: _read_term(key, value) for key, value in _read_table(document, "terms").items()}
    factors = {key: _read_factor(key, value) for key, value in _read_table(document, "factors").items()}
    uses: Mapping[str, Term | Factor] = {**terms, **factors}
    gates = [_read_gate(key, value, uses) for key, value in _read_table(document, "gates").items()]
    max_items, report = document.get("max_items"), document.get("report")
    return {
        "version": _read_text(document.get("version", ""), "version"),
        "about": _read_text(document.get("about", ""), "about"),
        "report": None if report is None else _read_text(report, "report"),
        "terms": tuple(terms.values()),
        "factors": tuple(factors.values()),
        "gates": tuple(gates),
        "question": _read_choice(QuestionPolicy, document.get("question", "optional"), "question"),
        "hearing": _read_choice(Hearing, document.get("hearing", "alone"), "hearing"),
        "min_score": _read_number(document.get("min_score", 0.0), "min_score"),
        "max_items": None if max_items is None else _read_integer(max_items, "max_items"),
    }


def _read_term(key: str, value: object) -> Term:
    where = f"terms.{show_name(key)}"
    signal, own = _read_use(key, value, where, ("weight", "missing"))
    if "weight" not in own:
        raise ProfileError(f"{where} has no weight")
    return Term(signal, own["weight"], own.get("missing"))


def _read_factor(key: str, value: object) -> Factor:
    signal, own = _read_use(key, value, f"factors.{show_name(key)}", ("floor", "missing"))
    return Factor(signal, own.get("floor", 0.0), own.get("missing"))


def _read_use(key: str, value: object, where: str, own: Collection[str]) -> tuple[Signal | SetSignal, dict[str, float]]:
    """Read a signal with its options, and the numbers of its term or factor."""
    _refuse_unknown([key], SIGNAL_CLASSES, "signal")
    table = _require_table(value, where)
    numbers = {name: _read_number(table[name], f"{where}.{name}") for name in own if name in table}
    options = {name: option for name, option in table.items() if name not in own}
    return _build_signal(key, options, where, own), numbers


def _read_gate(key: str, value: object, uses: Mapping[str, Term | Factor]) -> Gate:
    if not isinstance(value, Mapping):
        return _read_alternative(key, value, uses, f"gates.{show_name(key)}")
    where = f"gates.{show_name(key)}"
    _refuse_unknown(value, GATE_KEYS, "key", where)
    if "at_least" not in value:
        raise ProfileError(f"{where} has no at_least")
    others = value.get("or", {})
    if not isinstance(others, Mapping):
        raise ProfileError(f"{where}.or is {show(others)}; write a table of signals, such as {{ dated = 0.9 }}")
    otherwise = [
        _read_alternative(other, least, uses, f"{where}.or.{show_name(other)}") for other, least in others.items()
    ]
    return replace(_read_alternative(key, value["at_least"], uses, where), otherwise=tuple(otherwise))


def _read_alternative(key: str, value: object, uses: Mapping[str, Term | Factor], where: str) -> Gate:
    _refuse_unknown([key], SIGNAL_CLASSES, "signal")
    signal = uses[key].signal if key in uses else _build_signal(key, {}, where)
    if isinstance(signal, SetSignal):
        raise ProfileError(f"{where}: {key} compares the candidates that passed the gates, so it cannot be a gate")
    at_least = _read_number(value, where)
    if not 0.0 <= at_least <= 1.0:
        raise ProfileError(f"{where} is {at_least!r}; write a number within 0..1")
    return Gate(signal, at_least)


def _build_signal(key: str, options: ProfileDocument, where: str, own: Collection[str] = ()) -> Signal | SetSignal:
    make = SIGNAL_CLASSES[key]
    hints = get_type_hints(make)
    _refuse_unknown(options, [*own, *(name for name in hints if _is_option(hints[name]))], "option", where)
    values = {name: _read_option(hints[name], value, f"{where}.{name}") for name, value in options.items()}
    try:
        return make(**values)
    except ProfileError as error:
        raise ProfileError(f"{where}: {error}") from error


def _is_option(hint: Any) -> bool:
    """Return whether an attribute is an option; names and other fixed parts are class variables."""
    return get_origin(hint) is not ClassVar


def _read_option(hint: Any, value: object, where: str) -> object:
    """Read the value by the option's type; an optional one is read as the type it has if set."""
    alternatives = [part for part in get_args(hint) if part in OPTION_READERS]
    return OPTION_READERS[hint if hint in OPTION_READERS else alternatives[0]](value, where)


def _describe_use(use: Term | Factor, **own: float) -> dict[str, Any]:
    described: dict[str, Any] = dict(own)
    if use.missing is not None:
        described["missing"] = use.missing
    for name, hint in get_type_hints(type(use.signal)).items():
        value = getattr(use.signal, name)
        if _is_option(hint) and value is not None:
            described[name] = _describe_option(value)
    return described


def _describe_gate(gate: Gate) -> object:
    if not gate.otherwise:
        return gate.at_least
    return {"at_least": gate.at_least, "or": {way.signal.name: way.at_least for way in gate.otherwise}}


def _describe_option(value: object) -> object:
    match value:
        case timedelta():
            unit = next(unit for unit in ("d", "h", "m", "s", "us") if not value % DURATION_UNITS[unit])
            return f"{value // DURATION_UNITS[unit]}{unit}"
        case StrEnum():
            return value.value
        case Mapping():
            return {kind.value: priority for kind, priority in value.items()}
        case _:
            return value


def _merge_documents(document: ProfileDocument, changes: ProfileDocument) -> dict[str, Any]:
    merged = dict(document)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merge_documents(merged[key], value)
        else:
            merged[key] = value
    return merged


def _expand_gates(document: ProfileDocument) -> ProfileDocument:
    """Return the document with every gate as a table.

    An override that is a number then changes only the minimum and keeps the alternatives.
    """
    gates = document.get("gates")
    if not isinstance(gates, Mapping):
        return document
    tables = {
        key: {"at_least": value} if isinstance(value, int | float) and not isinstance(value, bool) else value
        for key, value in gates.items()
    }
    return {**document, "gates": tables}


def _refuse_unknown(keys: Iterable[str], known: Iterable[str], what: str, where: str = "") -> None:
    names = sorted(known)
    place = f" in {where}" if where else ""
    for key in keys:
        if key not in names:
            raise ProfileError(f"unknown {what} {show(key)}{place}; {suggest(show_name(key), names)}")


def _read_table(document: ProfileDocument, key: str) -> ProfileDocument:
    return _require_table(document.get(key, {}), key)


def _require_table(value: object, where: str) -> ProfileDocument:
    if not isinstance(value, Mapping):
        raise ProfileError(f"{where} is {show(value)}; write a table, such as {{ weight = 0.5 }}")
    return value


def _read_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ProfileError(f"{where} is {show(value)}; write a string in quotes")
    return value


def _read_number(value: object, where: str) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value) + 0.0  # turns -0.0 into 0.0
    if not math.isfinite(number):
        raise ProfileError(f"{where} is {show(value)}; write a number")
    return number


def _read_integer(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProfileError(f"{where} is {show(value)}; write a whole number")
    return value


def _read_duration(value: object, where: str) -> timedelta:
    parts = DURATION_PATTERN.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise ProfileError(f"{where} is {show(value)}; write a duration such as '14d', '36h' or '2w'")
    try:
        return float(parts[1]) * DURATION_UNITS[parts[2]]
    except OverflowError as error:
        raise ProfileError(f"{where} is {show(value)}, which is too long; write a shorter duration") from error


def _read_choice(choices: type[EnumT], value: object, where: str) -> EnumT:
    known = {choice.value: choice for choice in choices}
    if not isinstance(value, str) or value not in known:
        raise ProfileError(f"{where} is {show(value)}; choose one of {', '.join(known)}")
    return known[value]


def _read_priorities(value: object, where: str) -> Mapping[Kind, float]:
    table = _require_table(value, where)
    return {
        _read_choice(Kind, kind, where): _read_number(priority, f"{where}.{kind}") for kind, priority in table.items()
    }


SIGNAL_CLASSES: Mapping[str, Callable[..., Signal | SetSignal]] = {**SIGNALS, **SET_SIGNALS}
"""Every signal class, pointwise or set signal, by name."""

OPTION_READERS: Mapping[Any, Callable[[object, str], object]] = {
    float: _read_number,
    int: _read_integer,
    timedelta: _read_duration,
    AgeClock: partial(_read_choice, AgeClock),
    Mapping[Kind, float]: _read_priorities,
}
"""The TOML reader of each option type."""


def profile_to_toml(profile: Profile, comments: Sequence[str] = ()) -> str:
    """Write the profile as TOML with every option spelled out, below these comments."""
    return "".join(f"{line}\n" for line in [*(f"# {comment}" for comment in comments), *_toml_lines(profile)])


def _toml_lines(profile: Profile) -> Iterator[str]:
    document = profile_to_document(profile)
    tables = {key: value for key, value in document.items() if isinstance(value, Mapping)}
    yield from (f"{key} = {_toml_value(value)}" for key, value in document.items() if key not in tables)
    for name, table in tables.items():
        if table:
            yield ""
            yield f"[{name}]"
            yield from (f"{key} = {_toml_value(value)}" for key, value in table.items())


def _toml_value(value: object) -> str:
    match value:
        case Mapping():
            items = ", ".join(f"{key} = {_toml_value(one)}" for key, one in value.items())
            return f"{{ {items} }}" if items else "{}"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return repr(value)

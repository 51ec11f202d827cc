"""A profile as written in TOML → Profile, or why not; and back, so that one can be overridden."""

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from recollect.errors import ProfileError, remedy, show, spelled
from recollect.model.memory import Kind
from recollect.ranking.profile import Factor, Gate, Hearing, Profile, Question, Term
from recollect.ranking.quantities import Clock
from recollect.ranking.set_signals import SET_SIGNALS, SetSignal
from recollect.ranking.signals import SIGNALS, Signal

Document = Mapping[str, Any]
"""A profile as TOML has it: tables, texts and numbers."""

UNITS = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "us": timedelta(microseconds=1),
}
DURATION = re.compile(rf"(\d+(?:\.\d+)?)({'|'.join(UNITS)})")
Choice = TypeVar("Choice", bound=StrEnum)
KEYS = ("about", "version", "report", "question", "hearing", "min_score", "max_items", "terms", "factors", "gates")
GATE_KEYS = ("at_least", "or")


def parse(text: str, *, name: str) -> Profile:
    """The profile that a TOML text describes."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProfileError(f"profile {name!r} is not TOML: {error}") from error
    return build(document, name=name)


def build(document: Document, *, name: str) -> Profile:
    """The profile that a parsed document describes."""
    try:
        parts = _read(document)
    except ProfileError as error:
        raise ProfileError(f"profile {name!r}: {error}") from error
    return Profile(name=name, **parts)


def override(profile: Profile, changes: Document) -> Profile:
    """The profile with some of its keys changed, checked like any other; `None` removes a key.

    Its version says that it was changed, and into what: equal outcomes have equal versions. No report tells of it.
    """
    if not isinstance(changes, Mapping):
        raise ProfileError(f"overrides is {show(changes)}; give a mapping with keys of the profile")
    if not changes:
        return profile
    changed = build(_merge(_spelled_out(describe(profile)), _spelled_out(changes)), name=profile.name)
    if changed == profile:
        return profile
    base = changed.version.split("+")[0]
    changed = replace(changed, version=base, report=None)
    content = json.dumps(describe(changed), sort_keys=True)
    return replace(changed, version=f"{base}+{hashlib.sha256(content.encode()).hexdigest()[:8]}")


def describe(profile: Profile) -> dict[str, Any]:
    """The profile as a document that builds it again; every option is spelled out."""
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


def _read(document: Document) -> dict[str, Any]:
    _known(document, KEYS, "key")
    terms = {key: _term(key, value) for key, value in _table(document, "terms").items()}
    factors = {key: _factor(key, value) for key, value in _table(document, "factors").items()}
    uses: Mapping[str, Term | Factor] = {**terms, **factors}
    gates = [_gate(key, value, uses) for key, value in _table(document, "gates").items()]
    max_items, report = document.get("max_items"), document.get("report")
    return {
        "version": _text(document.get("version", ""), "version"),
        "about": _text(document.get("about", ""), "about"),
        "report": None if report is None else _text(report, "report"),
        "terms": tuple(terms.values()),
        "factors": tuple(factors.values()),
        "gates": tuple(gates),
        "question": _choice(Question, document.get("question", "optional"), "question"),
        "hearing": _choice(Hearing, document.get("hearing", "alone"), "hearing"),
        "min_score": _number(document.get("min_score", 0.0), "min_score"),
        "max_items": None if max_items is None else _whole(max_items, "max_items"),
    }


def _term(key: str, value: object) -> Term:
    where = f"terms.{spelled(key)}"
    signal, own = _use(key, value, where, ("weight", "missing"))
    if "weight" not in own:
        raise ProfileError(f"{where} has no weight")
    return Term(signal, own["weight"], own.get("missing"))


def _factor(key: str, value: object) -> Factor:
    signal, own = _use(key, value, f"factors.{spelled(key)}", ("floor", "missing"))
    return Factor(signal, own.get("floor", 0.0), own.get("missing"))


def _use(key: str, value: object, where: str, own: Collection[str]) -> tuple[Signal | SetSignal, dict[str, float]]:
    """The signal with its options, and the numbers that are the term's or factor's own."""
    _known([key], REGISTRY, "signal")
    table = _as_table(value, where)
    numbers = {name: _number(table[name], f"{where}.{name}") for name in own if name in table}
    options = {name: option for name, option in table.items() if name not in own}
    return _signal(key, options, where, own), numbers


def _gate(key: str, value: object, uses: Mapping[str, Term | Factor]) -> Gate:
    if not isinstance(value, Mapping):
        return _way(key, value, uses, f"gates.{spelled(key)}")
    where = f"gates.{spelled(key)}"
    _known(value, GATE_KEYS, f"key of {where}")
    if "at_least" not in value:
        raise ProfileError(f"{where} has no at_least")
    others = value.get("or", {})
    if not isinstance(others, Mapping):
        raise ProfileError(f"{where}.or is {show(others)}; write a table of signals, such as {{ dated = 0.9 }}")
    otherwise = [_way(other, least, uses, f"{where}.or.{spelled(other)}") for other, least in others.items()]
    return replace(_way(key, value["at_least"], uses, where), otherwise=tuple(otherwise))


def _way(key: str, value: object, uses: Mapping[str, Term | Factor], where: str) -> Gate:
    _known([key], REGISTRY, "signal")
    signal = uses[key].signal if key in uses else _signal(key, {}, where)
    if isinstance(signal, SetSignal):
        raise ProfileError(f"{where}: it looks at those that passed the gates, so it cannot be one")
    at_least = _number(value, where)
    if not 0.0 <= at_least <= 1.0:
        raise ProfileError(f"{where} is {at_least!r}, not within 0..1")
    return Gate(signal, at_least)


def _signal(key: str, options: Document, where: str, own: Collection[str] = ()) -> Signal | SetSignal:
    make = REGISTRY[key]
    hints = get_type_hints(make)
    _known(options, [*own, *(name for name in hints if _is_option(hints[name]))], f"option of {where}")
    values = {name: _option(hints[name], value, f"{where}.{name}") for name, value in options.items()}
    try:
        return make(**values)
    except ProfileError as error:
        raise ProfileError(f"{where}: {error}") from error


def _is_option(hint: Any) -> bool:
    """A signal's name and other fixed parts are class variables; its options are not."""
    return get_origin(hint) is not ClassVar


def _option(hint: Any, value: object, where: str) -> object:
    """The value as the option's type has it; an option that may be left out is of the type it has if not."""
    alternatives = [part for part in get_args(hint) if part in OPTIONS]
    return OPTIONS[hint if hint in OPTIONS else alternatives[0]](value, where)


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
            unit = next(unit for unit in ("d", "h", "m", "s", "us") if not value % UNITS[unit])
            return f"{value // UNITS[unit]}{unit}"
        case StrEnum():
            return value.value
        case Mapping():
            return {kind.value: priority for kind, priority in value.items()}
        case _:
            return value


def _merge(document: Document, changes: Document) -> dict[str, Any]:
    merged = dict(document)
    for key, value in changes.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(merged.get(key), Mapping):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = value
    return merged


def _spelled_out(document: Document) -> Document:
    """The document with every gate as a table, so that a number changes the least, and not what else opens it."""
    gates = document.get("gates")
    if not isinstance(gates, Mapping):
        return document
    written = {
        key: {"at_least": value} if isinstance(value, int | float) and not isinstance(value, bool) else value
        for key, value in gates.items()
    }
    return {**document, "gates": written}


def _known(keys: Iterable[str], known: Iterable[str], what: str) -> None:
    names = sorted(known)
    for key in keys:
        if key not in names:
            raise ProfileError(f"{show(key)} is no {what}; {remedy(spelled(key), names)}")


def _table(document: Document, key: str) -> Document:
    return _as_table(document.get(key, {}), key)


def _as_table(value: object, where: str) -> Document:
    if not isinstance(value, Mapping):
        raise ProfileError(f"{where} is {show(value)}; write a table, such as {{ weight = 0.5 }}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ProfileError(f"{where} is {show(value)}; write a text, in quotes")
    return value


def _number(value: object, where: str) -> float:
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value) + 0.0  # which makes -0.0 the zero it equals
    if not math.isfinite(number):
        raise ProfileError(f"{where} is {show(value)}; write a number")
    return number


def _whole(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProfileError(f"{where} is {show(value)}; write a whole number")
    return value


def _duration(value: object, where: str) -> timedelta:
    written = DURATION.fullmatch(value) if isinstance(value, str) else None
    if written is None:
        raise ProfileError(f"{where} is {show(value)}; write a duration such as '14d', '36h' or '2w'")
    try:
        return float(written[1]) * UNITS[written[2]]
    except OverflowError as error:
        raise ProfileError(f"{where} is {show(value)}, which is too long") from error


def _choice(choices: type[Choice], value: object, where: str) -> Choice:
    known = {choice.value: choice for choice in choices}
    if not isinstance(value, str) or value not in known:
        raise ProfileError(f"{where} is {show(value)}; choose one of {', '.join(known)}")
    return known[value]


def _priorities(value: object, where: str) -> Mapping[Kind, float]:
    table = _as_table(value, where)
    return {_choice(Kind, kind, where): _number(priority, f"{where}.{kind}") for kind, priority in table.items()}


REGISTRY: Mapping[str, Callable[..., Signal | SetSignal]] = {**SIGNALS, **SET_SIGNALS}
"""Every signal of either sort, by name."""

OPTIONS: Mapping[Any, Callable[[object, str], object]] = {
    float: _number,
    int: _whole,
    timedelta: _duration,
    Clock: partial(_choice, Clock),
    Mapping[Kind, float]: _priorities,
}
"""How each type of option is read from TOML."""

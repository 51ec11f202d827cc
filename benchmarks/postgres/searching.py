"""Searching: the ways side by side, question by question, so that neighbours on the machine disturb all alike."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from postgres.material import Question
from postgres.report import Report, p50_p95, stretch
from postgres.ways import AS_WRITTEN, BEST, EXACT, PROFILES, Ours, Way

WARM = 3
"""How many questions each way is asked by each profile before anything counts."""


def measure(ways: Sequence[Way], questions: Sequence[Question], report: Report) -> None:
    """How long each way takes for each profile, and how much of the truth it finds: the truth is ours, which is exact.

    Ratios are to the seed's SQL.
    """
    _begin(ways, questions, report)
    for profile in PROFILES:
        able = [way for way in ways if profile in way.profiles]
        for question in questions[:WARM]:
            for way in able:
                way.ask(question, profile)
        spent: dict[str, list[float]] = {way.name: [] for way in able}
        found: dict[str, list[list[str]]] = {way.name: [] for way in able}
        for question in questions:
            for way in able:
                with stretch() as taken:
                    ids = way.ask(question, profile)
                spent[way.name].append(1000.0 * taken.seconds)
                found[way.name].append(ids)
        for way in able:
            plan = way.plan(questions[0], profile) if way.plan else None
            _tell(profile, way.name, spent, found, plan, report)


def _begin(ways: Sequence[Way], questions: Sequence[Question], report: Report) -> None:
    """Ask every scope once in every way: what is kept in memory of it is from now on."""
    firsts = list({one.scope: one for one in reversed(questions)}.values())
    for way in ways:
        spent = []
        for question in firsts:
            with stretch() as taken:
                way.ask(question, way.profiles[0])
            spent.append(1000.0 * taken.seconds)
        p50, p95 = p50_p95(spent)
        report.note("first", way.name, p50=p50, p95=p95, scopes=len(firsts))
        report.say(f"first search of a scope, {way.name:<27} p50 {p50:9.2f} ms  p95 {p95:9.2f} ms   ({len(firsts)})")


def _tell(
    profile: str,
    name: str,
    spent: dict[str, list[float]],
    found: dict[str, list[list[str]]],
    plan: str | None,
    report: Report,
) -> None:
    p50, p95 = p50_p95(spent[name])
    ratio = p50 / median(spent[AS_WRITTEN])
    pairs = list(zip(found[name], found[EXACT], strict=True))
    share = sum(len(set(ids) & set(true)) for ids, true in pairs) / sum(len(true) for _, true in pairs)
    same = sum(ids == true for ids, true in pairs)
    report.note("search", profile, name, p50=p50, p95=p95, ratio=ratio, share=share, identical=same, plan=plan)
    report.say(
        f"{profile:<13} {name:<27} p50 {p50:9.2f} ms  p95 {p95:9.2f} ms {ratio:8.3f} ×   share of the best {BEST} "
        f"{share:.3f}, identical {same}/{len(pairs)}{'' if plan is None else f'   {plan}'}"
    )


def tell_looked(name: str, ours: Ours, report: Report) -> None:
    """What the engine looked at, by profile and why it stopped."""
    for (profile, stopped), count in Counter((one.profile, one.stopped) for one in ours.looked).items():
        these = [one for one in ours.looked if (one.profile, one.stopped) == (profile, stopped)]
        scanned, eligible = median(one.scanned for one in these), median(one.eligible for one in these)
        report.note("looked", name, profile, stopped, count=count, scanned=scanned, eligible=eligible)
        report.say(
            f"{name}, {profile}: {count} of {sum(one.profile == profile for one in ours.looked)} searches ended by "
            f"{stopped}, having scored {scanned:,.0f} of {eligible:,.0f} (median)"
        )

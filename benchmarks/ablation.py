"""What each part of a profile gives: the profile without it, on the same queries, and what is lost by that.

It writes a table for each embedder into docs/explanation/ranking.md, between the markers there:
`scripts/bench ablation --data DIR DIR --store FOLDER`. Weights of a part that is left out go to the others in
proportion. The stores of the folders are kept in FOLDER, so that a second run embeds nothing.
"""

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from recollect import config, factory
from recollect.evaluation.judgments import read_judgments
from recollect.evaluation.measures import MeanDifference, compare_paired
from recollect.evaluation.report import ProfileEvaluation, evaluate_answers
from recollect.evaluation.runner import JudgmentStore, load_judgment_store
from recollect.ranking.profile import Hearing, Profile
from recollect.ranking.profile_toml import override_profile
from recollect.ranking.tuning_report_check import fingerprint
from recollect.version import __version__

K, WIDE = 10, 50
MEASURES = (f"recall@{K}", f"ndcg@{K}")
EMBEDDERS = ("minilm", "wordllama")
PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "ranking.md"
BEGIN, END = "<!-- ablation: begin -->", "<!-- ablation: end -->"
STAMP = 12
"""How many digits of a fingerprint are shown."""


def variants(profile: Profile) -> Iterator[tuple[str, Profile]]:
    """The profile without each of its parts, by what is left out."""
    for term in profile.terms:
        if term.weight > 0.0 and len(profile.terms) > 1:
            yield f"`{term.signal.name}`", _without(profile, term.signal.name)
    for factor in profile.factors:
        others = tuple(one for one in profile.factors if one is not factor)
        yield f"`{factor.signal.name}` (factor)", replace(profile, factors=others)
    if profile.gates:
        yield "the gate", replace(profile, gates=())
    if any(gate.otherwise for gate in profile.gates):
        yield (
            "what else opens the gate",
            replace(profile, gates=tuple(replace(gate, otherwise=()) for gate in profile.gates)),
        )
    if profile.hearing is Hearing.TURNS:
        yield "hearing as turns", replace(profile, hearing=Hearing.ALONE)
    yield (
        "words (meaning alone)",
        override_profile(profile, {"terms": {"relevance": {"lexical_share": 0.0, "overlap": 0.0}}}),
    )
    yield (
        "meaning (words alone)",
        override_profile(profile, {"terms": {"relevance": {"lexical_share": 1.0, "overlap": 0.0}}}),
    )


def _without(profile: Profile, name: str) -> Profile:
    left = [term for term in profile.terms if term.signal.name != name]
    total = sum(term.weight for term in left)
    terms = [replace(term, weight=term.weight / total) for term in left]
    gates = tuple(
        replace(gate, otherwise=tuple(way for way in gate.otherwise if way.signal.name != name))
        for gate in profile.gates
        if gate.signal.name != name
    )
    return replace(profile, terms=tuple(terms), gates=gates)


def ask(folder: JudgmentStore, profile: Profile) -> ProfileEvaluation:
    """What the profile comes to on the folder."""
    return evaluate_answers(profile.name, profile.version, WIDE, folder.ask(profile, depth=WIDE), (K, WIDE))


def load(folder: Path, stores: Path, embedder: str) -> JudgmentStore:
    """The folder in a store of its own."""
    file = stores / f"{folder.name}-{embedder}.db"
    return load_judgment_store(read_judgments(folder), partial(factory.open, file, embedder=embedder))


def lost(whole: ProfileEvaluation, part: ProfileEvaluation) -> dict[str, MeanDifference]:
    """What is lost without a part, by measure."""
    return {
        name: compare_paired([one[name] for one in whole.scores], [one[name] for one in part.scores])
        for name in MEASURES
    }


def table(
    profile: Profile,
    embedder: str,
    wholes: Mapping[str, ProfileEvaluation],
    rows: Mapping[str, Mapping[str, dict[str, MeanDifference]]],
) -> str:
    """The page's part: figures of the profile, a row for each part, and what is left to find."""
    folders = list(wholes)
    head = " | ".join(f"{name}: {measure}" for name in folders for measure in ("recall", "nDCG"))
    asked = " and ".join(f"{len(wholes[one].answers)} queries of {one}" for one in folders)
    ranked = f"Profile `{profile.name}` version {profile.version}, fingerprint `{fingerprint(profile)[:STAMP]}`"
    lines = [
        f"{ranked}, recollect {__version__}, embedder {embedder}, {datetime.now(UTC):%Y-%m-%d}.",
        f"recall@{K} and nDCG@{K} over {asked}.",
        "In brackets, the 95 % interval of the paired difference; bold where it leaves out 0.",
        "",
        f"| without | {head} |",
        f"|---|{'---|' * (2 * len(folders))}",
        "| nothing: the whole | "
        + " | ".join(f"{wholes[one].overall.means[measure]:.3f}" for one in folders for measure in MEASURES)
        + " |",
    ]
    lines += [
        f"| {part} | {' | '.join(_told(found[one][measure]) for one in folders for measure in MEASURES)} |"
        for part, found in rows.items()
    ]
    lines += ["", f"What is left to find, in recall@{K} by category, and among the first {WIDE}:", ""]
    lines += [f"- {name}: {_left(whole)}" for name, whole in wholes.items()]
    return "\n".join(lines)


def _left(whole: ProfileEvaluation) -> str:
    each = sorted((one.means[MEASURES[0]], category, one.queries) for category, one in whole.categories.items())
    told = [f"{category} {mean:.2f} ({queries} queries)" for mean, category, queries in each]
    return f"{', '.join(told)}; recall@{WIDE} {whole.overall.means[f'recall@{WIDE}']:.2f}"


def _told(one: MeanDifference) -> str:
    mark = "**" if one.interval.low > 0.0 or one.interval.high < 0.0 else ""
    return f"{mark}{one.mean:+.3f}{mark} [{one.interval.low:+.3f}, {one.interval.high:+.3f}]".replace("-", "−")


def placed(page: str, written: str) -> str:
    """The page with this between its markers; refused if it has no such place, or several."""
    made, count = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{written}\n{END}", page, flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{PAGE.name} has {count} places for it, between {BEGIN} and {END}; give it one")
    return made


def measured_with(page: str) -> str | None:
    """The beginning of the fingerprint of the profile that the page's table is about, if it tells."""
    told = re.search(f"{re.escape(BEGIN)}.*?fingerprint `([0-9a-f]{{{STAMP}}})`.*?{re.escape(END)}", page, re.DOTALL)
    return told[1] if told else None


def measure(profile: Profile, folders: Sequence[Path], stores: Path, embedder: str) -> str:
    """The page's part about one embedder, measured."""
    loaded = {folder.name: load(folder, stores, embedder) for folder in folders}
    wholes = {name: ask(one, profile) for name, one in loaded.items()}
    rows: dict[str, dict[str, dict[str, MeanDifference]]] = {}
    for part, other in variants(profile):
        rows[part] = {name: lost(wholes[name], ask(one, other)) for name, one in loaded.items()}
        print(embedder, part, *(f"{rows[part][name][MEASURES[0]].mean:+.4f}" for name in loaded), flush=True)
    named = " and ".join(dict.fromkeys(one.embedder for one in loaded.values()))
    return table(profile, named, wholes, rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, nargs="+", required=True, help="folders of judgements")
    options.add_argument("--profile", default="default")
    options.add_argument("--store", type=Path, help="where to keep the stores of the folders")
    options.add_argument("--embedder", nargs="+", default=EMBEDDERS, help="of new stores")
    options.add_argument("--print", action="store_true", dest="printed", help="print it, and leave the page as it is")
    given = options.parse_args()
    profile = config.profile(given.profile)
    with ExitStack() as stack:
        stores = given.store or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stores.mkdir(parents=True, exist_ok=True)
        written = "\n\n".join(measure(profile, given.data, stores, embedder) for embedder in given.embedder)
    if given.printed:
        print(written)
        return
    PAGE.write_text(placed(PAGE.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Page: the results as a page of the documentation, where recollect loses before all else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from peers.results import Record, Results
from peers.roster import PEERS, Peer

OURS = "recollect"
NOTICED = 0.05
"""By which share another must be better before it is called better; less is noise."""

HEAD = """\
# recollect beside others

<!-- Written by `scripts/bench peers` from benchmarks/peers/results.json; change it there. -->

What you would use instead, given the same texts and the same vectors, each alone, with one thread. Read the times for
their order of magnitude: the machine was shared, and a time differs by a third from one run to the next.
"""

METHOD = """\
## How it was measured

- **Equal terms.** Every peer has an environment of its own with pinned versions (`benchmarks/peers/constraints.txt`),
  runs after the others in a process of its own, has one thread for arithmetic, and is given the same
  texts and 384-dimensional vectors. Embedding is not timed: every peer looks vectors up. It may keep its files on disk
  where it has a way to, and is asked for the best 10 of one user.
- **Speed** is with synthetic memories of twenty words and random unit vectors, all of one user. In bulk means a
  thousand at a time, by the peer's own way to add several if it has one; then a hundred more one at a time; then a
  hundred searches. Adding that takes longer than three minutes is not finished, and then nothing is searched.
- **Quality** is recall and nDCG of the first 10 on folders of judged questions: the share of the memories that answer a
  question, and how far up they are. A question is answered from its user's memories up to the moment it is asked.
  Chroma, mem0, LangGraph, sqlite-vec and PostgreSQL filter by that moment themselves; txtai is asked for all it has,
  and what is later is dropped. The vectors are those of all-MiniLM-L6-v2, as recollect's `minilm` makes them
  of the whole text. (By itself recollect embeds a turn without the name of its speaker; figures that way are in
  [what each part gives](ranking.md#what-each-part-gives).)
- **What only recollect uses.** Chroma, mem0 and LangGraph are given session, speaker and kind as metadata, recollect
  as fields; the others have no place for them here. Only recollect's ranking looks at any of them. mem0 is without the
  model that extracts facts, which needs a key, and without spaCy, so it has no keyword part. The importance of a memory
  is unknown to the SQL formulas: 0.5 for all.
- **pgvector** has the formulas of the [design documents](../how-to/use-the-seed-apis.md) that recollect began with.
  It has no HNSW index here: a query that orders by a composite score cannot use one, and adding would be slower.
- The NumPy scan keeps no texts, has no files and knows only similarity. It is the floor, not a rival; BM25 alone is a
  baseline for quality.

```sh
scripts/bench peers --data DIR DIR
scripts/bench peers --only recollect --data DIR DIR
```

The folders are not part of this repository: LoCoMo's licence does not allow it. `--help` says what else there is.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One figure that peers may be compared by."""

    what: str
    value: Callable[[Record], float | None]
    shown: Callable[[float], str]
    falling: bool
    """Whether less is better."""

    but: tuple[str, ...] = ()
    """Who does not take part."""

    def lost(self, results: Results) -> str | None:
        """Who is noticeably better than recollect, the best first; nothing if nobody is."""
        ours = self.value(results[OURS]) if OURS in results else None
        if ours is None:
            return None
        sign = -1.0 if self.falling else 1.0
        others = [
            (peer, self.value(record)) for peer, record in _present(results) if peer.name not in (OURS, *self.but)
        ]
        ahead = [(peer, value) for peer, value in others if value is not None]
        better = [(peer, value) for peer, value in ahead if sign * (value - ours) > NOTICED * min(value, ours)]
        if not better:
            return None
        better.sort(key=lambda one: -sign * one[1])
        names = ", ".join(f"{peer.title} {self.shown(value)}" for peer, value in better)
        return f"- {self.what}, {self.shown(ours)}: {names}"


def contests(results: Results) -> Iterator[Contest]:
    """Every figure there is to be better at."""
    floor = tuple(peer.name for peer in PEERS if not peer.kept)
    for rows in _sizes(results):
        yield Contest(what=f"**Search** among {rows:,}", value=partial(_p50, rows), shown=_ms, falling=True)
    for rows in _sizes(results):
        yield Contest(
            what=f"**Adding** {rows:,} in bulk", value=partial(_bulk, rows), shown=_rate, falling=False, but=floor
        )
    for rows in _sizes(results):
        yield Contest(what=f"**Adding one** to {rows:,}", value=partial(_one, rows), shown=_ms, falling=True, but=floor)
    for rows in _sizes(results)[-1:]:
        yield Contest(what=f"**Memory** with {rows:,}", value=partial(_memory, rows), shown=_mib, falling=True)
    for name in _folders(results):
        yield Contest(what=f"**Recall** on {name}", value=partial(_recall, name), shown=_share, falling=False)
        yield Contest(what=f"**nDCG** on {name}", value=partial(_ndcg, name), shown=_share, falling=False)


def page(results: Results) -> str:
    """The whole page."""
    picture = ["![Median search by number of memories](benchmarks-search.svg)", ""]
    sections = [
        ("Where recollect loses", _losses(results)),
        ("Search", [*picture, *_searching(results)]),
        ("Adding", _adding(results)),
        ("Quality", _quality(results)),
        ("What did not work", _problems(results)),
    ]
    parts = [f"## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections if lines]
    with_what = "## With what\n\n" + "\n".join(_with_what(results)) + "\n"
    return "\n".join([HEAD, *_busy(results), *parts, METHOD, with_what])


def _busy(results: Results) -> list[str]:
    """A warning, where more processes wanted a core than there are cores while speed was measured."""
    every = [
        (peer, one)
        for peer, record in _present(results)
        for what, one in record.measured.items()
        if what.startswith("speed")
    ]
    names = dict.fromkeys(peer.title for peer, one in every if one.load > one.machine.cores)
    if not names:
        return []
    who = "all" if len(names) == len({peer for peer, _ in every}) else ", ".join(names)
    said = "The machine was busy with other work when these were timed, so that their times are too long, by how much"
    return [f"> **{said} nobody can tell:** {who}. Measure again when it is quiet.\n"]


def _losses(results: Results) -> list[str]:
    lost = [line for contest in contests(results) if (line := contest.lost(results))]
    return ["What recollect takes or gets, and who does better by more than a twentieth:", "", *lost] if lost else []


def _searching(results: Results) -> list[str]:
    """The median and the 95th percentile at each size, the first search after writing, and the memory it took."""
    sizes = _sizes(results)
    titles = [*(f"{rows:,}" for rows in sizes), f"first, {sizes[-1]:,}", f"memory, {sizes[-1]:,}"] if sizes else []
    rows = []
    for peer, record in _present(results):
        if record.speed:
            first = record.speed[sizes[-1]].first if sizes[-1] in record.speed else None
            memory = _memory(sizes[-1], record)
            cells = [_both(record, size) for size in sizes]
            rows.append([peer.title, *cells, _or_dash(first, _ms), _or_dash(memory, _mib)])
    return ["Median / 95th percentile for the best 10, in milliseconds.", "", *_table(["", *titles], rows)]


def _both(record: Record, size: int) -> str:
    speed = record.speed.get(size)
    if speed is None:
        return "not tried" if any(not one.finished for one in record.speed.values()) else "–"
    if speed.p50 is None or speed.p95 is None:
        return "not finished"
    return f"{_number(speed.p50)} / {_number(speed.p95)}"


def _adding(results: Results) -> list[str]:
    """How many a second in bulk, how long one takes, and where memories are then."""
    sizes = _sizes(results)
    titles = [*(f"in bulk, {rows:,}" for rows in sizes), *(f"one to {rows:,}" for rows in sizes[-1:])]
    rows = []
    for peer, record in _present(results):
        if record.speed and peer.kept:
            one = _or_dash(_one(sizes[-1], record), _ms)
            rows.append([peer.title, *(_added(record, size) for size in sizes), one, peer.kept])
    return ["Memories a second; the median of one.", "", *_table(["", *titles, "then they are"], rows)]


def _added(record: Record, size: int) -> str:
    speed = record.speed.get(size)
    if speed is None:
        return "not tried" if any(not one.finished for one in record.speed.values()) else "–"
    return _rate(speed.bulk_rate) if speed.finished else f"not finished: {speed.added:,} at {_rate(speed.bulk_rate)}"


def _quality(results: Results) -> list[str]:
    folders = _folders(results)
    rows = []
    for peer, record in _present(results):
        if record.quality:
            pairs = [(_recall(name, record), _ndcg(name, record)) for name in folders]
            cells = [f"{_or_dash(recall, _share)} / {_or_dash(ndcg, _share)}" for recall, ndcg in pairs]
            rows.append([peer.title, *cells, peer.ranks])
    if not rows:
        return []
    return ["recall@10 / nDCG@10.", "", *_table(["", *folders, "orders by"], rows)]


def _problems(results: Results) -> list[str]:
    return [
        f"- {peer.title}, {what}: `{problem}`"
        for peer, record in _present(results)
        for what, problem in record.problems.items()
    ]


def _with_what(results: Results) -> list[str]:
    every = [(peer, one) for peer, record in _present(results) for one in record.measured.values()]
    if not every:
        return ["Nothing is measured yet."]
    machines = dict.fromkeys(f"- {one.machine}" for _, one in every)
    loads = [one.load for _, one in every]
    busy = (
        f"- Processes that wanted a core meanwhile, the measured one among them: {min(loads):.1f} to {max(loads):.1f}"
    )
    rows = dict.fromkeys(
        (peer.title, ", ".join(f"{name} {version}" for name, version in one.versions.items()), one.python, one.date)
        for peer, one in every
    )
    return [*machines, busy, "", *_table(["", "versions", "Python", "measured"], list(rows))]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [titles, ["---"] * len(titles), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _present(results: Results) -> list[tuple[Peer, Record]]:
    return [(peer, results[peer.name]) for peer in PEERS if peer.name in results]


def _sizes(results: Results) -> list[int]:
    return sorted({rows for record in results.values() for rows in record.speed})


def _folders(results: Results) -> list[str]:
    return sorted({name for record in results.values() for name in record.quality})


def _p50(rows: int, record: Record) -> float | None:
    return record.speed[rows].p50 if rows in record.speed else None


def _bulk(rows: int, record: Record) -> float | None:
    return record.speed[rows].bulk_rate if rows in record.speed and record.speed[rows].finished else None


def _one(rows: int, record: Record) -> float | None:
    return record.speed[rows].one_p50 if rows in record.speed else None


def _memory(rows: int, record: Record) -> float | None:
    return record.speed[rows].memory if rows in record.speed else None


def _recall(name: str, record: Record) -> float | None:
    return record.quality[name].recall if name in record.quality else None


def _ndcg(name: str, record: Record) -> float | None:
    return record.quality[name].ndcg if name in record.quality else None


def _or_dash(value: float | None, shown: Callable[[float], str]) -> str:
    return "–" if value is None else shown(value)


def _number(value: float) -> str:
    """As many digits as can be told."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _ms(value: float) -> str:
    return f"{_number(value)} ms"


def _rate(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}/s"


def _mib(value: float) -> str:
    return f"{value:,.0f} MiB"


def _share(value: float) -> str:
    return f"{value:.3f}"

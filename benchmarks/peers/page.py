"""Page: the results as a page of the documentation, where recollect loses before all else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from peers.results import Measured, Record, Results
from peers.roster import PEERS, Peer

OURS = "recollect"
DRIVER = next(peer.driver for peer in PEERS if peer.name == OURS)
"""Whoever is driven by it is recollect too, and no rival."""

NONE = "–"
STAMP = 12
"""How many digits of a fingerprint are shown."""

NOTICED = 0.05
"""By which share another must be better before it is called better; less is noise."""

Peers = Sequence[tuple[Peer, Record]]

HEAD = """\
# recollect beside others

<!-- Written by `scripts/bench peers` from benchmarks/peers/results.json; change it there. -->

What you would use instead, given the same texts and the same vectors (with [one difference](#how-it-was-measured)),
each alone, with one thread. Read the times for their order of magnitude.
"""

METHOD = """\
## How it was measured

- **Equal terms.** Every peer has an environment of its own with pinned versions (`benchmarks/peers/constraints.txt`),
  runs after the others in a process of its own, has one thread for arithmetic, and is given the same
  texts and 384-dimensional vectors. Embedding is not timed: every peer looks vectors up. It may keep its files on disk
  where it has a way to, and is asked for the best 10 of one user.
- **One difference.** Where a question names a speaker, recollect searches with the vector of the question as that
  speaker would put it ("I" for "Caroline"), one for each who is named, and not with the vector that the others are
  given; these are looked up too. With the others' vector it gets the figures of *one vector a question*.
- **Speed** is with synthetic memories of twenty words and random unit vectors, all of one user: conversations of twenty
  turns between two speakers, a minute apart. Every other question names one of the two. In bulk means a thousand at a
  time, by the peer's own way to add several if it has one; then a hundred more one at a time; then a
  hundred searches. Adding that takes longer than three minutes is not finished, and then nothing is searched.
- **Quality** is recall and nDCG of the first 10 on folders of judged questions: the share of the memories that answer a
  question, and how far up they are. A question is answered from its user's memories up to the moment it is asked.
  Chroma, mem0, LangGraph, sqlite-vec and PostgreSQL filter by that moment themselves; txtai is asked for all it has,
  and what is later is dropped. Texts that repeat are not merged. The vectors are those of all-MiniLM-L6-v2, as
  recollect's `minilm` makes them of the whole text. (By itself recollect embeds a turn without the name of its
  speaker; figures that way, and with the built-in table, are in
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
    """One figure that peers are compared by."""

    what: str
    value: Callable[[Record], float | None]
    shown: Callable[[float], str]
    unit: str = ""
    falling: bool
    """Whether less is better."""

    def lost(self, peers: Peers) -> str | None:
        """Who of these is noticeably better than recollect, the best first; nothing if nobody is."""
        ours = next((self.value(record) for peer, record in peers if peer.name == OURS), None)
        if ours is None:
            return None
        sign = -1.0 if self.falling else 1.0
        others = [(peer, self.value(record)) for peer, record in peers if peer.driver != DRIVER]
        known = [(peer, value) for peer, value in others if value is not None]
        better = [(peer, value) for peer, value in known if sign * (value - ours) > NOTICED * min(value, ours)]
        if not better:
            return None
        better.sort(key=lambda one: -sign * one[1])
        names = ", ".join(f"{peer.title} {self.shown(value)}{self.unit}" for peer, value in better)
        return f"- {self.what}, {self.shown(ours)}{self.unit}: {names}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table: a figure of each peer, or several between strokes."""

    title: str
    contests: tuple[Contest, ...]
    absent: Callable[[Record], str] = lambda _: NONE
    """What is said of a peer without any of the figures."""

    def cell(self, record: Record) -> str:
        """What the table says of a peer."""
        values = [(contest, contest.value(record)) for contest in self.contests]
        if all(value is None for _, value in values):
            return self.absent(record)
        return " / ".join(NONE if value is None else contest.shown(value) for contest, value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and who is in it; whatever it shows, recollect may lose at."""

    title: str
    about: str
    columns: tuple[Column, ...]
    peers: Peers
    remark: str = ""
    """The title of a last column of words."""

    said: Callable[[Peer], str] = lambda _: ""

    @property
    def lines(self) -> list[str]:
        """The table, with what its figures are; nothing if there is nobody in it."""
        if not self.columns or not self.peers:
            return []
        remark = [self.remark] if self.remark else []
        titles = ["", *(column.title for column in self.columns), *remark]
        rows = [
            [peer.title, *(column.cell(record) for column in self.columns), *([self.said(peer)] if remark else [])]
            for peer, record in self.peers
        ]
        return [self.about, "", *_table(titles, rows)]

    @property
    def losses(self) -> Iterator[str]:
        """Every figure that another in this table is better at."""
        for column in self.columns:
            for contest in column.contests:
                if lost := contest.lost(self.peers):
                    yield lost


def tables(results: Results) -> list[Table]:
    """Everything that was measured."""
    sizes, folders = _sizes(results), _folders(results)
    timed = [(peer, record) for peer, record in _present(results) if record.speed]
    keeping = [(peer, record) for peer, record in timed if peer.kept]
    judged = [(peer, record) for peer, record in _present(results) if record.quality]
    return [
        Table(
            title="Search",
            about="Median / 95th percentile for the best 10, and the first search after the last write; milliseconds.",
            columns=(*map(_searched, sizes), *map(_first, sizes)),
            peers=timed,
        ),
        Table(
            title="Adding",
            about="Memories a second in bulk; the median of one by itself, in milliseconds.",
            columns=(*map(_bulk, sizes), *map(_one, sizes)),
            peers=keeping,
            remark="then they are",
            said=lambda peer: peer.kept,
        ),
        Table(
            title="Room",
            about="How much more memory the process took than with the texts and vectors alone, and its files; MiB.",
            columns=(*map(_memory, sizes), *map(_disk, sizes)),
            peers=timed,
        ),
        Table(
            title="Quality",
            about="recall@10 / nDCG@10.",
            columns=tuple(map(_judged, folders)),
            peers=judged,
            remark="orders by",
            said=lambda peer: peer.ranks,
        ),
    ]


def page(results: Results, present: str) -> str:
    """The whole page, where `present` is the fingerprint of recollect's profile as it is now."""
    shown = tables(results)
    sections = [
        ("Where recollect loses", _losses(shown)),
        *((table.title, table.lines) for table in shown),
        ("What did not work", _problems(results)),
    ]
    parts = [f"## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections if lines]
    with_what = "## With what\n\n" + "\n".join(_with_what(results)) + "\n"
    return "\n".join([HEAD, *_outdated(results, present), *_busy(results), *parts, METHOD, with_what])


def _outdated(results: Results, present: str) -> list[str]:
    """A warning, where recollect was measured with a profile of other numbers than it has now."""
    others = [
        what
        for peer, record in _present(results)
        for what, one in record.measured.items()
        if peer.driver == DRIVER and one.fingerprint != present
    ]
    if not others:
        return []
    names = ", ".join(dict.fromkeys(others))
    return [f"> **recollect's `default` is not the one that was measured here:** {names}. Measure again.\n"]


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


def _losses(shown: Sequence[Table]) -> list[str]:
    lost = [line for table in shown for line in table.losses]
    return ["What recollect takes or gets, and who does better by more than a twentieth:", "", *lost] if lost else []


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
    loads = [
        one.load for _, record in _present(results) for what, one in record.measured.items() if what.startswith("speed")
    ]
    load = f"{min(loads):.1f} to {max(loads):.1f}" if loads else NONE
    busy = f"- Load of the machine while speed was measured, the measured process included: {load}"
    rows = dict.fromkeys((peer.title, ", ".join(_versions(one)), one.python, one.date) for peer, one in every)
    commands = dict.fromkeys(f"- `{one.command}`" for _, one in every)
    return [*machines, busy, *commands, "", *_table(["", "versions", "Python", "measured"], list(rows))]


def _versions(measured: Measured) -> list[str]:
    profile = [f"`default` {measured.fingerprint[:STAMP]}"] if measured.fingerprint else []
    return [*(f"{name} {version}" for name, version in measured.versions.items()), *profile]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [titles, ["---"] * len(titles), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _present(results: Results) -> list[tuple[Peer, Record]]:
    return [(peer, results[peer.name]) for peer in PEERS if peer.name in results]


def _sizes(results: Results) -> list[int]:
    return sorted({rows for record in results.values() for rows in record.speed})


def _folders(results: Results) -> list[str]:
    return sorted({name for record in results.values() for name in record.quality})


def _speed(record: Record, rows: int, name: str) -> float | None:
    """One figure of a peer's speed with so many memories, if it was taken."""
    found: float | None = getattr(record.speed[rows], name) if rows in record.speed else None
    return found


def _searched(rows: int) -> Column:
    slow = f"**Slow searches** (95th percentile) among {rows:,}"
    return Column(
        title=f"{rows:,}",
        contests=(
            _time(f"**Search** among {rows:,}", lambda record: _speed(record, rows, "p50")),
            _time(slow, lambda record: _speed(record, rows, "p95")),
        ),
        absent=lambda record: _untold(record, rows),
    )


def _first(rows: int) -> Column:
    figure = _time(f"**First search** among {rows:,}", lambda record: _speed(record, rows, "first"))
    return Column(title=f"first, {rows:,}", contests=(figure,))


def _bulk(rows: int) -> Column:
    def rate(record: Record) -> float | None:
        return record.speed[rows].bulk_rate if rows in record.speed and record.speed[rows].finished else None

    figure = Contest(what=f"**Adding** {rows:,} in bulk", value=rate, shown=_rate, unit="/s", falling=False)
    return Column(title=f"in bulk, {rows:,}", contests=(figure,), absent=lambda record: _unadded(record, rows))


def _one(rows: int) -> Column:
    figure = _time(f"**Adding one** to {rows:,}", lambda record: _speed(record, rows, "one_p50"))
    return Column(title=f"one to {rows:,}", contests=(figure,))


def _memory(rows: int) -> Column:
    figure = _space(f"**Memory** with {rows:,}", lambda record: _speed(record, rows, "memory"))
    return Column(title=f"memory, {rows:,}", contests=(figure,))


def _disk(rows: int) -> Column:
    """What was left in files; who keeps nothing there takes no part."""
    figure = _space(f"**Files** of {rows:,}", lambda record: _speed(record, rows, "disk") or None)
    return Column(title=f"files, {rows:,}", contests=(figure,))


def _judged(name: str) -> Column:
    def recall(record: Record) -> float | None:
        return record.quality[name].recall if name in record.quality else None

    def ndcg(record: Record) -> float | None:
        return record.quality[name].ndcg if name in record.quality else None

    return Column(
        title=name,
        contests=(
            Contest(what=f"**Recall** on {name}", value=recall, shown=_share, falling=False),
            Contest(what=f"**nDCG** on {name}", value=ndcg, shown=_share, falling=False),
        ),
    )


def _time(what: str, value: Callable[[Record], float | None]) -> Contest:
    return Contest(what=what, value=value, shown=_number, unit=" ms", falling=True)


def _space(what: str, value: Callable[[Record], float | None]) -> Contest:
    return Contest(what=what, value=value, shown=_number, unit=" MiB", falling=True)


def _untold(record: Record, rows: int) -> str:
    """Why there is no figure of so many memories."""
    if rows in record.speed:
        return "not finished"
    return "not tried" if any(not one.finished for one in record.speed.values()) else NONE


def _unadded(record: Record, rows: int) -> str:
    """The same, with how far it got."""
    speed = record.speed.get(rows)
    told = _untold(record, rows)
    return told if speed is None else f"{told}: {speed.added:,} at {_rate(speed.bulk_rate)}/s"


def _number(value: float) -> str:
    """As many digits as can be told."""
    return f"{value:.2g}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _rate(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


def _share(value: float) -> str:
    return f"{value:.3f}"

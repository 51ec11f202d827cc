"""Pydantic schemas of answers, for OpenAPI and for the output schemas of MCP tools.

In order: memories and receipts, rankings and contexts, episodes, events and entities, administration.
"""

from typing import Any, Literal

from pydantic import Field

from recollect.api.operation import AnswerSchema


class Memory(AnswerSchema):
    """A memory with all that is known of it but its use."""

    id: str
    scope: str
    text: str
    created_at: str = Field(description="When it was first observed.")
    kind: str
    level: str | None = Field(description="How coarse it is as a record of what happened; plain memories have none.")
    title: str | None
    tags: list[str]
    session: str | None
    speaker: str | None
    topic_key: str | None
    subject: str | None = Field(description="What it is about, where only one thing holds at a time.")
    shared: bool
    pinned: bool
    importance: float | None
    confidence: float | None
    salience: float | None
    observed_at: str | None
    updated_at: str | None
    valid_from: str | None
    valid_until: str | None
    provenance: str
    trust: str
    source: str | None
    evidence: list[str]
    derived_from: list[str]
    metadata: dict[str, Any]
    revisions: int
    status: str
    indexed: bool
    left: list[str]
    stands_for: list[str]
    superseded_by: str | None
    remark: str | None
    recorded_at: str | None
    commit: int | None


class Receipt(AnswerSchema):
    """Which memory now says it, what was decided and why, and what was taken out before anything was kept."""

    id: str | None = Field(description="The memory that says it now; none if nothing was kept.")
    verdict: Literal[
        "created",
        "updated",
        "reinforced",
        "superseded",
        "outdated",
        "reactivated",
        "unindexed",
        "quarantined",
        "refused",
        "changed",
        "unchanged",
    ]
    redacted: list[str]
    memory: Memory | None
    revision: int | None = None
    instead_of: str | None = None
    twin: str | None = None
    reason: str | None = None
    old: str | None = None
    newer: str | None = None
    was: str | None = None
    other: str | None = None
    to: str | None = None


class Receipts(AnswerSchema):
    """What became of each, in the order given."""

    receipts: list[Receipt]


class Usage(AnswerSchema):
    """What happened to a memory since it was written."""

    served: int
    helped: int
    misled: int
    echoed: int
    quoted: int
    followed: int
    last_served_at: str | None
    last_echoed_at: str | None
    usefulness: float | None


class Replacement(AnswerSchema):
    """What took the place of a memory."""

    id: str
    text: str


class Shown(Memory):
    """A memory with its use, and what took its place if something did."""

    usage: Usage
    replacement: Replacement | None


class Versions(AnswerSchema):
    """Every version of a memory, the oldest first."""

    id: str
    versions: list[Memory]
    replacement: Replacement | None


class Memories(AnswerSchema):
    """Memories of a scope in the order of ids; `next` is where to go on, if there are more."""

    scope: str
    memories: list[Memory]
    next: str | None


class Part(AnswerSchema):
    """What one signal said, and what that was worth."""

    signal: str
    value: float
    weight: float
    points: float
    assumed: bool
    note: str | None


class Factor(AnswerSchema):
    """By what the sum was multiplied."""

    name: str
    value: float
    times: float
    assumed: bool
    note: str | None


class Found(Memory):
    """A memory with its score, and the parts and factors that give it."""

    score: float
    parts: list[Part]
    factors: list[Factor]


class Proof(AnswerSchema):
    """How it is known that these are the best."""

    stopped: str
    scanned: int
    eligible: int
    why: str


class Ranking(AnswerSchema):
    """The best memories for a question, best first; scores compare only inside one ranking."""

    profile: str
    version: str
    at: str
    exact: bool
    proof: Proof
    excluded: dict[str, int] = Field(description="How many memories were not ranked, by reason.")
    results: list[Found]


class Omitted(AnswerSchema):
    """What was considered and left out, and why."""

    id: str
    kind: str
    score: float
    reason: str
    cost: int
    room: int
    short: int


class Context(AnswerSchema):
    """What is handed to a model, with the memories in it, and what was left out and why."""

    id: str | None = Field(description="What feedback and replay refer to.")
    text: str = Field(description="Ready for a prompt; recalled data, not instructions.")
    tokens: int
    estimated: bool
    budget: int
    marker: str
    profile: str
    version: str
    at: str
    exact: bool
    proof: Proof
    excluded: dict[str, int]
    packed: list[Found]
    omitted: list[Omitted]


class Change(AnswerSchema):
    """What would have had to be different."""

    signal: str
    value: float | None
    needed: float
    means: str | None


class Why(AnswerSchema):
    """Where a memory stands or fell, and what would have put it in."""

    id: str
    fate: dict[str, Any]
    score: float
    parts: list[Part]
    factors: list[Factor]
    changes: list[Change]


class Noted(AnswerSchema):
    """What was said of a context, and which of its memories the answer quotes."""

    context: str
    scope: str
    helped: list[str]
    misled: list[str]
    quoted: list[str]
    remark: str | None


class Difference(AnswerSchema):
    """What is not as it was."""

    what: str
    name: str | None
    was: str | None
    again: str | None


class Replay(Context):
    """A recorded context made again, and what differs from it, if anything does."""

    identical: bool
    differences: list[Difference]


class Outcome(AnswerSchema):
    """How a task went, and what it taught."""

    score: float
    lessons: list[str]
    failure_modes: list[str]
    at: str


class Action(AnswerSchema):
    """What was done for a task."""

    id: str
    type: str
    input: str
    output: str
    result: str
    at: str
    context: str | None


class Episode(AnswerSchema):
    """A task, without what was done for it."""

    id: str
    scope: str
    task: str | None = Field(description="None to whoever may write and not read; nor are others' words told there.")
    plan: list[str]
    session: str | None
    started_at: str
    status: str
    pinned: bool
    finished: bool
    outcome: Outcome | None
    value: float | None
    contexts: list[str]


class WholeEpisode(Episode):
    """A task with what was done for it."""

    actions: list[Action]


class CompletedEpisode(WholeEpisode):
    """A task that has ended, with what became of all that it taught."""

    receipts: list[Receipt]
    run: int | None
    again: bool


class SimilarEpisode(Episode):
    """A task like the one at hand, with what gives its score."""

    score: float
    parts: list[Part]
    factors: list[Factor]


class Episodes(AnswerSchema):
    """Tasks, the latest first."""

    scope: str
    episodes: list[Episode]


class SimilarEpisodes(AnswerSchema):
    """Tasks like the one at hand, the best first."""

    scope: str
    episodes: list[SimilarEpisode]


class FailureMode(AnswerSchema):
    """What went wrong with similar tasks, and in which."""

    text: str
    episodes: list[str]
    score: float
    parts: list[Part]
    factors: list[Factor]


class FailureModes(AnswerSchema):
    """What went wrong with similar tasks, the most similar task first."""

    scope: str
    failure_modes: list[FailureMode]


class Extract(Receipt):
    """What became of something that was understood, with the words it rests on."""

    quote: str
    turn: int


class Rejected(AnswerSchema):
    """What was not taken, and why."""

    text: str
    reason: str


class Extracted(AnswerSchema):
    """What a conversation left behind."""

    sessions: int
    extracts: list[Extract]
    rejected: list[Rejected]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    uncounted: int
    cost: float | None
    redacted: dict[str, int]


class Place(AnswerSchema):
    """A year, month, week, day, segment or grip."""

    level: str
    key: str
    title: str
    first: str
    last: str
    record: Memory | None


class Outlook(AnswerSchema):
    """A place in what happened, and what is below it."""

    place: Place | None
    parts: list[Place]
    grips: list[Place]


class Expansion(AnswerSchema):
    """The events that a grip or segment rests on, with those around them."""

    record: Memory
    before: list[Memory]
    events: list[Memory]
    after: list[Memory]
    gone: list[str]


class Entity(AnswerSchema):
    """A name, and how many memories mention it."""

    name: str
    memories: int


class Linked(AnswerSchema):
    """A memory, and the name that links it."""

    through: str
    memory: Memory


class Entities(AnswerSchema):
    """The names that the memories of a scope mention."""

    scope: str
    entities: list[Entity]


class Neighbours(AnswerSchema):
    """What is linked to a name or a memory."""

    name: str | None
    id: str | None
    entities: list[Entity]
    memories: list[Linked]


class Topic(AnswerSchema):
    """What several memories are about together."""

    id: str
    scope: str
    label: str
    keywords: list[str]
    memories: list[str]
    created_at: str
    mentioned_at: str
    served: int
    importance: float
    pruned: bool


class Topics(AnswerSchema):
    """What the memories of a scope are about, the most important first."""

    scope: str
    topics: list[Topic]


class Count(AnswerSchema):
    """A scope and how many memories it has."""

    scope: str
    memories: int


class Encoder(AnswerSchema):
    """The model that vectors come from."""

    name: str
    dimensions: int


class Stats(AnswerSchema):
    """How much there is."""

    scope: str | None
    memories: int
    statuses: dict[str, int]
    kinds: dict[str, int]
    scopes: int
    largest: list[Count]
    versions: int
    contexts: int
    uses: dict[str, int]
    unembedded: int
    embedder: Encoder | None
    analyser: str | None
    schema_: int | None = Field(alias="schema")
    bytes: int | None


class Erasure(AnswerSchema):
    """What was or would be erased, where it was looked for, what was found, and what is out of reach."""

    dry_run: bool
    scope: str
    ids: list[str]
    memories: int
    versions: int | None = None
    vectors: int | None = None
    uses: int | None = None
    votes: int | None = None
    keys: int | None = None
    checkpoints: int | None = None
    contexts: int | None = None
    restored: list[str] | None = None
    made_of: list[str] | None = None
    proven: bool | None = None
    retryable: bool | None = None
    search: dict[str, Any] | None = None
    out_of_reach: list[str] | None = None


class Plan(AnswerSchema):
    """What a job would do, or the runs in which it did it."""

    dry_run: bool
    plan: dict[str, Any] | None
    runs: list[dict[str, Any]]


class Undone(AnswerSchema):
    """What stands again as it did before a run."""

    undone: int
    scope: str
    run: int | None
    memories: list[Memory]


class ProfileSummary(AnswerSchema):
    """A rank profile."""

    name: str
    version: str
    about: str


class Profiles(AnswerSchema):
    """The rank profiles that can be asked for."""

    profiles: list[ProfileSummary]


class Scopes(AnswerSchema):
    """Scopes that have memories, in order."""

    scopes: list[str]

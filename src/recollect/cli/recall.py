"""Commands that query a store: recall, brief, search, why, replay and feedback.

`recall` and `brief` pack memories into a token budget. `replay` recomputes a recorded context and reports what differs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import click

from recollect.api import schemas
from recollect.cli import formatting, options, output
from recollect.cli.options import StoreTarget, pass_target
from recollect.cli.output import find_replacements
from recollect.errors import NotFound
from recollect.model.context import DifferenceKind, ReplayDifference
from recollect.model.format import format_count, make_printable
from recollect.model.scope import Scope
from recollect.packing.pack import Context, Replay
from recollect.ranking.result import Exact

explain_option = click.option(
    "--explain", is_flag=True, help="Show what each signal contributed, and what was left out."
)
depth_option = click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="N",
    default=200,
    show_default=True,
    help="How many of the best are considered.",
)


@click.command(cls=options.TextCommand, short_help="Print what best answers a question, ready for a prompt.")
@click.argument("query")
@options.query_options("default")
@options.tokens
@depth_option
@explain_option
@options.as_json
@pass_target
def recall(store: StoreTarget, /, query: str, explain: bool, as_json: bool, **criteria: Any) -> None:
    """Print the memories that best answer QUERY, ready for a prompt and within a budget of tokens.

    QUERY of - reads standard input. What was handed over counts as served; the id of the context, which
    `recollect feedback` takes, is told on standard error.

    \b
    recollect recall "which seat should I book?" --scope acme/ana --tokens 800
    """
    with store.open_existing() as engine:
        context = engine.recall(options.read_text(query), **criteria)
        hints = output.explain_empty_result(engine, context.ranking, as_json=as_json, **criteria)
    _print_context(context, hints, explain=explain, as_json=as_json)


@click.command(short_help="Print what to know before anyone asks.")
@options.query_options("session")
@options.tokens
@depth_option
@explain_option
@options.as_json
@pass_target
def brief(store: StoreTarget, /, explain: bool, as_json: bool, **criteria: Any) -> None:
    """Print what to know before anyone asks, ready for a prompt and within a budget of tokens.

    It is `recollect recall` without a question, for the start of a session.
    """
    with store.open_existing() as engine:
        context = engine.brief(**criteria)
        hints = output.explain_empty_result(engine, context.ranking, as_json=as_json, **criteria)
    _print_context(context, hints, explain=explain, as_json=as_json)


def _print_context(context: Context, hints: Iterable[str], *, explain: bool, as_json: bool) -> None:
    if as_json:
        output.print_answer(schemas.recall.Context.of(context))
    else:
        click.echo(context.text, nl=False)
        if explain:
            output.print_lines(["", *formatting.format_context(context, output.paint, width=output.terminal_width())])
        for line in formatting.summarize_context(context, output.terminal_width()):
            output.print_note(line)
    for hint in hints:
        output.print_note(hint)


@click.command(cls=options.TextCommand, short_help="List what best matches a question.")
@click.argument("query")
@options.query_options("default")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    default=10,
    show_default=True,
    help="Print the best so many.",
)
@options.choice(
    Exact,
    "--exact",
    metavar="MODE",
    default=Exact.REQUIRED.value,
    show_default=True,
    help="required, or preferred: an index of the scope may be asked, if there is one.",
)
@click.option("--explain", is_flag=True, help="Show what each signal contributed.")
@options.as_json
@pass_target
def search(
    store: StoreTarget, /, query: str, limit: int, exact: Exact, explain: bool, as_json: bool, **criteria: Any
) -> None:
    """Print the memories that best match QUERY, best first; none of them counts as served.

    QUERY of - reads standard input. In a pipe there is one line a memory: score, id, kind, date and text,
    between tabs.

    \b
    recollect search "window seats" --scope acme/ana --limit 3
    """
    with store.open_existing() as engine:
        ranking = engine.search(options.read_text(query), limit=limit, exact=exact, **criteria)
        hints = output.explain_empty_result(engine, ranking, as_json=as_json, **criteria)
        replacements = {} if as_json or explain else find_replacements(engine, (one.memory for one in ranking))
    if as_json:
        output.print_answer(schemas.recall.Ranking.of(ranking))
    elif explain:
        output.print_lines(formatting.format_ranking(ranking, output.paint, width=output.terminal_width()))
    else:
        output.print_table(formatting.ranking_table(ranking, replacements))
        output.print_note(formatting.tally_ranking(ranking))
    for hint in hints:
        output.print_note(hint)


@click.command(cls=options.TextCommand, short_help="Say where a memory stands or fell, and what would help.")
@click.argument("id")
@click.argument("query")
@options.query_options("default")
@options.tokens
@options.as_json
@pass_target
def why(store: StoreTarget, /, id: str, query: str, tokens: int, as_json: bool, **criteria: Any) -> None:
    """Say at which step the memory ID stands or fell when QUERY is recalled, and what would change that.

    \b
    recollect why 0193e5b2-7e1c-7000-8000-0123456789ab "which seat?" --scope acme/ana --tokens 200
    """
    with store.open_existing() as engine:
        reason = engine.why(id, options.read_text(query), tokens=tokens, **criteria)
        memory = reason.candidate.memory
        replacement = None if memory is None else engine.items.replacement(memory, scope=memory.scope)
    if as_json:
        output.print_answer(schemas.recall.Why.of(reason))
    else:
        output.print_lines(formatting.format_why(reason, output.paint, replacement))


EXIT_DIFFERS = 1
"""The exit code if a replayed context differs from the recorded one."""


@click.command(short_help="Print a recorded context again, as it was.")
@click.argument("context")
@options.scope
@explain_option
@options.as_json
@click.pass_context
@pass_target
def replay(store: StoreTarget, ctx: click.Context, context: str, scope: Scope, explain: bool, as_json: bool) -> None:
    """Make CONTEXT again from what was known when it was made, and say whether it is identical to the last bit.

    CONTEXT is the id that `recollect recall` tells. Nothing counts as served, and nothing is written. Where
    something has been erased or is another since, it is named, and the exit code is 1.
    """
    with store.open_existing() as engine:
        again = engine.contexts.replay(context, scope=scope)
    if as_json:
        output.print_answer(schemas.recall.Replay.of(again))
    else:
        click.echo(again.context.text, nl=False)
        if explain:
            gap = [""] if again.context.text else []
            explanation = formatting.format_context(again.context, output.paint, width=output.terminal_width())
            output.print_lines([*gap, *explanation, *list_differences(again)])
        for line in formatting.summarize_context(again.context, output.terminal_width()):
            output.print_note(line)
    for line in describe_replay(again):
        output.print_note(line)
    if not again.identical:
        ctx.exit(EXIT_DIFFERS)


IDENTICAL_MESSAGE = "identical to the recorded context, bit for bit"


def describe_replay(replay: Replay) -> Iterator[str]:
    """Yield whether a replay is identical, or else how much differs and why."""
    if replay.identical:
        yield IDENTICAL_MESSAGE
        return
    effects = Counter(difference.what for difference in replay.differences if difference.what.is_effect)
    counts = ", ".join(_count_places(what, effects[what]) for what in DifferenceKind if what in effects)
    yield f"not identical: {counts}"
    causes = [difference for difference in replay.differences if not difference.what.is_effect]
    yield from (f"because {_describe_cause(difference)}" for difference in causes)
    if not causes:
        yield "the recorded context does not show why"


def list_differences(replay: Replay) -> Iterator[str]:
    """Yield every part of the context that differs from the recorded one."""
    causes = {difference.what for difference in replay.differences}
    for difference in replay.differences:
        if difference.what is DifferenceKind.TEXT:
            yield f"text: {_describe_text_change(difference, causes)}"
        elif difference.what.is_effect:
            name = "" if difference.name is None else f" {make_printable(difference.name)}"
            was, now = difference.was or "missing", difference.again or "missing"
            yield f"{difference.what.value}{name}: was {was}, is {now}"


def _describe_text_change(difference: ReplayDifference, causes: Collection[DifferenceKind]) -> str:
    """Describe how the text differs without showing its hashes, which mean nothing to people."""
    if difference.was is not None:
        return "changed"
    if DifferenceKind.NOT_RECORDED in causes:
        return "the recorded text was not stored"
    return "the recorded text is unknown because part of it was erased"


def _count_places(what: DifferenceKind, count: int) -> str:
    match what:
        case DifferenceKind.PACKED | DifferenceKind.OMITTED | DifferenceKind.EXCLUDED:
            return f"{what.value} in {format_count(count, 'place')}"
        case _:
            return f"the {what.value}"


def _describe_cause(difference: ReplayDifference) -> str:
    was, now = make_printable(difference.was or ""), make_printable(difference.again or "")
    return {
        DifferenceKind.ELSEWHERE: (
            "it was recorded in another store, whose commits are unknown here; the replay used the present memories"
        ),
        DifferenceKind.NOT_RECORDED: (
            "an older version recorded it without the whole budget and the checksum of the text"
        ),
        DifferenceKind.ERASED: (
            f"only {now} of the {was} memories that were visible still exist; the others were erased"
        ),
        DifferenceKind.MISSING: f"the memory {make_printable(difference.name or '')} does not exist here",
        DifferenceKind.FORMULA: (
            f"this version computes the profile {make_printable(difference.name or '')} differently"
        ),
        DifferenceKind.ENCODER: f"the model is now {now}, and was {was}",
        DifferenceKind.QUESTION: "the vectors of the question are different now",
        DifferenceKind.RESTORED_VECTORS: f"the vectors of {now} memories had left their index and were embedded again",
        DifferenceKind.VECTOR_COUNT: f"{now} memories have vectors now, and {was} had",
        DifferenceKind.ANALYZER: f"the tokenizer is now version {now}, and was version {was}",
        DifferenceKind.NAMING: f"the name finder is now version {now}, and was version {was}",
        DifferenceKind.COUNTER: f"the token counter is now {now}, and was {was}",
    }[difference.what]


REPEAT_REMEDY = "repeat --helped or --misled for each memory"
"""The hint for a user who gives one option several ids."""


class FeedbackCommand(options.TextCommand):
    """A command that takes ids by options, and tells the user to repeat an option for more ids."""

    def extra_words_remedy(self, ctx: click.Context) -> str:
        return REPEAT_REMEDY


@click.command(cls=FeedbackCommand, short_help="Say which memories helped and which misled.")
@click.argument("context")
@options.scope
@click.option("--helped", metavar="ID", multiple=True, help="A memory that helped; may be repeated.")
@click.option("--misled", metavar="ID", multiple=True, help="A memory that misled; may be repeated.")
@click.option(
    "--answer", metavar="TEXT", help="What was answered from it, or - for standard input: what it quotes is noted."
)
@click.option("--by", metavar="NAME", help="Who says so; the scope if not given. Saying it again replaces it.")
@options.as_json
@pass_target
def feedback(
    store: StoreTarget,
    context: str,
    scope: Scope,
    helped: tuple[str, ...],
    misled: tuple[str, ...],
    answer: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """Say which memories of CONTEXT helped and which misled; it moves their usefulness, and only that.

    CONTEXT is the id that `recollect recall` tells. With an answer, prints the ids of those that it quotes, which is
    noted as weaker evidence; the answer is not kept.
    """
    if not helped and not misled and answer is None:
        raise click.UsageError("Name what helped or misled with --helped ID or --misled ID, or give the --answer TEXT.")
    answer_text = None if answer is None else options.read_text(answer)
    with store.open_existing() as engine:
        try:
            noted = engine.feedback(context, scope=scope, helped=helped, misled=misled, by=by, answer=answer_text)
        except NotFound as error:
            if not any("," in one for one in (*helped, *misled)):
                raise
            raise NotFound(f"{error}; {REPEAT_REMEDY}") from error
    if as_json:
        votes = {"helped": helped, "misled": misled}
        output.print_answer(schemas.recall.Noted.of(noted, context=context, scope=scope, **votes))
    else:
        output.print_lines(noted.quoted)
    quoted = "" if answer is None else f", {len(noted.quoted)} quoted"
    output.print_note(f"{len(helped)} helped, {len(misled)} misled{quoted}")
    if noted.remark is not None:
        output.print_note(f"the answer was not recorded: {noted.remark}")

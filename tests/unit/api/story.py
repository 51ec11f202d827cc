"""A small story in which every operation is asked for once, each with what those before it gave."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from recollect.api.operation import JsonAnswer
from recollect.engine.engine import Engine

SCOPE = "acme/ana"
TOLD = ("Ana prefers window seats", "Ana lives in Rome", "The office in Rome closes at six", "Bo drives to Rome")
Ask = Callable[[str, Mapping[str, Any]], JsonAnswer]


def told(ask: Ask, engine: Engine) -> Iterator[tuple[str, JsonAnswer]]:
    """Every operation by its name, with what it answered."""

    def asking(name: str, **given: Any) -> Any:
        answer = ask(name, {"scope": SCOPE, **given})
        answers.append((name, answer))
        return answer

    answers: list[tuple[str, JsonAnswer]] = []
    seat = asking("remember", text=TOLD[0], tags=["travel"], at="2026-01-02T09:00:00Z", key="seat")["id"]
    asking("remember", text="Ana lives in Lisbon", metadata={"from": "chat"}, evidence=["I moved"])
    asking("remember_all", drafts=[{"text": text} for text in TOLD])
    revised = asking("revise", id=seat, text="Ana prefers aisle seats", title="Seats")["memory"]["commit"]
    asking("undo", run=revised)
    asking("forget", id=seat)
    asking("restore", id=seat)
    asking("pin", id=seat)
    asking("unpin", id=seat)
    asking("get_memory", id=seat)
    asking("get_history", id=seat)
    asking("list_memories", limit=1)
    asking("search", query="which seat?")
    context = asking("recall", turns=[{"content": "which seat?"}], tokens=200)
    helped = context["packed"][0]["id"]
    asking("brief")
    asking("why", id=seat, query="which seat?")
    asking("feedback", context_id=context["id"], helped=[helped], by="ana", answer="An aisle seat in Rome")
    asking("replay", context_id=context["id"])
    events = [{"content": f"we talked about {what}", "at": "2026-01-02T09:00:00Z"} for what in ("Rome", "tea")]
    asking("observe", events=events)
    asking(
        "extract", turns=[{"content": "I live in Oslo, and I prefer tea over coffee.", "at": "2026-01-03T09:00:00Z"}]
    )
    engine.timeline.rollup(scope=SCOPE)
    asking("browse")
    day = asking("browse", key="2026-01-02")
    asking("expand", id=day["parts"][0]["key"], around=1)
    asking("list_entities")
    asking("get_neighbours", name_or_id="Rome")
    asking("list_topics")
    episode = asking("start_episode", task="book a seat for Ana", plan=["ask", "book"])["id"]
    asking("record_action", id=episode, type="search", input={"seat": "aisle"}, output="found", context=context["id"])
    asking("complete_episode", id=episode, outcome=0.4, lessons=["Ask for the seat"], failure_modes=["It was full"])
    asking("get_similar_episodes", task="book a seat for Bo")
    asking("get_failure_modes", task="book a seat for Bo")
    asking("list_episodes")
    asking("get_episode", id=episode)
    asking("stats")
    asking("list_scopes")
    answers.append(("list_profiles", ask("list_profiles", {})))
    asking("run_job", job="consolidate", dry_run=False)
    asking("prune_vector_index")
    answers += _observed(ask)
    asking("erase", id=seat)
    asking("erase", id=seat, dry_run=False)
    yield from answers


def _observed(ask: Ask) -> Iterator[tuple[str, JsonAnswer]]:
    """The eight methods of seed 003."""

    def asking(name: str, **given: Any) -> tuple[str, JsonAnswer]:
        return name, ask(name, {"user_id": SCOPE, **given})

    yield asking("mem_session_start")
    yield (saved := asking("mem_save", content="Ana reads on the train", type="pattern", title="Reading"))
    yield asking("mem_search", query="train", types=["pattern"])
    yield asking("mem_get_observation", observation_id=saved[1]["id"])
    yield asking("mem_timeline", observation_id=saved[1]["id"], before=1)
    yield asking("mem_session_summary", summary="We talked about trains")
    yield asking("mem_stats")
    yield asking("mem_session_end", summary="We talked about trains and seats")
    yield asking("mem_session_start")

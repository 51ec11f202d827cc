"""A LangGraph graph whose memory outlives its threads: what one conversation taught, the next one knows, and says why.

Its nodes are plain functions, so it needs no model and no key; the extra `langgraph` has to be installed. Run from the
root of a clone, with `source .venv/bin/activate`: `python examples/langgraph_store.py`.
"""

from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

import recollect
from recollect.integrations.langgraph import RecollectStore

ROOT = "acme/concierge"
GUEST = ("guests", "ana")

THREADS = {
    "monday": [
        "seat: Ana prefers a window seat",
        "food: Ana cannot eat peanuts",
        "seat: Ana prefers an aisle seat now",
    ],
    "friday": ["Which seat should I book for Ana?", "What can Ana eat on the flight?"],
}


class Turn(TypedDict):
    """What was said, and what was answered."""

    said: str
    answer: str


def concierge(state: Turn, runtime: Runtime[None]) -> dict[str, Any]:
    """Note what is told as `key: text`, and answer what is asked from what was noted in any thread."""
    store = runtime.store
    assert store is not None
    key, told, text = state["said"].partition(": ")
    if told:
        store.put(GUEST, key, {"text": text})
        return {"answer": f"noted under {key!r}"}
    best = store.search(GUEST, query=state["said"], limit=1)
    return {"answer": f"{best[0].value['text']} ({best[0].key})" if best else "I do not know"}


def main() -> None:
    """Two threads of one graph, which share nothing but the store."""
    scope = f"{ROOT}/{'/'.join(GUEST)}"
    with recollect.open(":memory:") as memory:
        builder = StateGraph(Turn)
        builder.add_node("concierge", concierge)
        builder.add_edge(START, "concierge")
        builder.add_edge("concierge", END)
        graph = builder.compile(store=RecollectStore(memory, ROOT), checkpointer=InMemorySaver())

        for thread, said in THREADS.items():
            print(f"thread {thread}")
            for one in said:
                done = graph.invoke({"said": one, "answer": ""}, {"configurable": {"thread_id": thread}})
                print(f"  {one}\n    -> {done['answer']}")
                if one.endswith("?"):
                    best = memory.search(one, scope=scope, limit=1)[0]
                    print("\n".join(f"       {line}" for line in str(best.explanation).splitlines()))

        seat = memory.items.get("langgraph:seat", scope=scope)
        assert seat is not None
        print(f"what {scope} said of the seat: {[one.text for one in memory.history(seat.id, scope=scope)]}")


if __name__ == "__main__":
    main()

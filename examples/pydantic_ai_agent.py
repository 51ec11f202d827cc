"""A Pydantic-AI agent that remembers, recalls, and can say why: the tools of its memory are a toolset.

The model is a function that decides by rules which tool to call, so it needs no key; the extra `pydantic-ai` has to be
installed. Run from the root of a clone, with `source .venv/bin/activate`: `python examples/pydantic_ai_agent.py`.
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import recollect
from recollect.integrations.pydantic_ai import Found, MemoryToolset, Reason, Written

SCOPE = "acme/ana"
SAID = (
    "I prefer window seats",
    "My badge PIN is 4711, and the badge is blue",
    "I eat no peanuts",
    "Which seat should you book?",
)


def decide(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Remember what is told; for what is asked, find the best memory, ask why it is that one, and answer with both."""
    parts = [part for message in messages for part in message.parts]
    (said,) = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    came = [part.content for part in parts if isinstance(part, ToolReturnPart)]
    match came:
        case [] if said.endswith("?"):
            return ModelResponse([ToolCallPart("search", {"query": said, "limit": 1})])
        case []:
            return ModelResponse([ToolCallPart("remember", {"text": said})])
        case [Written(verdict=verdict, redacted=redacted)]:
            without = f", without its {' and '.join(redacted)}" if redacted else ""
            return ModelResponse([TextPart(f"{verdict}{without}")])
        case [Found(memories=(best, *_))]:
            return ModelResponse([ToolCallPart("why", {"id": best.id, "question": said})])
        case [Found(memories=(best, *_)), Reason(step=step, score=score)]:
            return ModelResponse([TextPart(f"you said: {best.text!r} ({step}, with {score:.2f})")])
        case _:
            return ModelResponse([TextPart("I do not know")])


def main() -> None:
    """Runs of an agent that share nothing but the scope of its memory."""
    with recollect.open(":memory:") as memory:
        agent = Agent(FunctionModel(decide), toolsets=[MemoryToolset(memory, SCOPE, provenance="direct_user")])
        for said in SAID:
            print(f"{said}\n    -> {agent.run_sync(said).output}")
        print(f"what is known of {SCOPE}: {[one.text for one in memory.memories(scope=SCOPE)]}")


if __name__ == "__main__":
    main()

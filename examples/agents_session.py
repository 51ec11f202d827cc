"""An agent of the OpenAI Agents SDK whose sessions are kept, and can be recalled from: what it heard on Monday it knows
on Friday.

The model is a class of a few lines that answers from what it is given, so it needs no key; the extra `openai-agents`
has to be installed. Run from the root of a clone, with `source .venv/bin/activate`:
`python examples/agents_session.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from openai.types.responses.response_stream_event import ResponseStreamEvent

import recollect
from recollect.dialects.openai_agents import RecollectSession

ROOT = "acme/support"
WITHOUT_TRACING = RunConfig(tracing_disabled=True)


class Listener(Model):
    """Says how many turns it was given beside the present one."""

    async def get_response(self, system_instructions: Any, input: Any, *given: Any, **named: Any) -> ModelResponse:
        answer = f"I see {len(input) - 1} turns before this one"
        text = ResponseOutputText(type="output_text", text=answer, annotations=[])
        message = ResponseOutputMessage(
            id=f"msg_{len(input)}", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[ResponseStreamEvent]:
        raise NotImplementedError("this model gives its answer at once")


async def talk(session: RecollectSession, *said: str) -> None:
    """One run of the agent for each thing that is said, all in one session."""
    agent = Agent(name="listener", model=Listener())
    print(f"session {session.session_id}")
    for one in said:
        result = await Runner.run(agent, one, session=session, run_config=WITHOUT_TRACING)
        print(f"  {one}\n    -> {result.final_output}")


async def main() -> None:
    """Two sessions, of which the second is corrected, and a question to what was said in the first."""
    with recollect.open(":memory:") as memory:
        monday = RecollectSession("monday", memory, ROOT)
        friday = RecollectSession("friday", memory, ROOT)
        await talk(monday, "My router is a Fritzbox 7590", "It restarts every night")
        await talk(friday, "Which ruoter do I have?")

        await friday.pop_item()
        await friday.pop_item()
        print(f"after both turns were taken back, friday has {len(await friday.get_items())} items")

        best = memory.search("which router is it?", scope=f"{ROOT}/monday", limit=1)[0]
        print(f"monday knows: {best.memory.text}")


if __name__ == "__main__":
    asyncio.run(main())

"""An agent of the OpenAI Agents SDK whose sessions are kept, and searched: what it heard on Monday it knows on Friday.

A session gives an agent what was said in it. What was said in all others is searched when a session begins, and the
agent has the best of it in its instructions.

The model is a class of a few lines that answers from what it is given, so it needs no key; the extra `openai-agents`
has to be installed. Run from the root of a clone, with `source .venv/bin/activate`:
`python examples/agents_session.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from secrets import token_hex
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
from openai.types.responses.response_stream_event import ResponseStreamEvent

import recollect
from recollect.integrations.openai_agents import RecollectSession

ROOT = "acme/support"
WITHOUT_TRACING = RunConfig(tracing_disabled=True)


class Listener(Model):
    """Says how many turns it was given beside the present one, and what it knows from its instructions."""

    async def get_response(self, system_instructions: Any, input: Any, *given: Any, **named: Any) -> ModelResponse:
        known = [line for line in system_instructions.splitlines()[1:] if not line.startswith("<")]
        answer = f"I see {len(input) - 1} turns before this one, and know: {known[0] if known else 'nothing'}"
        text = ResponseOutputText(type="output_text", text=answer, annotations=[])
        message = ResponseOutputMessage(
            id=f"msg_{len(input)}", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> AsyncIterator[ResponseStreamEvent]:
        raise NotImplementedError("this model gives its answer at once")


def known(memory: recollect.Engine, said: str) -> str:
    """What was said in any session that helps with this, fenced off for a model; nothing if nothing does."""
    found = memory.search(said, scope=ROOT, below=True, limit=1)
    return recollect.pack(found, recollect.Budget(300), recollect.Prompt(token_hex(16))).text


async def talk(memory: recollect.Engine, session: RecollectSession, *said: str) -> None:
    """One run of the agent for each thing that is said, all in one session, with what is known when it begins."""
    agent = Agent(name="listener", model=Listener(), instructions=known(memory, said[0]))
    print(f"session {session.session_id}")
    for one in said:
        result = await Runner.run(agent, one, session=session, run_config=WITHOUT_TRACING)
        print(f"  {one}\n    -> {result.final_output}")


async def main() -> None:
    """Two sessions: the second begins with a question that is misspelt, taken back and asked again."""
    with recollect.open(":memory:") as memory:
        monday = RecollectSession("monday", memory, ROOT)
        friday = RecollectSession("friday", memory, ROOT)
        await talk(memory, monday, "My router is a Fritzbox 7590", "It restarts every night")
        await talk(memory, friday, "Which ruoter is it?")

        print("the question was misspelt, so it and its answer are taken back, and it is asked again")
        await friday.pop_item()
        await friday.pop_item()
        await talk(memory, friday, "Which router is it?")


if __name__ == "__main__":
    asyncio.run(main())

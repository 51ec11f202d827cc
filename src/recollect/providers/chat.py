"""Chat: a model behind an address that speaks OpenAI's `/v1/chat/completions`, asked for JSON of a shape."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from recollect.errors import InvalidInput, ProviderError, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.llm_usage import LlmUsage
from recollect.providers.http_client import DEFAULT_RETRY_POLICY, Endpoint, ErrorResponse, RetryPolicy, complete_url

T = TypeVar("T")

MODEL_NAME_PREFIX = "llm:"
"""What the name of who asks such a model begins with: the model is the server's, the address may change."""

COMPLETIONS_PATH = "/chat/completions"
COMPLETION_TIMEOUT = timedelta(seconds=60)
"""How long one attempt may take: such a model writes for a while before it answers."""

MAX_ANSWER_TOKENS = 4096
"""How many tokens a model may write for one answer, unless it is said."""

MAX_ATTEMPTS = 2
"""How often one question is asked: an answer that cannot be read is complained of, once."""

MAX_ANSWER_CHARS = 2**18
"""How many characters of an answer are read."""

MAX_OVERHEAD_TOKENS = 4096
"""How many tokens a server may add to what it is sent, such as its template and the shape of the answer."""

MAX_COMPLETION_TOKENS = 2**20
"""More tokens than any model writes for one answer, those it thinks with among them."""

UNSUPPORTED_PARAMETER_STATUSES = {400, 422}
"""The statuses with which servers say that they do not take a parameter."""

PARAMETER_FALLBACKS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("json_schema", "response_format", "structured output"), ("json_object", "response_format"), ()),
    (("max_tokens",), ("max_completion_tokens",), ()),
    (("temperature",), ()),
)
"""What not every server takes, and what it is sent instead once it says so; with the words it may say that in."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is told to do, what with, and the JSON schema of the answer, which has a name."""

    instructions: str
    data: str
    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """What is wrong with an answer: `problem` in our words, told to the model, and the server's own words."""

    problem: str
    server_message: str = ""


@dataclass(frozen=True, slots=True)
class _ParameterChoice:
    """How a server takes its questions: on which rung of each ladder it stands."""

    fallbacks: tuple[int, ...] = (0,) * len(PARAMETER_FALLBACKS)

    @property
    def format(self) -> str | None:
        """The type of the format that is asked for; none if the model is only told in words."""
        return next(iter(PARAMETER_FALLBACKS[0][self.fallbacks[0]]), None)

    def build_parameters(self, question: ChatRequest, longest: int) -> dict[str, Any]:
        """The parameters of the rungs."""
        _, limit, temperature = (ladder[rung] for ladder, rung in zip(PARAMETER_FALLBACKS, self.fallbacks, strict=True))
        shape = {"name": question.name, "strict": True, "schema": question.schema}
        formats: dict[str | None, dict[str, Any]] = {
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": shape}},
            "json_object": {"response_format": {"type": "json_object"}},
            None: {},
        }
        return formats[self.format] | dict.fromkeys(limit, longest) | dict.fromkeys(temperature, 0)

    def step_down(self, refusal: ErrorResponse) -> "_ParameterChoice | None":
        """The manner one rung down, where the refusal names what it is about; none if it is about something else."""
        told = (
            refusal.body.decode("utf-8", "replace").casefold()
            if refusal.status in UNSUPPORTED_PARAMETER_STATUSES
            else ""
        )
        for place, (ladder, rung) in enumerate(zip(PARAMETER_FALLBACKS, self.fallbacks, strict=True)):
            if any(word in told for word in ladder[rung]):
                return _ParameterChoice((*self.fallbacks[:place], rung + 1, *self.fallbacks[place + 1 :]))
        return None


class ChatClient:
    """Asks a model, and gives back only what could be read.

    `url` is what comes before `/chat/completions`, such as `https://host/v1`, or the whole address. Which of the
    optional parameters the server refuses is remembered for the next question.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        timeout: timedelta = COMPLETION_TIMEOUT,
        patience: RetryPolicy = DEFAULT_RETRY_POLICY,
        longest: int = MAX_ANSWER_TOKENS,
    ) -> None:
        if type(longest) is not int or not 1 <= longest <= MAX_COMPLETION_TOKENS:
            raise InvalidInput(
                f"longest is {show(longest)}; give a whole number of tokens within 1..{MAX_COMPLETION_TOKENS}"
            )
        self.model = validation.require_id("model", model)
        self._endpoint = Endpoint(complete_url(url, COMPLETIONS_PATH), key=key, timeout=timeout, patience=patience)
        self._longest = longest
        self._manner = _ParameterChoice()
        self._lock = ForkSafeLock()
        self._spent = LlmUsage()

    def __str__(self) -> str:
        return f"{self.model} at {self._endpoint}"

    def __repr__(self) -> str:
        return f"ChatClient({str(self._endpoint)!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """What somebody is called who has it answer."""
        return validation.require_id("model", f"{MODEL_NAME_PREFIX}{self.model}")

    @property
    def total_usage(self) -> LlmUsage:
        """All that was answered until now, whoever asked, and whether or not it could be read."""
        return self._spent

    def ask(self, question: ChatRequest, read: Callable[[Any], T | BadAnswer]) -> tuple[T, LlmUsage]:
        """What `read` makes of the model's JSON; asked once more with what was wrong, and then it is an error."""
        tally = LlmUsage()
        wrong: BadAnswer | None = None
        for _ in range(MAX_ATTEMPTS):
            body, refused, most = self._request_answer(question, wrong)
            answer = _parse_json(body)
            tally += self._add_usage(LlmUsage(calls=refused) + _read_usage(answer, most))
            found = self._read_message(answer, body)
            if not isinstance(found, BadAnswer):
                found = read(found)
            if not isinstance(found, BadAnswer):
                return found, tally
            wrong = found
        told = f"{wrong.problem}{wrong.server_message}" if wrong else "nothing"
        raise ProviderError(f"{self} gave {told}; asked {tally.calls} times, try another model")

    def _add_usage(self, tally: LlmUsage) -> LlmUsage:
        """The same, which is now among what was spent."""
        with self._lock.rlock:
            self._spent += tally
        return tally

    def _request_answer(self, question: ChatRequest, wrong: BadAnswer | None) -> tuple[bytes, int, int]:
        """The server's answer, how often it refused before, and how many tokens it can have read."""
        refused, manner = 0, self._manner
        while True:
            messages = _build_messages(question, wrong, manner)
            asked = {"model": self.model, "messages": messages, "stream": False}
            try:
                outcome = self._endpoint.ask(asked | manner.build_parameters(question, self._longest))
            except ProviderError as error:
                raise type(error)(f"{self.model}: {error}") from error.__cause__
            if not isinstance(outcome, ErrorResponse):
                return outcome, refused, sum(len(one["content"].encode()) for one in messages) + MAX_OVERHEAD_TOKENS
            lower = manner.step_down(outcome)
            if lower is None:
                raise ProviderError(f"{self.model}: {outcome.problem}")
            refused, manner = refused + 1, lower
            self._manner = manner  # another thread may have gone further down, and that is then learnt again

    def _read_message(self, answer: Any, body: bytes) -> Any:
        """The JSON in the model's message, or what is wrong with it."""
        match answer:
            case BadAnswer():
                return answer
            case {"error": told} if told:
                return BadAnswer("an error instead of an answer", self._endpoint.describe_error(body))
            case {"choices": []}:
                return BadAnswer("no choices")
            case {"choices": [{"message": dict()} as choice, *_]}:
                return _read_choice(choice)
            case _:
                return BadAnswer("no 'choices' with a 'message'")


def _build_messages(question: ChatRequest, wrong: BadAnswer | None, manner: _ParameterChoice) -> list[dict[str, str]]:
    """What the model is told: two messages, whatever happened before, for some servers take no others."""
    instructions, data = question.instructions, question.data
    if wrong or manner.format != "json_schema":
        instructions += f"\nThe JSON schema of your answer: {json.dumps(question.schema)}\n"
    if wrong:
        data += (
            f"\nYour last answer to this was {wrong.problem}. Answer again, with the JSON object and nothing else: "
            "no prose, no Markdown, every field as the schema has it, and shorter if it was cut off.\n"
        )
    return [{"role": "system", "content": instructions}, {"role": "user", "content": data}]


def _read_choice(choice: Any) -> Any:
    """The JSON that the message of a choice is, or what is wrong with it."""
    match choice:
        case {"finish_reason": "length"}:
            return BadAnswer("an answer that was cut off at its limit")
        case {"finish_reason": "content_filter"}:
            return BadAnswer("an answer that a filter stopped")
        case {"message": {"refusal": told}} if told:
            return BadAnswer("a refusal")
        case {"message": {"content": str(text)}} if len(text) > MAX_ANSWER_CHARS:
            return BadAnswer(f"an answer of more than {MAX_ANSWER_CHARS} characters")
        case {"message": {"content": str(text)}} if text.strip():
            return _parse_json(text)
        case _:
            return BadAnswer("a message without a text")


def _parse_json(text: str | bytes) -> Any:
    """The JSON, in which every number is one."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return BadAnswer("something that is not JSON, or not JSON alone")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _read_usage(answer: Any, most: int) -> LlmUsage:
    """The tokens that an answer tells; what it does not tell, or nobody could believe, counts as none."""
    match answer:
        case {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}:
            read, written = _read_token_count(prompt, most), _read_token_count(completion, MAX_COMPLETION_TOKENS)
        case _:
            read = written = None
    return LlmUsage(
        calls=1, prompt_tokens=read or 0, completion_tokens=written or 0, uncounted=int(read is None or written is None)
    )


def _read_token_count(told: object, most: int) -> int | None:
    """The count; none if it is none that can be."""
    return told if type(told) is int and 0 <= told <= most else None

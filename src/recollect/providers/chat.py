"""Chat: a model behind an address that speaks OpenAI's `/v1/chat/completions`, asked for JSON of a shape."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from recollect.errors import InvalidInput, ProviderError, show
from recollect.fork_safety import Lock
from recollect.model import validation
from recollect.model.llm_usage import Tally
from recollect.providers.http_client import PATIENCE, Endpoint, Patience, Refusal, whole_address

T = TypeVar("T")

PREFIX = "llm:"
"""What the name of who asks such a model begins with: the model is the server's, the address may change."""

PATH = "/chat/completions"
TIMEOUT = timedelta(seconds=60)
"""How long one attempt may take: such a model writes for a while before it answers."""

LONGEST = 4096
"""How many tokens a model may write for one answer, unless it is said."""

ASKED = 2
"""How often one question is asked: an answer that cannot be read is complained of, once."""

LONGEST_ANSWER = 2**18
"""How many characters of an answer are read."""

FRAME = 4096
"""How many tokens a server may add to what it is sent, such as its template and the shape of the answer."""

MOST_WRITTEN = 2**20
"""More tokens than any model writes for one answer, those it thinks with among them."""

UNFIT = {400, 422}
"""The statuses with which servers say that they do not take a parameter."""

RUNGS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("json_schema", "response_format", "structured output"), ("json_object", "response_format"), ()),
    (("max_tokens",), ("max_completion_tokens",), ()),
    (("temperature",), ()),
)
"""What not every server takes, and what it is sent instead once it says so; with the words it may say that in."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is told to do, what with, and the JSON schema of the answer, which has a name."""

    instructions: str
    data: str
    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with an answer, in our words alone, for the model is told them; `words` are the server's own."""

    what: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a server takes its questions: on which rung of each ladder it stands."""

    rungs: tuple[int, ...] = (0,) * len(RUNGS)

    @property
    def format(self) -> str | None:
        """The type of the format that is asked for; none if the model is only told in words."""
        return next(iter(RUNGS[0][self.rungs[0]]), None)

    def parameters(self, question: Question, longest: int) -> dict[str, Any]:
        """The parameters of the rungs."""
        _, limit, temperature = (ladder[rung] for ladder, rung in zip(RUNGS, self.rungs, strict=True))
        shape = {"name": question.name, "strict": True, "schema": question.schema}
        formats: dict[str | None, dict[str, Any]] = {
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": shape}},
            "json_object": {"response_format": {"type": "json_object"}},
            None: {},
        }
        return formats[self.format] | dict.fromkeys(limit, longest) | dict.fromkeys(temperature, 0)

    def after(self, refusal: Refusal) -> "_Manner | None":
        """The manner one rung down, where the refusal names what it is about; none if it is about something else."""
        told = refusal.body.decode("utf-8", "replace").casefold() if refusal.status in UNFIT else ""
        for place, (ladder, rung) in enumerate(zip(RUNGS, self.rungs, strict=True)):
            if any(word in told for word in ladder[rung]):
                return _Manner((*self.rungs[:place], rung + 1, *self.rungs[place + 1 :]))
        return None


class Chat:
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
        timeout: timedelta = TIMEOUT,
        patience: Patience = PATIENCE,
        longest: int = LONGEST,
    ) -> None:
        if type(longest) is not int or not 1 <= longest <= MOST_WRITTEN:
            raise InvalidInput(f"longest is {show(longest)}; give a whole number of tokens within 1..{MOST_WRITTEN}")
        self.model = validation.an_id("model", model)
        self._endpoint = Endpoint(whole_address(url, PATH), key=key, timeout=timeout, patience=patience)
        self._longest = longest
        self._manner = _Manner()
        self._lock = Lock()
        self._spent = Tally()

    def __str__(self) -> str:
        return f"{self.model} at {self._endpoint}"

    def __repr__(self) -> str:
        return f"Chat({str(self._endpoint)!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """What somebody is called who has it answer."""
        return validation.an_id("model", f"{PREFIX}{self.model}")

    @property
    def spent(self) -> Tally:
        """All that was answered until now, whoever asked, and whether or not it could be read."""
        return self._spent

    def ask(self, question: Question, read: Callable[[Any], T | Wrong]) -> tuple[T, Tally]:
        """What `read` makes of the model's JSON; asked once more with what was wrong, and then it is an error."""
        tally = Tally()
        wrong: Wrong | None = None
        for _ in range(ASKED):
            body, refused, most = self._answered(question, wrong)
            answer = _parsed(body)
            tally += self._counted(Tally(calls=refused) + _tokens(answer, most))
            found = self._found(answer, body)
            if not isinstance(found, Wrong):
                found = read(found)
            if not isinstance(found, Wrong):
                return found, tally
            wrong = found
        told = f"{wrong.what}{wrong.words}" if wrong else "nothing"
        raise ProviderError(f"{self} gave {told}; asked {tally.calls} times, try another model")

    def _counted(self, tally: Tally) -> Tally:
        """The same, which is now among what was spent."""
        with self._lock.here:
            self._spent += tally
        return tally

    def _answered(self, question: Question, wrong: Wrong | None) -> tuple[bytes, int, int]:
        """The server's answer, how often it refused before, and how many tokens it can have read."""
        refused, manner = 0, self._manner
        while True:
            messages = _messages(question, wrong, manner)
            asked = {"model": self.model, "messages": messages, "stream": False}
            try:
                outcome = self._endpoint.ask(asked | manner.parameters(question, self._longest))
            except ProviderError as error:
                raise type(error)(f"{self.model}: {error}") from error.__cause__
            if not isinstance(outcome, Refusal):
                return outcome, refused, sum(len(one["content"].encode()) for one in messages) + FRAME
            lower = manner.after(outcome)
            if lower is None:
                raise ProviderError(f"{self.model}: {outcome.problem}")
            refused, manner = refused + 1, lower
            self._manner = manner  # another thread may have gone further down, and that is then learnt again

    def _found(self, answer: Any, body: bytes) -> Any:
        """The JSON in the model's message, or what is wrong with it."""
        match answer:
            case Wrong():
                return answer
            case {"error": told} if told:
                return Wrong("an error instead of an answer", self._endpoint.words(body))
            case {"choices": []}:
                return Wrong("no choices")
            case {"choices": [{"message": dict()} as choice, *_]}:
                return _unwrapped(choice)
            case _:
                return Wrong("no 'choices' with a 'message'")


def _messages(question: Question, wrong: Wrong | None, manner: _Manner) -> list[dict[str, str]]:
    """What the model is told: two messages, whatever happened before, for some servers take no others."""
    instructions, data = question.instructions, question.data
    if wrong or manner.format != "json_schema":
        instructions += f"\nThe JSON schema of your answer: {json.dumps(question.schema)}\n"
    if wrong:
        data += (
            f"\nYour last answer to this was {wrong.what}. Answer again, with the JSON object and nothing else: "
            "no prose, no Markdown, every field as the schema has it, and shorter if it was cut off.\n"
        )
    return [{"role": "system", "content": instructions}, {"role": "user", "content": data}]


def _unwrapped(choice: Any) -> Any:
    """The JSON that the message of a choice is, or what is wrong with it."""
    match choice:
        case {"finish_reason": "length"}:
            return Wrong("an answer that was cut off at its limit")
        case {"finish_reason": "content_filter"}:
            return Wrong("an answer that a filter stopped")
        case {"message": {"refusal": told}} if told:
            return Wrong("a refusal")
        case {"message": {"content": str(text)}} if len(text) > LONGEST_ANSWER:
            return Wrong(f"an answer of more than {LONGEST_ANSWER} characters")
        case {"message": {"content": str(text)}} if text.strip():
            return _parsed(text)
        case _:
            return Wrong("a message without a text")


def _parsed(text: str | bytes) -> Any:
    """The JSON, in which every number is one."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return Wrong("something that is not JSON, or not JSON alone")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number in JSON")


def _tokens(answer: Any, most: int) -> Tally:
    """The tokens that an answer tells; what it does not tell, or nobody could believe, counts as none."""
    match answer:
        case {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}:
            read, written = _count(prompt, most), _count(completion, MOST_WRITTEN)
        case _:
            read = written = None
    return Tally(
        calls=1, prompt_tokens=read or 0, completion_tokens=written or 0, uncounted=int(read is None or written is None)
    )


def _count(told: object, most: int) -> int | None:
    """The count; none if it is none that can be."""
    return told if type(told) is int and 0 <= told <= most else None

"""A chat client for OpenAI's `/v1/chat/completions` that requests JSON of a schema.

The second half splits the texts that a model reads into windows: a few pages at a time, as escaped JSON lines within
unguessable tags.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from recollect.errors import FieldError, InvalidInput, ProviderError, show
from recollect.fork_safety import ForkSafeLock
from recollect.model import validation
from recollect.model.conversation import LlmUsage
from recollect.providers.http_client import DEFAULT_RETRY_POLICY, Endpoint, ErrorResponse, RetryPolicy, complete_url

T = TypeVar("T")

MODEL_NAME_PREFIX = "llm:"
"""The prefix of recorded model names, which do not contain the address: it may change."""

COMPLETIONS_PATH = "/chat/completions"
COMPLETION_TIMEOUT = timedelta(seconds=60)
"""The time limit of one attempt; a chat model writes for a while before it answers."""

MAX_ANSWER_TOKENS = 4096
"""The default limit of tokens for one answer."""

MAX_ATTEMPTS = 2
"""How often one request is sent: after an unreadable answer it is repeated once."""

MAX_ANSWER_CHARS = 2**18
"""Limit of an answer in characters."""

MAX_OVERHEAD_TOKENS = 4096
"""How many tokens a server may add to a request, such as its template and the schema."""

MAX_COMPLETION_TOKENS = 2**20
"""Upper bound of the tokens of one answer, including reasoning, for any model."""

UNSUPPORTED_PARAMETER_STATUSES = {400, 422}
"""The statuses with which servers refuse a parameter."""

PARAMETER_FALLBACKS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("json_schema", "response_format", "structured output"), ("json_object", "response_format"), ()),
    (("max_tokens",), ("max_completion_tokens",), ()),
    (("temperature",), ()),
)
"""The fallbacks of optional parameters, tried in order when a server refuses one.

The strings of an entry are the parameter and other words that a refusal may contain.
"""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The instructions and data for a model, and the named JSON schema of its answer."""

    instructions: str
    data: str
    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """An unusable answer: what is wrong with it, which the model is told, and the server's text."""

    problem: str
    server_message: str = ""


@dataclass(frozen=True, slots=True)
class _ParameterChoice:
    """The optional parameters that a server accepts: the index in each list of fallbacks."""

    fallbacks: tuple[int, ...] = (0,) * len(PARAMETER_FALLBACKS)

    @property
    def format(self) -> str | None:
        """The response format that is requested; `None` if only the instructions name the schema."""
        return next(iter(PARAMETER_FALLBACKS[0][self.fallbacks[0]]), None)

    def build_parameters(self, question: ChatRequest, longest: int) -> dict[str, Any]:
        """Return the optional parameters of a request."""
        _, limit, temperature = (ladder[rung] for ladder, rung in zip(PARAMETER_FALLBACKS, self.fallbacks, strict=True))
        shape = {"name": question.name, "strict": True, "schema": question.schema}
        formats: dict[str | None, dict[str, Any]] = {
            "json_schema": {"response_format": {"type": "json_schema", "json_schema": shape}},
            "json_object": {"response_format": {"type": "json_object"}},
            None: {},
        }
        return formats[self.format] | dict.fromkeys(limit, longest) | dict.fromkeys(temperature, 0)

    def step_down(self, refusal: ErrorResponse) -> "_ParameterChoice | None":
        """Return the next fallback of the parameter that the refusal names, or `None`."""
        if refusal.status not in UNSUPPORTED_PARAMETER_STATUSES:
            return None
        message = refusal.body.decode("utf-8", "replace").casefold()
        for index, (ladder, rung) in enumerate(zip(PARAMETER_FALLBACKS, self.fallbacks, strict=True)):
            if any(word in message for word in ladder[rung]):
                return _ParameterChoice((*self.fallbacks[:index], rung + 1, *self.fallbacks[index + 1 :]))
        return None


class ChatClient:
    """Sends requests to a chat model and returns only answers that could be read.

    `url` is the part before `/chat/completions`, such as `https://host/v1`, or the whole address. The client
    remembers which optional parameters the server refuses.
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
        self._choice = _ParameterChoice()
        self._lock = ForkSafeLock()
        self._total_usage = LlmUsage()

    def __str__(self) -> str:
        return f"{self.model} at {self._endpoint}"

    def __repr__(self) -> str:
        return f"ChatClient({str(self._endpoint)!r}, {self.model!r})"

    @property
    def name(self) -> str:
        """The name under which the model's results are recorded."""
        return validation.require_id("model", f"{MODEL_NAME_PREFIX}{self.model}")

    @property
    def total_usage(self) -> LlmUsage:
        """The usage of all answers so far, from all threads, including unreadable answers."""
        return self._total_usage

    def ask(self, question: ChatRequest, read: Callable[[Any], T | BadAnswer]) -> tuple[T, LlmUsage]:
        """Parse the model's JSON with `read`, and return the result and the usage.

        After an unreadable answer the request is repeated once, with what was wrong; then an error is raised.
        """
        tally = LlmUsage()
        bad: BadAnswer | None = None
        for _ in range(MAX_ATTEMPTS):
            body, refusals, max_tokens = self._request_answer(question, bad)
            answer = _parse_json(body)
            usage = LlmUsage(calls=refusals) + _read_usage(answer, max_tokens)
            with self._lock.rlock:
                self._total_usage += usage
            tally += usage
            result = self._read_message(answer, body)
            if not isinstance(result, BadAnswer):
                result = read(result)
            if not isinstance(result, BadAnswer):
                return result, tally
            bad = result
        problem = f"{bad.problem}{bad.server_message}" if bad else "nothing"
        raise ProviderError(f"{self} returned {problem}; tried {tally.calls} times, try another model")

    def _request_answer(self, question: ChatRequest, bad: BadAnswer | None) -> tuple[bytes, int, int]:
        """Return the answer, the number of refusals before it, and an upper bound of the tokens in the prompt."""
        refusals, choice = 0, self._choice
        while True:
            messages = _build_messages(question, bad, choice)
            body = {"model": self.model, "messages": messages, "stream": False}
            try:
                outcome = self._endpoint.ask(body | choice.build_parameters(question, self._longest))
            except ProviderError as error:
                raise type(error)(f"{self.model}: {error}") from error.__cause__
            if not isinstance(outcome, ErrorResponse):
                return outcome, refusals, sum(len(one["content"].encode()) for one in messages) + MAX_OVERHEAD_TOKENS
            fallback = choice.step_down(outcome)
            if fallback is None:
                raise ProviderError(f"{self.model}: {outcome.problem}")
            refusals, choice = refusals + 1, fallback
            self._choice = choice  # may undo a further fallback of another thread, which the next request repeats

    def _read_message(self, answer: Any, body: bytes) -> Any:
        """Return the JSON in the model's message, or what is wrong with it."""
        match answer:
            case BadAnswer():
                return answer
            case {"error": error} if error:
                return BadAnswer("an error instead of an answer", self._endpoint.describe_error(body))
            case {"choices": []}:
                return BadAnswer("no choices")
            case {"choices": [{"message": dict()} as choice, *_]}:
                return _read_choice(choice)
            case _:
                return BadAnswer("no 'choices' with a 'message'")


def _build_messages(question: ChatRequest, bad: BadAnswer | None, choice: _ParameterChoice) -> list[dict[str, str]]:
    """Build the two messages of a request; some servers accept no other number."""
    instructions, data = question.instructions, question.data
    if bad or choice.format != "json_schema":
        instructions += f"\nThe JSON schema of your answer: {json.dumps(question.schema)}\n"
    if bad:
        data += (
            f"\nYour last answer to this was {bad.problem}. Answer again, with the JSON object and nothing else: "
            "no prose, no Markdown, every field as the schema has it, and shorter if it was cut off.\n"
        )
    return [{"role": "system", "content": instructions}, {"role": "user", "content": data}]


def _read_choice(choice: Any) -> Any:
    """Return the JSON in the message of a choice, or what is wrong with it."""
    match choice:
        case {"finish_reason": "length"}:
            return BadAnswer("an answer that was cut off at its limit")
        case {"finish_reason": "content_filter"}:
            return BadAnswer("an answer that a filter stopped")
        case {"message": {"refusal": refusal}} if refusal:
            return BadAnswer("a refusal")
        case {"message": {"content": str(text)}} if len(text) > MAX_ANSWER_CHARS:
            return BadAnswer(f"an answer of more than {MAX_ANSWER_CHARS} characters")
        case {"message": {"content": str(text)}} if text.strip():
            return _parse_json(text)
        case _:
            return BadAnswer("a message without a text")


def _parse_json(text: str | bytes) -> Any:
    """Parse JSON without NaN and infinities."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return BadAnswer("something that is not JSON, or not JSON alone")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _read_usage(answer: Any, max_prompt_tokens: int) -> LlmUsage:
    """Return the tokens that an answer reports; missing or impossible counts are 0."""
    match answer:
        case {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}:
            read = _read_token_count(prompt, max_prompt_tokens)
            written = _read_token_count(completion, MAX_COMPLETION_TOKENS)
        case _:
            read = written = None
    return LlmUsage(
        calls=1, prompt_tokens=read or 0, completion_tokens=written or 0, uncounted=int(read is None or written is None)
    )


def _read_token_count(count: object, limit: int) -> int | None:
    """Return the count, or `None` if it is impossible."""
    return count if type(count) is int and 0 <= count <= limit else None


WINDOW_CHARS = 24_000
"""How many escaped characters a window has; a single long line may exceed it."""

MAX_WINDOWS = 64
"""Maximum number of windows."""

PIECE_CHARS = WINDOW_CHARS // 12
"""How long the pieces of a long text are, so that one fits a window even if all is escaped."""

_UNSAFE_CHARACTER = re.compile(
    "[<>"  # tags, and the end of a message on some servers
    "\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U000e0000-\U000e0fff"  # invisible characters
    "]"
    r"|\[(?=/?[A-Z_]{1,32}\])"  # [INST] and similar markers
)


class HasText(Protocol):
    """An object with a text."""

    @property
    def text(self) -> str: ...


TextT = TypeVar("TextT", bound=HasText)


@dataclass(frozen=True, slots=True)
class Window(Generic[TextT]):
    """Consecutive items by position, and the lines that show them within a tag."""

    tag: str
    items: Mapping[int, TextT]
    lines: str

    @property
    def marker(self) -> str:
        """The random-looking part of the tags: a hash of the lines.

        No line can contain it on purpose, and the same lines always have the same marker.
        """
        return hashlib.sha256(self.lines.encode()).hexdigest()[:32]

    @property
    def fenced_text(self) -> str:
        return f"<{self.tag}-{self.marker}>\n{self.lines}</{self.tag}-{self.marker}>\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFormat(Generic[TextT]):
    """How items are shown: the tag, and the fields beside the text; a `None` field is left out.

    If the items need too many windows, the error names `field` and `remedy`.
    """

    tag: str
    describe: Callable[[int, TextT], Mapping[str, object]]
    field: str
    remedy: str


def split_into_windows(items: Sequence[TextT], form: WindowFormat[TextT]) -> list[Window[TextT]]:
    """Split the items into as few windows as possible, in order; raise before a model reads too many."""
    windows = list(islice(_iterate_windows(items, form), MAX_WINDOWS + 1))
    if len(windows) > MAX_WINDOWS:
        raise FieldError(f"has more than {MAX_WINDOWS * WINDOW_CHARS} characters; {form.remedy}", field=form.field)
    return windows


def to_safe_json(value: object) -> str:
    """Encode a value as one line of JSON without tags or invisible characters."""
    return _UNSAFE_CHARACTER.sub(_escape_character, json.dumps(value, ensure_ascii=False))


def _iterate_windows(items: Sequence[TextT], form: WindowFormat[TextT]) -> Iterator[Window[TextT]]:
    lines: list[str] = []
    shown: dict[int, TextT] = {}
    characters = 0
    for place, line in _format_lines(items, form):
        if lines and characters + len(line) > WINDOW_CHARS:
            yield Window(form.tag, shown, "".join(lines))
            lines, shown, characters = [], {}, 0
        lines.append(line)
        shown[place] = items[place]
        characters += len(line)
    if lines:
        yield Window(form.tag, shown, "".join(lines))


def _format_lines(items: Sequence[TextT], form: WindowFormat[TextT]) -> Iterator[tuple[int, str]]:
    """Yield each item as a line of JSON with its position; a long one as several lines."""
    for place, item in enumerate(items):
        fields = {name: value for name, value in form.describe(place, item).items() if value is not None}
        line = _format_line(fields, item.text)
        lines = (
            [line] if len(line) <= WINDOW_CHARS else [_format_line(fields, piece) for piece in _split_text(item.text)]
        )
        for one in lines:
            yield place, one


def _format_line(fields: Mapping[str, object], text: str) -> str:
    return f"{to_safe_json({**fields, 'text': text})}\n"


def _escape_character(match: re.Match[str]) -> str:
    """Escape the character as JSON does, so that a model reads and quotes the same text."""
    return json.dumps(match[0])[1:-1] if not match[0].isascii() else f"\\u{ord(match[0]):04x}"


def _split_text(text: str) -> Iterator[str]:
    """Split the text into pieces, at a space if there is one in the second half."""
    start = 0
    while start < len(text):
        end = start + PIECE_CHARS
        blank = text.rfind(" ", start + PIECE_CHARS // 2, end) if end < len(text) else -1
        end = blank + 1 if blank >= 0 else end
        yield text[start:end]
        start = end

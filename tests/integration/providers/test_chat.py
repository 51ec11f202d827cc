"""The client of chat completions, against a server that really listens, and really misbehaves."""

import json
import traceback
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import FieldError, InvalidInput, ProviderBusy, ProviderError
from recollect.model.conversation import LlmUsage
from recollect.providers.chat import (
    MAX_ANSWER_CHARS,
    MAX_ANSWER_TOKENS,
    MAX_COMPLETION_TOKENS,
    MAX_OVERHEAD_TOKENS,
    BadAnswer,
    ChatClient,
    ChatRequest,
)
from recollect.providers.http_client import MAX_RESPONSE_BYTES, RetryPolicy
from tests.tables import table

from .chat_server import USAGE, completing, cutting_a_chunk, refusing, resetting, streaming
from .server import (
    Act,
    breaking_off,
    hanging_up,
    keeping_silent,
    never_ending,
    saying,
    serving,
    talking_nonsense,
)

KEY = "sk-hunter2"
QUESTION = ChatRequest("Say yes.", "Well?", "answer", {"type": "object"})
YES = completing('{"yes": true}')
COUNTED = LlmUsage(calls=1, prompt_tokens=1000, completion_tokens=200)


def whatever(told: Any) -> Any:
    return told


def patient(waited: list[timedelta], **given: Any) -> RetryPolicy:
    """Patience that only writes down how long it would have waited."""
    return RetryPolicy(wait=waited.append, **given)


def test_the_server_is_asked_as_openai_is_for_an_answer_of_a_shape() -> None:
    with serving(YES) as server:
        found = ChatClient(server.url, "m", key=KEY).ask(QUESTION, whatever)
    assert found == ({"yes": True}, COUNTED)
    (request,) = server.asked
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Say yes."}, {"role": "user", "content": "Well?"}],
        "stream": False,
        "temperature": 0,
        "max_tokens": MAX_ANSWER_TOKENS,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}},
        },
    }
    assert KEY not in json.dumps(request.body)


@table("path", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_is_what_people_have_at_hand(path: str) -> None:
    with serving(YES) as server:
        ChatClient(server.url.removesuffix("/v1") + path, "m").ask(QUESTION, whatever)
    assert [request.path for request in server.asked] == ["/v1/chat/completions"]


GARBAGE: dict[str, tuple[Act, str]] = {
    "a page": (saying(b"<html>hello</html>", Content_Type="text/html"), "something that is not JSON"),
    "nothing": (saying(b""), "something that is not JSON"),
    "half": (saying(b'{"choices": [{'), "something that is not JSON"),
    "bytes": (saying(b"\xff\xfe\x00"), "something that is not JSON"),
    "a tower of brackets": (saying(b"[" * 100_000), "something that is not JSON"),
    "events": (streaming, "something that is not JSON"),
    "an error": (saying({"error": {"message": "overloaded"}}), r"an error instead of an answer \('overloaded'\)"),
    "an error without words": (saying({"error": 5}), "an error instead of an answer"),
    "another shape": (saying({"data": []}), "no 'choices' with a 'message'"),
    "a list": (saying([1]), "no 'choices' with a 'message'"),
    "a number": (saying(b"5"), "no 'choices' with a 'message'"),
    "no choices": (saying({"choices": []}), "no choices"),
    "no choice": (saying({"choices": None}), "no 'choices' with a 'message'"),
    "no message": (saying({"choices": [{"text": "{}"}]}), "no 'choices' with a 'message'"),
    "a message that is a text": (saying({"choices": [{"message": "{}"}]}), "no 'choices' with a 'message'"),
    "no content": (completing(None), "a message without a text"),
    "an empty content": (completing(" \n"), "a message without a text"),
    "a content of parts": (completing([{"type": "text", "text": "{}"}]), "a message without a text"),
    "a call of a tool": (completing(None, "tool_calls", tool_calls=[{}]), "a message without a text"),
    "a cut": (completing('{"yes": true}', "length"), "an answer that was cut off at its limit"),
    "a filter": (completing("{}", "content_filter"), "an answer that a filter stopped"),
    "a refusal": (completing(None, refusal="I would rather not."), "a refusal"),
    "prose": (completing("Yes."), "not JSON alone"),
    "prose before": (completing('Here you are: {"yes": true}'), "not JSON alone"),
    "prose behind": (completing('{"yes": true} Anything else?'), "not JSON alone"),
    "a thought": (completing('<think>Hm.</think>{"yes": true}'), "not JSON alone"),
    "fences": (completing('```json\n{"yes": true}\n```'), "not JSON alone"),
    "half an object": (completing('{"yes": tr'), "not JSON alone"),
    "two objects": (completing('{"yes": true}\n{"yes": true}'), "not JSON alone"),
    "quotes of another kind": (completing("{'yes': true}"), "not JSON alone"),
    "not a number": (completing('{"yes": NaN}'), "not JSON alone"),
    "infinity": (completing('{"yes": -Infinity}'), "not JSON alone"),
    "a number of 5,000 digits": (completing(f'{{"yes": {"9" * 5000}}}'), "not JSON alone"),
    "a tower in the content": (completing("[" * 100_000), "not JSON alone"),
    "too much": (completing(f'"{"a" * MAX_ANSWER_CHARS}"'), f"an answer of more than {MAX_ANSWER_CHARS} characters"),
}


@table("case", GARBAGE)
def test_garbage_is_complained_of_once_and_then_an_error_that_names_the_model(case: str) -> None:
    act, told = GARBAGE[case]
    waited: list[timedelta] = []
    with serving(act) as server:
        with pytest.raises(ProviderError, match=f"^wise-one at .* returned .*{told}.*; tried 2 times") as refused:
            ChatClient(server.url, "wise-one", patience=patient(waited)).ask(QUESTION, whatever)
        assert server.url in str(refused.value)
    assert type(refused.value) is ProviderError
    assert waited == []
    assert len(server.asked) == 2


@table("case", GARBAGE)
def test_a_model_that_comes_to_its_senses_is_heard_and_all_it_took_is_counted(case: str) -> None:
    act, _ = GARBAGE[case]
    with serving(act, YES) as server:
        found, tally = ChatClient(server.url, "m").ask(QUESTION, whatever)
    assert found == {"yes": True}
    assert tally.calls == 2
    assert tally.prompt_tokens == (2 - tally.uncounted) * 1000


def test_a_complaint_says_what_was_wrong_and_shows_the_shape_in_the_same_two_messages() -> None:
    with serving(completing("```IGNORE ALL```"), YES) as server:
        ChatClient(server.url, "m").ask(QUESTION, whatever)
    first, second = (request.body["messages"] for request in server.asked)
    assert [message["role"] for message in second] == ["system", "user"]
    assert second[0]["content"].startswith(first[0]["content"])
    assert '{"type": "object"}' in second[0]["content"]
    assert second[1]["content"].startswith("Well?\nYour last answer to this was something that is not JSON")
    assert "IGNORE" not in json.dumps(second)


def test_what_the_reader_finds_wrong_is_complained_of_too() -> None:
    with serving(YES) as server, pytest.raises(ProviderError, match=r"m at .* returned a yes; tried 2 times"):
        ChatClient(server.url, "m").ask(QUESTION, lambda _: BadAnswer("a yes"))
    assert "Your last answer to this was a yes." in server.asked[1].body["messages"][1]["content"]


BUSY: dict[str, tuple[Act, str]] = {
    "too many requests": (saying({"error": {"message": "slow down"}}, 429), r"returned 429 \('slow down'\)"),
    "an error of the server": (saying(b"oops", 500), r"returned 500 \('oops'\)"),
    "hanging up": (hanging_up, "cannot be reached"),
    "breaking off": (breaking_off, "closed the connection early"),
    "a cut chunk": (cutting_a_chunk, "closed the connection early"),
    "a reset": (resetting, "cannot be reached"),
}


@table("case", BUSY)
def test_a_busy_server_is_asked_within_patience_and_then_it_is_busy(case: str) -> None:
    act, told = BUSY[case]
    waited: list[timedelta] = []
    with serving(act) as server, pytest.raises(ProviderBusy, match=f"^m: .*{told}.*tried 4 times") as refused:
        ChatClient(server.url, "m", patience=patient(waited)).ask(QUESTION, whatever)
    assert refused.value.retryable
    assert len(waited) == 3
    assert len(server.asked) == 4


@table("case", BUSY)
def test_a_server_that_recovers_is_not_held_to_its_troubles(case: str) -> None:
    act, _ = BUSY[case]
    with serving(act, act, YES) as server:
        assert ChatClient(server.url, "m", patience=patient([])).ask(QUESTION, whatever) == ({"yes": True}, COUNTED)


def test_a_pause_that_the_server_names_is_kept_and_one_that_is_too_long_is_not_waited_for() -> None:
    waited: list[timedelta] = []
    with serving(saying(b"", 429, Retry_After="7"), YES) as server:
        ChatClient(server.url, "m", patience=patient(waited)).ask(QUESTION, whatever)
    assert waited == [timedelta(seconds=7)]
    with (
        serving(saying(b"", 429, Retry_After="3600")) as server,
        pytest.raises(ProviderBusy, match="asks to wait 1:00:00"),
    ):
        ChatClient(server.url, "m", patience=patient(waited)).ask(QUESTION, whatever)
    assert len(waited) == 1


def test_a_server_that_says_nothing_in_time_is_busy() -> None:
    waited: list[timedelta] = []
    moment = timedelta(milliseconds=50)
    with serving(keeping_silent) as server, pytest.raises(ProviderBusy, match=r"timed out\); tried 2 times"):
        ChatClient(server.url, "m", timeout=moment, patience=patient(waited, attempts=2)).ask(QUESTION, whatever)
    assert len(waited) == 1


@table(
    ("act", "told"),
    [
        (never_ending, f"m: .* returned more than {MAX_RESPONSE_BYTES} bytes"),
        (talking_nonsense, "m: .* does not speak HTTP"),
        (saying({"error": {"message": "who are you?"}}, 401), "m: .* returned 401 .*; check the key"),
        (saying({"error": {"message": "no such model"}}, 404), "m: .*; check the address and the model"),
        (saying(b"", 307, Location="http://127.0.0.1:9/"), "m: .* returned 307: it has moved"),
        (saying({"error": {"message": "context length exceeded"}}, 400), "m: .* returned 400"),
        (saying({"error": {"message": "response_format"}}, 403), "m: .* returned 403"),
    ],
)
def test_what_would_only_happen_again_is_an_error_at_once(act: Act, told: str) -> None:
    with serving(act) as server, pytest.raises(ProviderError, match=told) as refused:
        ChatClient(server.url, "m", patience=patient([])).ask(QUESTION, whatever)
    assert not refused.value.retryable
    assert len(server.asked) == 1


def formats(asked: list[Any]) -> list[str | None]:
    """Which format was asked for, in each request."""
    return [request.body.get("response_format", {}).get("type") for request in asked]


@table("status", [400, 422])
def test_a_server_that_knows_no_schemas_is_asked_for_any_object_and_remembered(status: int) -> None:
    act = refusing("'response_format.type' must be 'text' or 'json_object'", YES, status=status, having="json_schema")
    with serving(act) as server:
        chat = ChatClient(server.url, "m")
        assert chat.ask(QUESTION, whatever) == ({"yes": True}, LlmUsage() + COUNTED + LlmUsage(calls=1))
        assert chat.ask(QUESTION, whatever) == ({"yes": True}, COUNTED)
    assert formats(server.asked) == ["json_schema", "json_object", "json_object"]
    assert '{"type": "object"}' not in server.asked[0].body["messages"][0]["content"]
    assert '{"type": "object"}' in server.asked[2].body["messages"][0]["content"]


def test_a_server_that_knows_no_formats_is_only_told_in_words() -> None:
    act = refusing("unknown field response_format", YES, having="response_format")
    with serving(act) as server:
        chat = ChatClient(server.url, "m")
        assert [chat.ask(QUESTION, whatever)[1].calls for _ in range(2)] == [3, 1]
    assert formats(server.asked) == ["json_schema", "json_object", None, None]


def test_a_refusal_that_names_the_parameter_in_another_way_is_understood() -> None:
    detail = {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be 'text'"}]}
    with serving(saying(detail, 422), YES) as server:
        assert ChatClient(server.url, "m").ask(QUESTION, whatever)[0] == {"yes": True}
    assert formats(server.asked) == ["json_schema", "json_object"]


def test_other_parameters_that_a_server_refuses_are_left_out_or_called_otherwise() -> None:
    temperature = refusing("Unsupported value: 'temperature' does not support 0", YES, having="temperature")
    told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    with serving(refusing(told, temperature, having='"max_tokens"')) as server:
        chat = ChatClient(server.url, "m", longest=77)
        assert [chat.ask(QUESTION, whatever)[1].calls for _ in range(2)] == [3, 1]
    assert server.asked[-1].body.keys() == {"model", "messages", "stream", "response_format", "max_completion_tokens"}
    assert server.asked[-1].body["max_completion_tokens"] == 77


def test_a_server_that_refuses_whatever_is_left_out_is_given_up() -> None:
    told = "response_format max_tokens max_completion_tokens temperature"
    refused = saying({"error": {"message": told}}, 400)
    with serving(refused) as server, pytest.raises(ProviderError, match="returned 400"):
        ChatClient(server.url, "m").ask(QUESTION, whatever)
    assert len(server.asked) == 1 + 2 + 2 + 1


@table(
    ("usage", "prompt", "completion", "uncounted"),
    [
        (USAGE, 1000, 200, 0),
        ({"prompt_tokens": 0, "completion_tokens": 0}, 0, 0, 0),
        (None, 0, 0, 1),
        ([], 0, 0, 1),
        ({"prompt_tokens": 1000}, 0, 0, 1),
        ({"prompt_tokens": -1, "completion_tokens": 200}, 0, 200, 1),
        ({"prompt_tokens": "1000", "completion_tokens": 200}, 0, 200, 1),
        ({"prompt_tokens": True, "completion_tokens": 2.0}, 0, 0, 1),
        (
            {"prompt_tokens": MAX_OVERHEAD_TOKENS + len("Say yes.Well?"), "completion_tokens": 0},
            MAX_OVERHEAD_TOKENS + len("Say yes.Well?"),
            0,
            0,
        ),
        ({"prompt_tokens": MAX_OVERHEAD_TOKENS + len("Say yes.Well?") + 1, "completion_tokens": 0}, 0, 0, 1),
        ({"prompt_tokens": 10**300, "completion_tokens": MAX_COMPLETION_TOKENS}, 0, MAX_COMPLETION_TOKENS, 1),
        ({"prompt_tokens": 1, "completion_tokens": MAX_COMPLETION_TOKENS + 1}, 1, 0, 1),
    ],
    ids=str,
)
def test_tokens_are_counted_if_they_can_be_believed(usage: Any, prompt: int, completion: int, uncounted: int) -> None:
    with serving(completing("{}", usage=usage)) as server:
        _, tally = ChatClient(server.url, "m").ask(QUESTION, whatever)
    assert tally == LlmUsage(calls=1, prompt_tokens=prompt, completion_tokens=completion, uncounted=uncounted)


@table(
    "act",
    [
        saying({"error": {"message": f"wrong key {KEY}"}}, 401),
        saying({"error": {"message": f"wrong key {KEY}"}}),
        saying(f"you sent {KEY}".encode(), 500),
        saying(KEY.encode()),
        completing(KEY),
        completing(f'{{"{KEY}": 1}}', "length"),
        hanging_up,
        talking_nonsense,
    ],
)
def test_the_key_is_in_no_error_whatever_the_server_says(act: Act) -> None:
    with serving(act) as server:
        chat = ChatClient(f"{server.url}?token={KEY}", "m", key=KEY, patience=RetryPolicy(attempts=1))
        with pytest.raises(ProviderError) as refused:
            chat.ask(QUESTION, whatever)
    assert KEY not in "".join(traceback.format_exception(refused.value))
    assert KEY not in f"{refused.value!r} {chat!r} {chat}"
    assert all(KEY not in json.dumps(request.body) for request in server.asked)


@table("longest", [0, -1, MAX_COMPLETION_TOKENS + 1, True, 1.5, "9"])
def test_a_limit_that_is_none_is_refused(longest: Any) -> None:
    with pytest.raises(InvalidInput, match="longest is"):
        ChatClient("https://host/v1", "m", longest=longest)


@table("model", ["", " m", "a\nb", "m" * 257])
def test_a_model_that_nobody_could_name_is_refused(model: str) -> None:
    with pytest.raises(FieldError, match="field 'model'"):
        ChatClient("https://host/v1", model)

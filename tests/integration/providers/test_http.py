"""The embedder behind an address, against a server that really listens, and really misbehaves."""

import json
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import numpy as np
import pytest

from recollect.errors import FieldError, InvalidInput, ProviderBusy, ProviderError
from recollect.protocols import Embedder
from recollect.providers.http_client import MAX_RESPONSE_BYTES, RetryPolicy
from recollect.providers.openai_embeddings import MAX_BATCH_CHARS, MAX_BATCH_TEXTS, OpenAIEmbedder
from recollect.testing.embedder_contract import EmbedderContract, embed
from tests.tables import table

from .server import (
    MODEL,
    Act,
    answering,
    breaking_off,
    hanging_up,
    keeping_silent,
    never_ending,
    saying,
    serving,
    shuffled,
    talking_nonsense,
    well,
)

KEY = "sk-hunter2"
MOMENT = timedelta(milliseconds=50)


def patient(waited: list[timedelta], **given: Any) -> RetryPolicy:
    """Patience that only writes down how long it would have waited."""
    return RetryPolicy(wait=waited.append, **given)


IMPATIENT = RetryPolicy(attempts=1)


class TestHttp(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Iterator[Embedder]:
        with serving(shuffled) as server:
            yield OpenAIEmbedder(server.url, "m")


def test_vectors_are_the_servers_in_the_order_of_the_texts_whatever_order_they_came_in() -> None:
    texts = [f"memory {number}" for number in range(5)]
    with serving(shuffled) as server:
        found = embed(OpenAIEmbedder(server.url, "m"), *texts)
    np.testing.assert_allclose(found, MODEL.embed(texts, "memory"), rtol=0, atol=1e-7)


def test_the_server_is_asked_as_openai_is() -> None:
    with serving(well) as server:
        embed(OpenAIEmbedder(server.url, "m", key=KEY), "a", "b")
    (request,) = server.asked
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "m", "encoding_format": "float", "input": ["a", "b"]}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"


def test_without_a_key_none_is_sent() -> None:
    with serving(well) as server:
        embed(OpenAIEmbedder(server.url, "m"), "a")
    assert "Authorization" not in server.asked[0].headers


@table(
    ("path", "asked"),
    [
        ("", "/v1/embeddings"),
        ("/", "/v1/embeddings"),
        ("/v1", "/v1/embeddings"),
        ("/v1/", "/v1/embeddings"),
        ("/v1/embeddings", "/v1/embeddings"),
        ("/proxy/openai?api-version=2", "/proxy/openai/embeddings?api-version=2"),
    ],
)
def test_the_address_is_what_people_have_at_hand(path: str, asked: str) -> None:
    with serving(well) as server:
        embed(OpenAIEmbedder(server.url.removesuffix("/v1") + path, "m"), "a")
    assert [request.path for request in server.asked] == [asked]


def test_dimensions_are_learnt_from_the_first_answer_and_asked_for_once() -> None:
    with serving(well) as server:
        one, other = OpenAIEmbedder(server.url, "m"), OpenAIEmbedder(server.url, "m")
        assert (one.dimensions, one.dimensions) == (64, 64)
        assert embed(other, "a").shape == (1, other.dimensions)
    assert len(server.asked) == 2


def test_dimensions_that_are_given_are_asked_for_and_insisted_on() -> None:
    with serving(well) as server:
        embedder = OpenAIEmbedder(server.url, "m", 64)
        assert embedder.dimensions == 64
        assert server.asked == []
        embed(embedder, "a")
        assert server.asked[0].body["dimensions"] == 64
        with pytest.raises(ProviderError, match="returned a vector of 64 dimensions, not 32"):
            embed(OpenAIEmbedder(server.url, "m", 32), "a")


def test_a_model_that_changes_its_dimensions_is_not_believed() -> None:
    shorter = answering(lambda right: [{**item, "embedding": item["embedding"][:32]} for item in right])
    with serving(well, shorter) as server:
        embedder = OpenAIEmbedder(server.url, "m")
        embed(embedder, "a")
        with pytest.raises(ProviderError, match="returned a vector of 32 dimensions, not 64"):
            embed(embedder, "a")


def test_blank_texts_are_not_sent_and_point_along_the_last_axis() -> None:
    with serving(well) as server:
        vectors = embed(OpenAIEmbedder(server.url, "m"), "", "a", " \n")
    assert [request.body["input"] for request in server.asked] == [["a"]]
    assert vectors[0].tolist() == vectors[2].tolist() == [0.0] * 63 + [1.0]


def test_only_blank_texts_need_no_more_than_the_dimensions() -> None:
    with serving(well) as server:
        assert embed(OpenAIEmbedder(server.url, "m", 64), "", " ").shape == (2, 64)
    assert server.asked == []


def test_many_texts_are_sent_in_batches_that_are_limited_in_number_and_in_length() -> None:
    short = ["a"] * (2 * MAX_BATCH_TEXTS + 1)
    long = ["b" * (MAX_BATCH_CHARS // 2)] * 3 + ["c" * (MAX_BATCH_CHARS + 1), "d"]
    with serving(well) as server:
        embedder = OpenAIEmbedder(server.url, "m")
        assert len(embed(embedder, *short)) == len(short)
        assert len(embed(embedder, *long)) == len(long)
    assert [len(request.body["input"]) for request in server.asked] == [MAX_BATCH_TEXTS, MAX_BATCH_TEXTS, 1, 2, 1, 1, 1]


def nothing(_: object) -> Any:
    return None


def changed(**given: Any) -> Callable[[list[dict[str, Any]]], Any]:
    """The right vectors, with something else in the first of them."""
    return lambda right: [{**right[0], **given}, *right[1:]]


def part(value: Any) -> Callable[[list[dict[str, Any]]], Any]:
    """The right vectors, with something else as the first number of the first."""
    return lambda right: changed(embedding=[value, *right[0]["embedding"][1:]])(right)


LIES: dict[str, tuple[Act, str]] = {
    "too few": (answering(lambda right: right[:-1]), "returned 1 vectors for 2 texts"),
    "too many": (answering(lambda right: [*right, right[0]]), "returned 3 vectors for 2 texts"),
    "an index twice": (answering(changed(index=1)), r"returned the indexes \[1\] for 2 texts"),
    "an index beyond": (answering(changed(index=2)), r"returned the indexes \[1, 2\] for 2 texts"),
    "a negative index": (answering(changed(index=-1)), r"returned the indexes \[-1, 1\]"),
    "an index that is none": (answering(changed(index="0")), "an item without an 'index'"),
    "a truth for an index": (answering(changed(index=False)), "an item without an 'index'"),
    "no index": (answering(lambda right: [{"embedding": i["embedding"]} for i in right]), "an item without an 'index'"),
    "no vector": (answering(changed(embedding=None)), "an item without an 'index' and an 'embedding'"),
    "an empty vector": (answering(changed(embedding=[])), "an item without an 'index' and an 'embedding'"),
    "a vector in base64": (answering(changed(embedding="AACAPw==")), "an item without an 'index' and an 'embedding'"),
    "a shorter vector": (
        answering(changed(embedding=[1.0, 0.0])),
        "returned a vector of (64|2) dimensions, not (2|64)",
    ),
    "not a number": (answering(part(float("nan"))), "returned a number that is not finite"),
    "infinity": (answering(part(float("-inf"))), "returned a number that is not finite"),
    "a number beyond floats": (answering(part(10**400)), "returned a number that is too large"),
    "a number as a text": (answering(part("0.5")), "value that is not a number"),
    "a truth as a number": (answering(part(True)), "value that is not a number"),  # noqa: FBT003
    "zeros": (answering(changed(embedding=[0.0] * 64)), "returned a vector of zeros"),
    "no list": (answering(nothing), "returned no list 'data'"),
    "another shape": (saying({"embeddings": [[1.0]]}), "returned no list 'data'"),
    "a list": (saying([1, 2]), "returned no list 'data'"),
    "a page": (saying(b"<html>hello</html>"), "something other than JSON; check the address"),
    "nothing": (saying(b""), "something other than JSON"),
    "half": (saying(b'{"data": ['), "something other than JSON"),
    "bytes": (saying(b"\xff\xfe\x00"), "something other than JSON"),
    "a tower of brackets": (saying(b"[" * 100_000), "something other than JSON"),
    "no end": (never_ending, f"returned more than {MAX_RESPONSE_BYTES} bytes"),
    "another protocol": (talking_nonsense, "does not speak HTTP"),
}


@table("lie", LIES)
def test_a_server_that_lies_is_not_believed_and_not_asked_again(lie: str) -> None:
    act, told = LIES[lie]
    waited: list[timedelta] = []
    with serving(act) as server:
        with pytest.raises(ProviderError, match=told) as refused:
            embed(OpenAIEmbedder(server.url, "m", key=KEY, patience=patient(waited)), "a", "b")
        assert server.url in str(refused.value)
    assert not refused.value.retryable
    assert waited == []
    assert len(server.asked) == 1


def test_a_length_that_is_too_large_is_refused_before_it_is_read() -> None:
    def boasting(handler: Any, _: object) -> None:
        handler.send_response_only(200)
        handler.send_header("Content-Length", str(MAX_RESPONSE_BYTES + 1))
        handler.end_headers()
        handler.told.over.wait()
        handler.close_connection = True

    with serving(boasting) as server, pytest.raises(ProviderError, match="returned more than"):
        embed(OpenAIEmbedder(server.url, "m"), "a")


BUSY: dict[str, tuple[Act, str]] = {
    "too many requests": (saying({"error": {"message": "slow down"}}, 429), r"returned 429 \('slow down'\)"),
    "an error of the server": (saying(b"oops", 500), r"returned 500 \('oops'\)"),
    "a bad gateway": (saying(b"", 502), "returned 502;"),
    "unavailable": (saying({"message": "loading"}, 503), r"returned 503 \('loading'\)"),
    "a gateway's timeout": (saying({"error": "late"}, 504), r"returned 504 \('late'\)"),
    "a request's timeout": (saying({"other": 1}, 408), "returned 408;"),
    "hanging up": (hanging_up, "cannot be reached"),
    "breaking off": (breaking_off, "closed the connection early"),
}


@table("case", BUSY)
def test_a_busy_server_is_asked_again_with_longer_and_longer_pauses_before_we_give_up(case: str) -> None:
    act, told = BUSY[case]
    waited: list[timedelta] = []
    with serving(act) as server:
        with pytest.raises(ProviderBusy, match=rf"{told}.*tried 4 times, try again later") as refused:
            embed(OpenAIEmbedder(server.url, "m", key=KEY, patience=patient(waited)), "a")
        assert server.url in str(refused.value)
    assert refused.value.retryable
    assert waited == [timedelta(seconds=0.5) * 2**attempt for attempt in range(3)]
    assert len(server.asked) == 4


@table("case", BUSY)
def test_a_server_that_recovers_is_not_held_to_its_troubles(case: str) -> None:
    act, _ = BUSY[case]
    waited: list[timedelta] = []
    with serving(act, act, well) as server:
        found = embed(OpenAIEmbedder(server.url, "m", patience=patient(waited)), "a")
    np.testing.assert_allclose(found, MODEL.embed(["a"], "memory"), rtol=0, atol=1e-7)
    assert len(waited) == 2


def test_a_pause_does_not_grow_beyond_the_longest() -> None:
    patience = RetryPolicy(attempts=100, first_pause=timedelta(seconds=3), max_pause=timedelta(seconds=10))
    assert [patience.pause_after(attempt).total_seconds() for attempt in (1, 2, 3, 4, 99)] == [3, 6, 10, 10, 10]


@table(
    ("headers", "pause"),
    [
        ({"Retry_After": "7"}, timedelta(seconds=7)),
        ({"Retry_After": "0"}, timedelta(0)),
        (
            {"Retry_After": "Sun, 15 Nov 2026 10:00:09 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"},
            timedelta(seconds=9),
        ),
        ({"Retry_After": "Sun, 15 Nov 2026 09:00:00 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, timedelta(0)),
        ({"Retry_After": "Sun, 15 Nov 2026 10:00:09 GMT"}, timedelta(seconds=0.5)),
        ({"Retry_After": "Sun, 15 Nov 2026 10:00:09", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, timedelta(seconds=0.5)),
        ({"Retry_After": "soon"}, timedelta(seconds=0.5)),
        ({"Retry_After": "-1"}, timedelta(seconds=0.5)),
        ({"Retry_After": "9" * 5000}, timedelta(seconds=0.5)),
        ({}, timedelta(seconds=0.5)),
    ],
    ids=str,
)
def test_a_pause_that_the_server_names_is_kept(headers: dict[str, str], pause: timedelta) -> None:
    waited: list[timedelta] = []
    with serving(saying(b"", 429, **headers), well) as server:
        embed(OpenAIEmbedder(server.url, "m", patience=patient(waited)), "a")
    assert waited == [pause]


def test_a_server_that_wants_a_longer_pause_than_we_have_is_given_up_at_once() -> None:
    waited: list[timedelta] = []
    told = "returned 429 and asks to wait 1:00:00; tried once, try again later"
    with serving(saying(b"", 429, Retry_After="3600")) as server, pytest.raises(ProviderBusy, match=told):
        embed(OpenAIEmbedder(server.url, "m", patience=patient(waited)), "a")
    assert waited == []


def test_a_server_that_says_nothing_in_time_is_busy() -> None:
    told = r"cannot be reached \(timed out\); tried once"
    with serving(keeping_silent) as server, pytest.raises(ProviderBusy, match=told):
        embed(OpenAIEmbedder(server.url, "m", timeout=MOMENT, patience=IMPATIENT), "a")


def test_an_answer_that_does_not_end_in_time_is_broken_off() -> None:
    seconds = count()
    patience = RetryPolicy(attempts=1, clock=lambda: float(next(seconds)))
    with serving(never_ending) as server, pytest.raises(ProviderBusy, match="the response did not end in time"):
        embed(OpenAIEmbedder(server.url, "m", timeout=timedelta(seconds=10), patience=patience), "a")


def test_nobody_at_the_address_is_a_reason_to_try_later() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # so that nobody else comes to listen there
        with pytest.raises(ProviderBusy, match=r"cannot be reached .*refused"):
            embed(OpenAIEmbedder(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "m", patience=IMPATIENT), "a")


@table(
    ("status", "remedy"),
    [
        (400, "the server rejects the request"),
        (401, "check the key"),
        (403, "check the key"),
        (404, "check the address and the model"),
        (413, "send shorter texts"),
    ],
)
def test_a_refusal_is_told_with_the_servers_words_and_a_remedy(status: int, remedy: str) -> None:
    told = rf"returned {status} \('no such thing'\); {remedy}"
    refusing = saying({"error": {"message": "no such thing"}}, status)
    with serving(refusing) as server, pytest.raises(ProviderError, match=told) as refused:
        embed(OpenAIEmbedder(server.url, "m"), "a")
    assert not refused.value.retryable
    assert len(server.asked) == 1


def test_a_redirect_is_not_followed_for_the_key_would_go_with_it() -> None:
    with serving(well) as other, serving(saying(b"", 307, Location=f"{other.url}/embeddings")) as server:
        with pytest.raises(ProviderError, match="returned 307: it has moved"):
            embed(OpenAIEmbedder(server.url, "m", key=KEY), "a")
        assert other.asked == []


def test_a_server_without_tls_is_not_asked_over_tls() -> None:
    with serving(well) as server, pytest.raises(ProviderError, match="cannot be trusted or does not speak TLS"):
        embed(OpenAIEmbedder(server.url.replace("http:", "https:"), "m", key=KEY), "a")
    assert server.asked == []


@table(
    "act",
    [
        saying({"error": {"message": f"wrong key {KEY}"}}, 401),
        saying(f"you sent {KEY}".encode(), 500),
        saying({"data": KEY}),
        saying(KEY.encode()),
        hanging_up,
        talking_nonsense,
    ],
)
def test_the_key_is_in_no_error_whatever_the_server_says(act: Act) -> None:
    with serving(act) as server:
        embedder = OpenAIEmbedder(f"{server.url}?token={KEY}", "m", key=KEY, patience=IMPATIENT)
        with pytest.raises(ProviderError) as refused:
            embed(embedder, "a")
    assert KEY not in "".join(traceback.format_exception(refused.value))
    assert KEY not in repr(refused.value)
    assert KEY not in f"{embedder!r} {embedder} {embedder._endpoint!r} {embedder._endpoint}"


@table("key", ["", "two words", f"{KEY}\n", f"{KEY}\r\nX-Evil: 1", "schlüssel", "\0"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(InvalidInput, match="the key is empty, or has spaces or non-ASCII characters") as refused:
        OpenAIEmbedder("https://host/v1", "m", key=key)
    assert KEY not in "".join(traceback.format_exception(refused.value))


@table(
    ("url", "told"),
    [
        ("", "is not an address"),
        ("host/v1", "is not an address"),
        ("ftp://host/v1", "is not an address"),
        ("https:///v1", "is not an address"),
        ("https://host:port/v1", "is not an address"),
        ("https://host:0/v1", "is not an address"),
        ("https://host:99999/v1", "is not an address"),
        ("https://[::1/v1", "is not an address"),
        ("https://host/a path", "spaces or non-ASCII characters"),
        ("https://hóst/v1", "spaces or non-ASCII characters"),
        ("https://host/v1\r\nX-Evil: 1", "spaces or non-ASCII characters"),
        ("https://host/v1#model", "has a part after #"),
        (f"https://ana:{KEY}@host/v1", "contains credentials; give the key separately"),
        (f"https://{KEY}@host/v1", "contains credentials; give the key separately"),
        (f"ftp://ana:{KEY}@host/v1?token={KEY}", "'ftp://…@host/v1/embeddings' is not an address"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_without_showing_what_may_be_secret(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as refused:
        OpenAIEmbedder(url, "m")
    assert KEY not in str(refused.value)


@table("model", ["", " m", "a\nb", "m" * 252])
def test_a_model_that_no_store_could_record_is_refused(model: str) -> None:
    with pytest.raises(FieldError, match="field 'model'"):
        OpenAIEmbedder("https://host/v1", model)


@table("dimensions", [0, -1, 1.5, True, "64"])
def test_dimensions_that_cannot_be_are_refused(dimensions: Any) -> None:
    with pytest.raises(InvalidInput, match="give a whole number of at least 1"):
        OpenAIEmbedder("https://host/v1", "m", dimensions)


def test_a_timeout_and_pauses_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidInput, match="give a duration above zero"):
        OpenAIEmbedder("https://host/v1", "m", timeout=timedelta(0))
    with pytest.raises(InvalidInput, match="attempts is 0"):
        RetryPolicy(attempts=0)
    with pytest.raises(InvalidInput, match="give durations with 0 <= first_pause <= max_pause"):
        RetryPolicy(first_pause=timedelta(seconds=2), max_pause=timedelta(seconds=1))


def test_a_pause_is_spent_and_up_to_a_quarter_more_and_no_pause_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    for pause in (timedelta(0), timedelta(seconds=2)):
        RetryPolicy().wait(pause)
    assert slept[0] == 0.0
    assert 2.0 <= slept[1] <= 2.0 * 1.25


def test_it_is_recorded_by_the_name_of_the_model_and_not_by_the_address() -> None:
    assert OpenAIEmbedder("https://one/v1", "m").name == OpenAIEmbedder("https://two/v1", "m").name == "http:m"
    assert json.dumps(OpenAIEmbedder("https://one/v1", "m").name) == '"http:m"'

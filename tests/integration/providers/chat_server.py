"""A server of chat completions on this machine, which answers, lies and breaks down as a test tells it to."""

import json
import socket
import struct
from typing import Any

from .server import Act, Handler, Request, saying

USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}

TEA = {
    "turn": 0,
    "quote": "I prefer green tea",
    "text": "Anna prefers green tea.",
    "kind": "preference",
    "importance": 0.55,
    "confidence": "stated",
    "about": "speaker",
    "subject": None,
}
"""A memory as a model proposes it, of a first turn by Anna with these words in it."""


def proposing(*memories: Any, **more: Any) -> Act:
    """An act of a model that proposes these memories."""
    return completing(json.dumps({"memories": memories}), **more)


def summing_up(*bullets: Any, title: Any = "Tea and travel", keywords: Any = ("tea",), **more: Any) -> Act:
    """An act of a model that sums up in these points."""
    return completing(json.dumps({"title": title, "bullets": bullets, "keywords": keywords}), **more)


def shown(request: Request) -> list[dict[str, Any]]:
    """What a model is shown, read as it reads it: by the tags and the lines between them."""
    (opening, *lines, closing) = request.body["messages"][1]["content"].splitlines()
    assert closing == opening.replace("<", "</", 1)
    return [json.loads(line) for line in lines]


def completing(content: Any, finish_reason: str | None = "stop", usage: Any = USAGE, **message: Any) -> Act:
    """An act of a model whose message is this."""
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    return saying({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage})


def refusing(told: str, otherwise: Act, *, status: int = 400, having: str) -> Act:
    """An act that refuses requests in which that stands outside the messages, with these words."""

    def act(handler: Handler, request: Request) -> None:
        asked = {name: value for name, value in request.body.items() if name != "messages"}
        refused = saying({"error": {"message": told, "type": "invalid_request_error"}}, status)
        (refused if having in json.dumps(asked) else otherwise)(handler, request)

    return act


def resetting(handler: Handler, _: Request) -> None:
    """Tear the connection down, as a crashing process does."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True


def cutting_a_chunk(handler: Handler, _: Request) -> None:
    """Send the answer in chunks, and go away within one."""
    handler.send_response_only(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b'b\r\n{"choices":\r\n' + b'40\r\n[{"message": {"con')
    handler.close_connection = True


def streaming(handler: Handler, _: Request) -> None:
    """Send the answer as events, which nobody asked for, and not all of them."""
    body = b'data: {"choices": [{"delta": {"content": "{\\"memor"}}]}\n\ndata: {"choices": [{"del'
    handler.reply(body, Content_Type="text/event-stream")

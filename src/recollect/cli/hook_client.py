"""One question to a running server over MCP, with next to nothing loaded: whoever asks has little time."""

import json
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from recollect.errors import InvalidInput, show
from recollect.model.format import FEEDBACK_PREFIX

MAX_ANSWER_BYTES: Final = 1_048_576
"""How many bytes of an answer are read at most."""

SERVER_TIMEOUT_SECONDS: Final = 600.0
"""After how many seconds of silence a server is given up; whoever has less time does not wait so long."""

MCP_REVISION: Final = "2026-07-28"
"""The revision of MCP that a server is asked in: one request, one answer, and nothing before."""

SERVER_ADDRESS_PATTERN: Final = r"http://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::(\d{1,5}))?(/[!-~]*)?"
"""What the address of a server looks like: its host, its port and its path."""


class HookAnswer(NamedTuple):
    """What a question gives: a text for a model, and how it is rated, if it can be; and whether there was anything."""

    text: str
    rating_hint: str = ""
    is_empty: bool = False

    @property
    def prompt_text(self) -> str:
        """All of it that a model is told; nothing, if nothing is known."""
        return "\n".join(filter(None, (self.text, self.rating_hint))) if self.text else ""


@contextmanager
def connect_to_server(address: str, key_file: str | None) -> Iterator[Callable[[str, Mapping[str, Any]], HookAnswer]]:
    """What asks a tool of the server at an address, which is reached before anything is asked."""
    parts = re.fullmatch(SERVER_ADDRESS_PATTERN, address)
    if parts is None or int(parts[2] or 80) > 65_535:
        raise InvalidInput(f"{show(address)} is no address of a server; write http://127.0.0.1:8765/mcp")
    key = None if key_file is None else _read_key(key_file)
    host = parts[1] if parts[2] is None else f"{parts[1]}:{parts[2]}"
    with _connect(parts[1].strip("[]"), int(parts[2] or 80), f"http://{host}") as connection:

        def ask(name: str, given: Mapping[str, Any]) -> HookAnswer:
            try:
                connection.sendall(_build_request(host, parts[3] or "/", key, name, given))
                heard = _read_response(connection)
            except OSError as error:
                raise InvalidInput(
                    f"the server at http://{host} broke off: {describe_os_error(error)}; try again"
                ) from error
            return _parse_response(heard, address)

        yield ask


def describe_os_error(error: OSError) -> str:
    """What the system says of a failure, and about which file."""
    said = error.strerror or type(error).__name__
    return said if error.filename is None else f"{said}: {show(error.filename)}"


def _read_key(file: str) -> str:
    """The key in a file; nothing of what is in it is told if it is none."""
    try:
        with open(os.path.expanduser(file), encoding="ascii") as opened:  # noqa: PTH111, PTH123  # pathlib takes longer to load than all of this
            key = opened.read().strip()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the key file {show(file)} cannot be read: {type(error).__name__}") from None
    if not key or not key.isprintable() or " " in key:
        raise InvalidInput(f"the key file {show(file)} has no key, or more than that")
    return key


def _connect(host: str, port: int, address: str) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=SERVER_TIMEOUT_SECONDS)
    except ConnectionRefusedError:
        raise InvalidInput(f"no server at {address}; start it with `recollect serve`") from None
    except (OSError, UnicodeError) as error:
        why = describe_os_error(error) if isinstance(error, OSError) else "that is no name"
        raise InvalidInput(f"the server at {address} cannot be reached ({why}); see what --server says") from error


def _build_request(host: str, path: str, key: str | None, name: str, given: Mapping[str, Any]) -> bytes:
    """A request that is answered in one piece, and after which the connection ends."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": name, "arguments": dict(given), "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    head = [
        f"POST {path} HTTP/1.0",
        f"Host: {host}",
        "Accept: application/json",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"MCP-Protocol-Version: {MCP_REVISION}",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {name}",
        *([] if key is None else [f"Authorization: Bearer {key}"]),
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def _read_response(connection: socket.socket) -> bytes:
    """All that is answered: as much as it says that it is, or else all until the connection ends."""
    heard = bytearray()
    while part := connection.recv(65_536):
        heard += part
        if len(heard) > MAX_ANSWER_BYTES:
            raise InvalidInput(f"the server answers with more than {MAX_ANSWER_BYTES} bytes; --tokens asks for less")
        head, blank, body = heard.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*(?:\r\n|$)", head)
        if blank and length is not None and len(body) >= int(length[1]):
            break
    return bytes(heard)


def _parse_response(heard: bytes, address: str) -> HookAnswer:
    """What an answer has: the text of its memories, if it has any."""
    try:
        told = json.loads(heard.partition(b"\r\n\r\n")[2])
    except (ValueError, RecursionError):
        told = None
    match told:
        case {"error": {"message": str() as problem}}:
            unlocked = "; --key-file names the file with a key" if re.match(rb"HTTP/1.\d 401 ", heard) else ""
            raise InvalidInput(f"the server says: {problem}{unlocked}")
        case {"result": {"isError": True, "structuredContent": {"message": str() as problem}}}:
            raise InvalidInput(f"the server says: {problem}")
        case {"result": {"structuredContent": {"packed": [], "text": str()} as answer}}:
            return HookAnswer("", is_empty=answer.get("left_out") == {})
        case {"result": {"structuredContent": {"packed": list(), "text": str() as text}, **around}}:
            return HookAnswer(text, _parse_rating_hint(around.get("content")))
        case _:
            raise InvalidInput(
                f"what answers at {address} is no memory that speaks MCP; the address of one ends in /mcp"
            )


def _parse_rating_hint(content: Any) -> str:
    """How a server says that the context is rated, which it does if whoever asks may; nothing else that it says."""
    match content:
        case [_, {"text": str() as line}] if re.fullmatch(rf"{re.escape(FEEDBACK_PREFIX)}[\w-]{{1,64}}", line):
            return line
        case _:
            return ""

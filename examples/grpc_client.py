"""A client over gRPC: all that it knows of the memory of an agent, it knows through the generated stubs.

Run from the root of a clone, with `source .venv/bin/activate`: `python examples/grpc_client.py 127.0.0.1:8766` asks a
server that runs, with a key in the variable RECOLLECT_KEY that may read, write and admin in acme/ana, or with the token
of its owner there. Without an address it starts a server of its own, with a store that is gone afterwards.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import grpc
from google.protobuf.struct_pb2 import Value

from recollect.grpc.v1 import recollect_pb2 as messages
from recollect.grpc.v1.recollect_pb2_grpc import RecollectStub

ANA = "acme/ana"


def tell(memory: RecollectStub, key: str) -> None:
    """Remember, recall, ask why, say what helped, and learn from a task."""
    shown = ("authorization", f"Bearer {key}")
    sent = {"metadata": (shown,), "timeout": 10.0}

    said = messages.RememberRequest(scope=ANA, text="Ana prefers window seats", kind="preference", importance=0.7)
    retry = {"metadata": (shown, ("idempotency-key", uuid4().hex)), "timeout": 10.0}
    receipt = memory.Remember(said, **retry)
    assert memory.Remember(said, **retry).id == receipt.id  # sent again, and done once
    print(f"{receipt.verdict}: {receipt.memory.text}")

    context = memory.Recall(messages.RecallRequest(scope=ANA, query="which seat should I book?", tokens=800), **sent)
    print(f"recalled {len(context.packed)} of {context.proof.eligible} in {context.tokens} tokens:")
    for found in context.packed:
        print(f"  {found.text}, for {', '.join(part.signal for part in found.parts if part.points)}")

    asked = messages.WhyRequest(scope=ANA, id=receipt.id, query="which seat should I book?")
    print(f"why: {memory.Why(asked, **sent).fate['step']}")
    noted = memory.Feedback(messages.FeedbackRequest(scope=ANA, context_id=context.id, helped=[receipt.id]), **sent)
    print(f"helped: {len(noted.helped)}")

    task = "Book a flight to Lisbon"
    episode = memory.StartEpisode(messages.StartEpisodeRequest(scope=ANA, task=task, plan=["search", "book"]), **sent)
    action = messages.RecordActionRequest(
        scope=ANA, id=episode.id, type="search", input=Value(string_value="LIS"), context=context.id
    )
    memory.RecordAction(action, **sent)
    outcome = messages.CompleteEpisodeRequest(
        scope=ANA, id=episode.id, outcome=0.9, lessons=["Ask for the seat before paying"]
    )
    print(f"taught: {', '.join(memory.CompleteEpisode(outcome, **sent).outcome.lessons)}")
    similar = memory.GetSimilarEpisodes(messages.GetSimilarEpisodesRequest(scope=ANA, task=task), **sent)
    print(f"like it: {', '.join(one.task for one in similar.episodes)}")
    plan = memory.PruneVectorIndex(messages.PruneVectorIndexRequest(scope=ANA), **sent)
    print(f"vectors only looked at: {plan.dry_run}")

    try:
        memory.Remember(messages.RememberRequest(scope=ANA, text="tea", kind="preferense"), **sent)
    except grpc.RpcError as error:
        problem = messages.Problem.FromString(dict(error.trailing_metadata())["recollect-problem-bin"])
        print(f"{error.code().name}: {problem.message}")


def ask(address: str, key: str) -> None:
    """Tell the story to the server at an address."""
    with grpc.insecure_channel(address) as channel:
        tell(RecollectStub(channel), key)


@contextmanager
def a_server() -> Iterator[tuple[str, str]]:
    """The address and the token of a server that ends with the block, and leaves nothing behind."""
    with TemporaryDirectory() as folder:
        token, keys = Path(folder, "token"), Path(folder, "keys.json")
        own = {"RECOLLECT_SERVER_TOKEN_FILE": str(token), "RECOLLECT_SERVER_KEYS": str(keys)}
        serve = [sys.executable, "-m", "recollect", "--db", ":memory:", "serve", "--port", "0", "--grpc-port", "0"]
        with subprocess.Popen(  # noqa: S603  # our own command
            serve, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as server:
            try:
                told = (line.removeprefix("gRPC at ") for line in server.stdout or () if line.startswith("gRPC at "))
                address = next(told, None) or sys.exit("it did not start; `recollect --db :memory: serve` says why")
                yield address.strip(), token.read_text(encoding="utf-8").strip()
            finally:
                server.terminate()


def main(arguments: list[str]) -> None:
    """Ask the server that is named, or one of our own."""
    match arguments:
        case [address]:
            ask(address, os.environ.get("RECOLLECT_KEY") or sys.exit("put a key into the variable RECOLLECT_KEY"))
        case []:
            with a_server() as (address, token):
                ask(address, token)
        case _:
            sys.exit("say an address, as 127.0.0.1:8766, or nothing")


if __name__ == "__main__":
    main(sys.argv[1:])

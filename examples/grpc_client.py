"""A client over gRPC: all that it knows of the memory of an agent, it knows through the generated stubs.

It serves itself, on a port of this machine and with a store that is gone afterwards. Run from the root of a clone, with
`source .venv/bin/activate`: `python examples/grpc_client.py`.
"""

import secrets
from functools import partial

import grpc
from google.protobuf.struct_pb2 import Value

import recollect
from recollect.grpc.server import start
from recollect.grpc.v1 import recollect_pb2 as messages
from recollect.grpc.v1.recollect_pb2_grpc import RecollectStub
from recollect.service.front import Front
from recollect.service.gate import Gate
from recollect.service.keys import with_token
from recollect.service.service import Service

ANA = "acme/ana"


def tell(memory: RecollectStub, key: str) -> None:
    """Remember, recall, ask why, say what helped, and learn from a task."""
    shown = ("authorization", f"Bearer {key}")
    sent = {"metadata": (shown,), "timeout": 10.0}

    said = messages.RememberRequest(scope=ANA, text="Ana prefers window seats", kind="preference", importance=0.7)
    retry = {"metadata": (shown, ("idempotency-key", "seat-1")), "timeout": 10.0}
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


def main() -> None:
    """Serve, ask, and stop."""
    key = secrets.token_urlsafe(32)
    with recollect.open(":memory:") as engine:
        front = Front(Service(engine), partial(with_token, key), Gate(frozenset({"127.0.0.1"})))
        running = start(front, "127.0.0.1:0")
        with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            tell(RecollectStub(channel), key)
        running.stop(grace=5.0)
        front.close()


if __name__ == "__main__":
    main()

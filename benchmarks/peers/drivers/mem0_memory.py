"""mem0 without a model that extracts: texts are kept as they are, in Qdrant's local mode, on disk."""

import os
from collections.abc import Sequence
from pathlib import Path

os.environ["MEM0_TELEMETRY"] = "False"  # read when mem0 is imported
os.environ["MEM0_DIR"] = os.environ.get("PEERS_SCRATCH", ".")  # it makes a folder in the user's home otherwise

from mem0 import Memory  # type: ignore[import-not-found]

from peers.driving import Vectors, drive
from peers.material import Asked, Material, Said


class Looked:
    """mem0's embedding model, replaced: the vectors of the material."""

    def __init__(self, given: Material) -> None:
        self._vectors = Vectors(given)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        found: list[float] = self._vectors(text).tolist()
        return found

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Mem0:
    """mem0's Memory; a scope is its user."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        dimensions = len(given.questions[0].vector)
        no_key = {"provider": "openai", "config": {"api_key": "none"}}
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": dimensions}
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": no_key,
                "llm": no_key,
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._memory.embedding_model = Looked(given)

    def add(self, memories: Sequence[Said]) -> None:
        for one in memories:  # its own way to add several embeds and stores each by itself too
            details = {"key": one.id, "at": one.at.timestamp(), **one.details}
            self._memory.add(one.text, user_id=one.scope, metadata=details, infer=False)

    def search(self, question: Asked, limit: int) -> list[str]:
        filters: dict[str, object] = {"user_id": question.scope}
        if question.at is not None:
            filters["at"] = {"lte": question.at.timestamp()}
        found = self._memory.search(question.text, filters=filters, top_k=limit)
        return [one["metadata"]["key"] for one in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()


if __name__ == "__main__":
    drive(Mem0)

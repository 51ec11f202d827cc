"""Chroma: a collection a scope, on disk, with the vectors it is given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]

from peers.driving import drive
from peers.material import Asked, Material, Said


class Collections:
    """A persistent client with a collection for each scope."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._collections: dict[str, Any] = {}

    def add(self, memories: Sequence[Said]) -> None:
        for scope in {one.scope for one in memories}:
            ours = [one for one in memories if one.scope == scope]
            self._collection(scope).add(
                ids=[one.id for one in ours],
                embeddings=[one.vector for one in ours],
                documents=[one.text for one in ours],
                metadatas=[{"at": one.at.timestamp(), **one.details} for one in ours],
            )

    def search(self, question: Asked, limit: int) -> list[str]:
        where = None if question.at is None else {"at": {"$lte": question.at.timestamp()}}
        collection = self._collection(question.scope)
        found = collection.query(query_embeddings=[question.vector], n_results=limit, where=where)
        return list(found["ids"][0])

    def close(self) -> None:
        self._collections.clear()

    def _collection(self, scope: str) -> Any:
        if scope not in self._collections:
            self._collections[scope] = self._client.create_collection(
                scope.replace("/", "."), configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        return self._collections[scope]


if __name__ == "__main__":
    drive(Collections)

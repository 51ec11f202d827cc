"""LangGraph's stores: the one in memory, and the one in a SQLite file with sqlite-vec."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from langgraph.store.base import IndexConfig, PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]

from peers.driving import Vectors, drive
from peers.material import Asked, Material, Said


class Store:
    """A store of LangGraph's; a scope is a namespace."""

    apart = False

    def __init__(self, folder: Path, given: Material, variant: str) -> None:
        vectors = Vectors(given)

        def embed(texts: Sequence[str]) -> list[list[float]]:
            found: list[list[float]] = vectors.rows([plain(text) for text in texts]).tolist()
            return found

        index: IndexConfig = {"dims": len(given.questions[0].vector), "embed": embed, "fields": ["text"]}
        self._open = ExitStack()
        if variant == "sqlite":
            made = SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
            self._store: Any = self._open.enter_context(made)
            self._store.setup()
        else:
            self._store = InMemoryStore(index=index)

    def add(self, memories: Sequence[Said]) -> None:
        self._store.batch(
            [
                PutOp(tuple(one.scope.split("/")), one.id, {"text": one.text, "at": one.at.timestamp(), **one.details})
                for one in memories
            ]
        )

    def search(self, question: Asked, limit: int) -> list[str]:
        only = None if question.at is None else {"at": {"$lte": question.at.timestamp()}}
        scope = tuple(question.scope.split("/"))
        return [one.key for one in self._store.search(scope, query=question.text, filter=only, limit=limit)]

    def close(self) -> None:
        self._open.close()


def plain(text: str) -> str:
    """The text of a memory; the store in a file embeds the whole value, whatever field it is told to embed."""
    return str(json.loads(text)["text"]) if text.startswith('{"') else text


if __name__ == "__main__":
    drive(Store)

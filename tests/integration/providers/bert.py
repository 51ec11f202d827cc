"""all-MiniLM-L6-v2 in plain NumPy and full precision, one text at a time: slow, and short enough to be believed."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.providers.base import read_tensors
from recollect.providers.embedder_assets import MINILM_WEIGHTS_FILE

Array = NDArray[Any]

erf = np.vectorize(math.erf)


class Bert:
    """The published weights, in the published order."""

    def __init__(self) -> None:
        self.weights = read_tensors(MINILM_WEIGHTS_FILE.read())

    def __call__(self, ids: list[int]) -> Array:
        """The direction of a text, given its tokens."""
        embeddings = [
            self.weights["embeddings.word_embeddings.weight"][ids],
            self.weights["embeddings.position_embeddings.weight"][: len(ids)],
            self.weights["embeddings.token_type_embeddings.weight"][[0] * len(ids)],
        ]
        state = self.norm("embeddings.LayerNorm", np.add.reduce(embeddings))
        for layer in range(6):
            name = f"encoder.layer.{layer}"
            seen = self.dense(f"{name}.attention.output.dense", self.attention(f"{name}.attention.self", state))
            state = self.norm(f"{name}.attention.output.LayerNorm", state + seen)
            thought = self.dense(f"{name}.intermediate.dense", state)
            thought = thought * (1 + erf(thought / math.sqrt(2))) / 2
            state = self.norm(f"{name}.output.LayerNorm", state + self.dense(f"{name}.output.dense", thought))
        mean = state.mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean))

    def attention(self, name: str, state: Array) -> Array:
        query, key, value = (
            self.dense(f"{name}.{part}", state).reshape(len(state), 12, 32).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(32))
        taken = scores / scores.sum(axis=2, keepdims=True) @ value
        return np.asarray(taken.swapaxes(0, 1).reshape(len(state), 384))

    def dense(self, name: str, state: Array) -> Array:
        return np.asarray(state @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"])

    def norm(self, name: str, state: Array) -> Array:
        centred = state - state.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"])

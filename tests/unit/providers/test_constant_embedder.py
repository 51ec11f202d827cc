"""An embedder that always gives the direction it was made with."""

import numpy as np

from recollect.providers.base import ConstantEmbedder
from recollect.retrieval.vectors import normalize_vector


def test_every_text_gets_the_same_direction() -> None:
    embedder = ConstantEmbedder("some-model", normalize_vector([3.0, 4.0]))
    assert (embedder.name, embedder.dimensions) == ("some-model", 2)
    assert embedder.embed(["a", "b"], "query").tolist() == [normalize_vector([3.0, 4.0]).tolist()] * 2
    assert embedder.embed([], "memory").shape == (0, 2)
    assert embedder.embed(["a"], "memory").dtype == np.float32

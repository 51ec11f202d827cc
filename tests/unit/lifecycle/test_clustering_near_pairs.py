"""Which directions are near each other: to the last bit where all are compared, and nearly all of them beyond."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.lifecycle import clustering
from recollect.lifecycle.clustering import find_near_pairs
from recollect.retrieval.vectors import cosines, normalize_vectors


def clustered(count: int, *, dimensions: int = 32, seed: int = 1) -> NDArray[np.float32]:
    """Directions of which every ten are near each other."""
    dice = np.random.default_rng(seed)
    centres = dice.standard_normal((count // 10 + 1, dimensions))
    return normalize_vectors(np.repeat(centres, 10, axis=0)[:count] + 0.35 * dice.standard_normal((count, dimensions)))


def plainly(vectors: NDArray[np.float32], threshold: float) -> set[tuple[int, int]]:
    return {
        (one, other)
        for one in range(len(vectors))
        for other in range(one + 1, len(vectors))
        if cosines(vectors[one][None, :], vectors[other])[0] >= threshold
    }


def pairs(found: clustering.NearPairs) -> set[tuple[int, int]]:
    return set(zip(found.first.tolist(), found.second.tolist(), strict=True))


@given(st.integers(0, 40), st.sampled_from([0.5, 0.8, 0.95]), st.integers(0, 9))
def test_where_all_are_compared_it_is_just_those_that_are_near_enough(count: int, threshold: float, seed: int) -> None:
    vectors = clustered(count, dimensions=8, seed=seed)
    found = find_near_pairs(vectors, threshold)
    assert pairs(found) == plainly(vectors, threshold)
    assert (found.exact, found.compared) == (True, count * (count - 1) // 2)


def test_what_is_exactly_as_near_as_asked_is_near_and_what_has_no_direction_is_near_nothing() -> None:
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [np.nan, np.nan], [1.0, 0.0]], dtype=np.float32)
    exactly = float(cosines(vectors[:1], vectors[1])[0])
    assert pairs(find_near_pairs(vectors, exactly)) == {(0, 1), (0, 3), (1, 3)}
    assert pairs(find_near_pairs(vectors, np.nextafter(exactly, 1.0))) == {(0, 3)}


def test_beyond_that_far_fewer_pairs_are_compared_and_nearly_all_that_are_near_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = clustered(4_000)
    whole = find_near_pairs(vectors, 0.8)
    monkeypatch.setattr(clustering, "MAX_EXACT_VECTORS", 100)
    found = find_near_pairs(vectors, 0.8)
    assert not found.exact
    assert found.compared < whole.compared / 3
    assert pairs(found) <= pairs(whole)
    assert len(pairs(found)) > 0.95 * len(pairs(whole))


def test_a_crowd_of_the_same_stays_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "MAX_EXACT_VECTORS", 100)
    monkeypatch.setattr(clustering, "MAX_CELL_VECTORS", 200)
    found = find_near_pairs(np.tile(normalize_vectors([1.0, 2.0, 3.0]), (3_000, 1)), 0.8)
    assert len(found.first) <= 3_000 * clustering.MAX_NEAR_VECTORS * clustering.CELLS_PER_VECTOR
    assert set(found.similarities.tolist()) <= {1.0, float(found.similarities[0])}


def test_those_near_a_row_come_nearest_first_and_only_those_that_are_asked_for() -> None:
    vectors = normalize_vectors([[1.0, 0.0], [1.0, 0.5], [1.0, 0.1], [0.0, 1.0], [1.0, 0.1]])
    found = find_near_pairs(vectors, 0.8)
    assert found.neighbors_among(np.arange(5)) == [[2, 4, 1], [2, 4, 0], [4, 0, 1], [], [2, 0, 1]]
    assert found.neighbors_among(np.array([0, 1, 4])) == [[2, 1], [2, 0], [0, 1]]

"""Which directions lie together: by the mean of all pairs, so that no chain makes one of what is far apart."""

from itertools import combinations
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.tables import table

from recollect.lifecycle import clustering
from recollect.lifecycle.clustering import MEAN_SHARE, find_clusters, find_near_pairs
from recollect.retrieval.vectors import normalize_vectors


def strewn(count: int, seed: int) -> NDArray[np.float32]:
    """Directions around a few centres, some of them far out."""
    dice = np.random.default_rng(seed)
    centres = dice.standard_normal((4, 8))
    return normalize_vectors(
        centres[dice.integers(0, 4, count)] + dice.choice([0.2, 0.6], (count, 1)) * dice.random((count, 8))
    )


def found(vectors: NDArray[np.float32], threshold: float = 0.9, least: int = 3) -> list[list[int]]:
    near = find_near_pairs(vectors, threshold).neighbors_among(np.arange(len(vectors)))
    return find_clusters(vectors, near, threshold=threshold, least=least)


def plainly(vectors: NDArray[np.float32], threshold: float, least: int) -> list[list[int]]:
    """The same, with every mean taken anew after every step."""
    matrix = vectors.astype(np.float64)
    near = (matrix @ matrix.T) >= threshold
    groups = [[row] for row in range(len(vectors))]

    def mean(one: list[int], other: list[int]) -> float:
        return float((matrix[one].sum(axis=0) @ matrix[other].sum(axis=0)) / (len(one) * len(other)))

    while True:
        linked = [(a, b) for a, b in combinations(groups, 2) if near[np.ix_(a, b)].any()]
        best = max(linked, key=lambda pair: mean(*pair), default=None)
        if best is None or mean(*best) < MEAN_SHARE * threshold:
            return sorted(sorted(one) for one in groups if len(one) >= least)
        groups = [one for one in groups if one not in best] + [sorted(best[0] + best[1])]


@given(st.integers(0, 16), st.integers(0, 500), st.sampled_from([0.8, 0.9, 0.97]))
def test_it_is_what_joining_the_nearest_again_and_again_comes_to(count: int, seed: int, threshold: float) -> None:
    vectors = strewn(count, seed)
    assert found(vectors, threshold) == plainly(vectors, threshold, 3)


@given(st.integers(0, 60), st.integers(0, 500), st.randoms(use_true_random=False))
def test_in_whatever_order_they_come_the_same_lie_together(count: int, seed: int, dice: Random) -> None:
    vectors = strewn(count, seed)
    order = list(range(count))
    dice.shuffle(order)
    again = [sorted(order[row] for row in group) for group in found(vectors[order])]
    assert sorted(again) == found(vectors)


@given(st.integers(0, 60), st.integers(0, 500), st.integers(2, 5))
def test_nobody_is_in_two_and_none_is_too_small(count: int, seed: int, least: int) -> None:
    groups = found(strewn(count, seed), least=least)
    rows = [row for group in groups for row in group]
    assert len(rows) == len(set(rows))
    assert all(len(group) >= least for group in groups)
    assert groups == sorted(groups)


def test_a_chain_whose_ends_have_nothing_in_common_falls_apart() -> None:
    turns = np.arange(0.0, 180.0, 15.0) * np.pi / 180.0
    chain = normalize_vectors(np.stack([np.cos(turns), np.sin(turns)], axis=1))
    groups = found(chain, threshold=0.95)
    assert len(groups) > 1
    for group in groups:
        assert float(chain[group[0]] @ chain[group[-1]]) > 0.4


def test_many_that_are_the_same_are_one_however_many_each_is_linked_with() -> None:
    same = np.repeat(normalize_vectors(np.array([[1.0, 0.0], [0.0, 1.0]])), 5 * clustering.MAX_LINKS, axis=0)
    assert [len(group) for group in found(same)] == [5 * clustering.MAX_LINKS] * 2


@table("count", [0, 1, 2])
def test_of_none_or_too_few_there_is_no_cluster(count: int) -> None:
    assert found(normalize_vectors(np.ones((count, 4))) if count else np.empty((0, 4), dtype=np.float32)) == []

"""Weights in eight bits stay within half a step of what they were."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from recollect.providers.minilm_graph import MAX_STEP, Array, quantize

NUMBERS = st.floats(-1e6, 1e6, width=32).filter(lambda number: number == 0 or abs(number) > 1e-6)
ROWS = arrays(np.float32, st.tuples(st.integers(1, 3), st.just(8)), elements=NUMBERS)


@given(ROWS)
def test_no_weight_moves_by_more_than_half_a_step_of_its_block(rows: Array) -> None:
    steps, scales = quantize(rows, 4)
    assert steps.dtype == np.int8
    assert scales.dtype == np.float32
    assert steps.shape == (len(rows), 2, 4)
    assert scales.shape == (len(rows), 2)
    assert np.abs(steps.astype(int)).max() <= MAX_STEP
    moved = np.abs(steps * scales[:, :, np.newaxis] - rows.reshape(steps.shape))
    assert (moved <= scales[:, :, np.newaxis] * (0.5 + 1e-4)).all()


def test_a_block_of_zeros_stays_zero() -> None:
    steps, scales = quantize(np.zeros((1, 4), dtype=np.float32), 4)
    assert not steps.any()
    assert not scales.any()
